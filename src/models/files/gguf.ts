/**
 * A model in a GGUF file: config.json from the values of its header, tensors under Hugging Face's names. The converter of llama.cpp
 * (convert_hf_to_gguf.py) changes some numbers, which are changed back: rows of q and k of Llamas are paired otherwise, norms that
 * multiply by 1 + w hold 1 + w, and matrices of GPT-2 are transposed.
 */
import type { TypedData } from "../../core/dtype.ts";
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import type { FileTensor, GgufFile, SafetensorsFile } from "../../io/index.ts";
import { quote } from "../../io/refuse.ts";
import type { ChatFormat } from "../chat/format.ts";
import type { ModelConfig } from "../config/types.ts";
import { familyOfConfig } from "../families/index.ts";
import { readConfigFile } from "../families/read-config.ts";
import { ggufTokenizerJson } from "../tokenizer/convert/gguf.ts";
import { convertedTokenizer } from "../tokenizer/file.ts";
import type { Tokenizer } from "../tokenizer/index.ts";
import type { TensorNames } from "../transformer/config.ts";

/** The values of a header, under the names of its architecture. */
class Header {
  readonly file: GgufFile;
  readonly architecture: string;

  constructor(file: GgufFile) {
    this.file = file;
    this.architecture = String(file.values.get("general.architecture"));
  }

  /** A number, or undefined where the header has none. */
  optional(name: string): number | undefined {
    const value = this.file.values.get(`${this.architecture}.${name}`);
    if (value === undefined || typeof value === "number") return value;
    throw new FormatError("gguf", `openGguf: ${this.architecture}.${name} must be a number`, { field: name });
  }

  number(name: string): number {
    const value = this.optional(name);
    if (value !== undefined) return value;
    throw new FormatError("gguf", `openGguf: ${this.architecture}.${name} is missing`, { field: name });
  }

  text(name: string): string | undefined {
    const value = this.file.values.get(`${this.architecture}.${name}`);
    return typeof value === "string" ? value : undefined;
  }

  /** The numbers of a small tensor. */
  async list(name: string): Promise<number[] | undefined> {
    if (!this.file.tensors.has(name)) return undefined;
    const { data } = await this.file.read(name);
    return Array.from(data as Float32Array, Number);
  }

  /** The size of a head. */
  get headSize(): number {
    return (
      this.optional("attention.key_length") ??
      this.number("embedding_length") / this.number("attention.head_count")
    );
  }
}

interface Architecture {
  readonly modelType: string;
  /** Fields of config.json beside the sizes of Llama; or all of them with `plain`. */
  fields(header: Header): Record<string, unknown> | Promise<Record<string, unknown>>;
  readonly plain?: boolean;
  /** Rows of q and k: the pairs of a rotation are adjacent, in place of half a head apart. */
  readonly pairs?: boolean;
}

/** LongRoPE's tables, or Llama 3's, which the converter writes as factors of the angles. */
async function factorsOf(header: Header): Promise<Record<string, unknown>> {
  const scaling = header.text("rope.scaling.type");
  const [plain, short, long] = [
    await header.list("rope_freqs.weight"),
    await header.list("rope_factors_short.weight"),
    await header.list("rope_factors_long.weight"),
  ];
  const original = header.optional("rope.scaling.original_context_length") ?? header.number("context_length");
  if (plain || (short && long))
    return {
      rope_scaling: {
        rope_type: "longrope",
        short_factor: plain ?? short,
        long_factor: plain ?? long,
        original_max_position_embeddings: original,
        attention_factor: header.optional("rope.scaling.attn_factor") ?? 1,
      },
    };
  const factor = header.optional("rope.scaling.factor");
  if (scaling === undefined || scaling === "none" || factor === undefined) return {};
  if (scaling === "linear") return { rope_scaling: { rope_type: "linear", factor } };
  if (scaling === "yarn")
    return { rope_scaling: { rope_type: "yarn", factor, original_max_position_embeddings: original } };
  throw new UnsupportedError(
    "gguf",
    `openGguf: rope.scaling.type is ${quote(scaling)}; heed has linear, yarn and tables of factors`,
    { got: scaling },
  );
}

const gemma = (header: Header) => ({ head_dim: header.headSize, hidden_activation: "gelu_pytorch_tanh" });
/** 1/√d, but for the largest models, whose queries are scaled by the width of all heads. */
const queryScale = (header: Header, largest: number) => ({
  query_pre_attn_scalar:
    header.number("block_count") === largest
      ? header.number("embedding_length") / header.number("attention.head_count")
      : header.headSize,
});

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  llama: {
    modelType: "llama",
    pairs: true,
    fields: async (header) => ({
      head_dim: header.optional("rope.dimension_count") ?? header.headSize,
      ...(await factorsOf(header)),
    }),
  },
  qwen2: { modelType: "qwen2", fields: factorsOf },
  qwen3: {
    modelType: "qwen3",
    fields: async (header) => ({ head_dim: header.headSize, ...(await factorsOf(header)) }),
  },
  gemma: { modelType: "gemma", fields: gemma },
  gemma2: {
    modelType: "gemma2",
    fields: (header) => ({
      ...gemma(header),
      ...queryScale(header, 46),
      attn_logit_softcapping: header.optional("attn_logit_softcapping") ?? 50,
      final_logit_softcapping: header.optional("final_logit_softcapping") ?? 30,
      sliding_window: header.optional("attention.sliding_window") ?? 4096,
    }),
  },
  gemma3: {
    modelType: "gemma3_text",
    fields: async (header) => {
      const layers = header.number("block_count");
      // One full layer in a period, or a flag for each layer.
      const pattern = header.file.values.get("gemma3.attention.sliding_window_pattern") ?? 6;
      const slides = (n: number) =>
        Array.isArray(pattern) ? pattern[n] !== false : (n + 1) % Number(pattern) !== 0;
      return {
        ...gemma(header),
        ...queryScale(header, 62),
        ...(await factorsOf(header)),
        sliding_window: header.number("attention.sliding_window"),
        rope_local_base_freq: header.optional("rope.freq_base_swa") ?? 10_000,
        layer_types: Array.from({ length: layers }, (_, n) =>
          slides(n) ? "sliding_attention" : "full_attention",
        ),
      };
    },
  },
  phi3: {
    modelType: "phi3",
    fields: async (header) => ({
      partial_rotary_factor: (header.optional("rope.dimension_count") ?? header.headSize) / header.headSize,
      sliding_window: header.optional("attention.sliding_window") || null,
      original_max_position_embeddings:
        header.optional("rope.scaling.original_context_length") ?? header.number("context_length"),
      ...(await factorsOf(header)),
    }),
  },
  gpt2: {
    modelType: "gpt2",
    plain: true,
    fields: (header) => ({
      n_positions: header.number("context_length"),
      n_embd: header.number("embedding_length"),
      n_layer: header.number("block_count"),
      n_head: header.number("attention.head_count"),
      n_inner: header.number("feed_forward_length"),
      layer_norm_epsilon: header.number("attention.layer_norm_epsilon"),
    }),
  },
  bert: {
    modelType: "bert",
    plain: true,
    fields: (header) => ({
      hidden_size: header.number("embedding_length"),
      num_hidden_layers: header.number("block_count"),
      num_attention_heads: header.number("attention.head_count"),
      intermediate_size: header.number("feed_forward_length"),
      max_position_embeddings: header.number("context_length"),
      layer_norm_eps: header.number("attention.layer_norm_epsilon"),
      type_vocab_size: header.file.tensors.get("token_types.weight")?.shape[0],
    }),
  },
};

/** Names of a GGUF file by their role; those of a layer follow `blk.N.`. */
const ROLES: readonly (readonly [string, keyof TensorNames])[] = [
  ["token_embd", "embedding"], ["position_embd", "positions"], ["token_types", "types"], ["token_embd_norm", "embeddingNorm"],
  ["output_norm", "finalNorm"], ["output", "head"],
  ["attn_norm", "attentionNorm"], ["attn_q", "query"], ["attn_k", "key"], ["attn_v", "value"], ["attn_qkv", "qkv"],
  ["attn_q_norm", "queryNorm"], ["attn_k_norm", "keyNorm"], ["attn_output", "output"],
  ["post_attention_norm", "attentionOutputNorm"], ["attn_output_norm", "attentionSumNorm"],
  ["ffn_norm", "feedForwardNorm"], ["ffn_gate", "gate"], ["ffn_up", "up"], ["ffn_up", "gateUp"], ["ffn_down", "down"],
  ["post_ffw_norm", "feedForwardOutputNorm"], ["layer_output_norm", "feedForwardSumNorm"],
]; // biome-ignore format: a table
/** Tensors that are read into the config. */
const TABLES = /^rope_(?:freqs|factors_short|factors_long)\.weight$/;

/** A GGUF file as a model's parts. */
export interface GgufModel {
  readonly config: ModelConfig;
  readonly file: SafetensorsFile;
  readonly tokenizer: Tokenizer;
  readonly chat?: ChatFormat;
}

/** Reads a GGUF file as a model. Throws an UnsupportedError for an architecture that heed does not read from such files. */
export async function ggufModel(file: GgufFile, tokenizer?: Tokenizer): Promise<GgufModel> {
  const header = new Header(file);
  const entry = Object.hasOwn(ARCHITECTURES, header.architecture)
    ? ARCHITECTURES[header.architecture]
    : undefined;
  if (entry === undefined)
    throw new UnsupportedError(
      "gguf-architecture",
      `openGguf: the architecture is ${quote(header.architecture)}; heed reads ${Object.keys(ARCHITECTURES).join(", ")} from GGUF files, and more from model.safetensors`,
      { got: header.architecture },
    );
  const { config } = readConfigFile(new TextEncoder().encode(JSON.stringify(await configOf(header, entry))));
  const { names, ...recipe } = familyOfConfig(config).recipe(config.config);
  const template = file.values.get("tokenizer.chat_template");
  const change = {
    pairs: entry.pairs === true,
    offset: recipe.norm.weight === "offset",
    transposed: recipe.transposed === true,
  };
  return {
    config,
    file: renamed(file, names, recipe, change),
    ...(typeof template === "string" && { chat: { template, tokens: tokenTexts(file) } }),
    tokenizer: tokenizer ?? convertedTokenizer("openGguf", ggufTokenizerJson(file.values)),
  };
}

async function configOf(header: Header, { modelType, fields, plain }: Architecture): Promise<object> {
  const { file } = header;
  const vocab_size = file.tensors.get("token_embd.weight")?.shape[0];
  if (vocab_size === undefined)
    throw new FormatError("gguf", "openGguf: there is no tensor token_embd.weight", {
      tensor: "token_embd.weight",
    });
  const id = (name: string) => file.values.get(`tokenizer.ggml.${name}_token_id`) ?? null;
  const sizes = plain
    ? {}
    : {
        hidden_size: header.number("embedding_length"),
        intermediate_size: header.number("feed_forward_length"),
        num_hidden_layers: header.number("block_count"),
        num_attention_heads: header.number("attention.head_count"),
        num_key_value_heads:
          header.optional("attention.head_count_kv") ?? header.number("attention.head_count"),
        max_position_embeddings: header.number("context_length"),
        rms_norm_eps: header.number("attention.layer_norm_rms_epsilon"),
        rope_theta: header.optional("rope.freq_base") ?? 10_000,
        attention_bias: file.tensors.has("blk.0.attn_q.bias"),
      };
  return {
    model_type: modelType,
    vocab_size,
    ...sizes,
    tie_word_embeddings: !file.tensors.has("output.weight"),
    ...(modelType !== "bert" && { bos_token_id: id("bos"), eos_token_id: id("eos") }),
    ...(await fields(header)),
  };
}

interface Change {
  readonly pairs: boolean;
  readonly offset: boolean;
  readonly transposed: boolean;
}

/** The file with the names of the family, and with the numbers that its computation expects. */
function renamed(
  file: GgufFile,
  names: TensorNames,
  sizes: { readonly num_attention_heads: number; readonly num_key_value_heads: number },
  { pairs, offset, transposed }: Change,
): SafetensorsFile {
  const nameOf = (stored: string): string | undefined => {
    const [, layer, role, part] = /^(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)$/.exec(stored) ?? [];
    const target = ROLES.filter(([name]) => name === role)
      .map(([, key]) => names[key])
      .find((name) => name !== undefined);
    if (target === undefined) return undefined;
    return `${layer === undefined ? "" : names.layer.replace("*", layer)}${target}.${part}`;
  };
  const source = new Map<string, string>();
  const tensors = new Map<
    string,
    SafetensorsFile["tensors"] extends ReadonlyMap<string, infer T> ? T : never
  >();
  for (const [stored, info] of file.tensors) {
    if (TABLES.test(stored)) continue;
    // A name without a role stays, so that the error about the weights lists it.
    const name = nameOf(stored) ?? stored;
    const isMatrix = transposed && info.shape.length === 2 && stored.startsWith("blk.");
    source.set(name, stored);
    tensors.set(name, isMatrix ? { ...info, shape: [...info.shape].reverse() } : info);
  }
  let last: { readonly name: string; readonly matrix: Tensor } | undefined;
  return {
    metadata: file.metadata,
    tensors,
    close: file.close,
    async read(name, options) {
      const stored = source.get(name) ?? name;
      const [rows] = file.tensors.get(stored)?.shape ?? [];
      const isMatrix =
        transposed && file.tensors.get(stored)?.shape.length === 2 && stored.startsWith("blk.");
      if (isMatrix) {
        // Slices of a matrix follow one another: its transpose is kept until the next one.
        if (last?.name !== stored) {
          const { data, shape, dtype } = await file.read(stored);
          const plain = new Tensor(data as TypedData, shape, dtype as never);
          last = { name: stored, matrix: plain.transpose().contiguous() };
        }
        const { data, shape, dtype } = last.matrix;
        const [from, to] = options?.rows ?? [0, shape[0]];
        const numbers = (data as Float32Array).subarray(from * shape[1], to * shape[1]);
        return new Tensor(numbers as TypedData, [to - from, shape[1]], dtype) as FileTensor;
      }
      const heads = /^blk\.\d+\.attn_q\./.test(stored)
        ? sizes.num_attention_heads
        : sizes.num_key_value_heads;
      if (pairs && /^blk\.\d+\.attn_[qk]\.(?:weight|bias)$/.test(stored) && rows % heads === 0)
        return halves(file, stored, rows / heads, options?.rows ?? [0, rows]);
      const tensor = await file.read(stored, options);
      if (!(offset && /norm\.weight$/.test(stored))) return tensor;
      const weights = Float32Array.from(tensor.data as Float32Array, (w) => w - 1);
      return new Tensor(weights, tensor.shape, "float32") as FileTensor;
    },
  };
}

/** Rows [from, to) of a projection, whose heads of d rows have rows i and i + d/2 where the file has 2i and 2i + 1. */
async function halves(
  file: GgufFile,
  name: string,
  d: number,
  [from, to]: readonly [number, number],
): Promise<FileTensor> {
  const [first, end] = [Math.floor(from / d) * d, Math.ceil(to / d) * d];
  const { data, shape, dtype } = await file.read(name, { rows: [first, end] });
  const width = shape.slice(1).reduce((n, x) => n * x, 1);
  const numbers = data as TypedData;
  const out = numbers.slice(0, (to - from) * width) as TypedData;
  for (let row = from; row < to; row++) {
    const [head, i] = [Math.floor(row / d) * d - first, row % d];
    const stored = head + (i < d / 2 ? 2 * i : 2 * (i - d / 2) + 1);
    out.set(numbers.subarray(stored * width, (stored + 1) * width) as never, (row - from) * width);
  }
  return new Tensor(out, [to - from, ...shape.slice(1)], dtype as never) as FileTensor;
}

/** Texts of the special tokens that a template names. */
function tokenTexts({ values }: GgufFile): Record<string, string> {
  const list = values.get("tokenizer.ggml.tokens");
  const texts: Record<string, string> = {};
  for (const name of ["bos", "eos", "unknown", "padding"]) {
    const id = values.get(`tokenizer.ggml.${name}_token_id`);
    const text = Array.isArray(list) && typeof id === "number" ? list[id] : undefined;
    if (typeof text === "string")
      texts[`${name.replace("unknown", "unk").replace("padding", "pad")}_token`] = text;
  }
  return texts;
}

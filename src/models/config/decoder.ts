/**
 * `config.json` of decoders of the Llama kind, as one recipe: each family's fields, in the spellings of transformers 4 and 5,
 * become the same record, with one entry a layer for what layers may differ in (window, rotary positions).
 */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import { quote } from "../../io/refuse.ts";
import type { AngleScaling, RotaryConfig } from "../families/angles.ts";
import { activationNamed } from "./activation.ts";
import type { Fields, Rule } from "./fields.ts";

/** The properties in which layers may differ. */
export interface DecoderLayer {
  /** Keys a query sees, its own included; undefined: all up to itself. */
  readonly window?: number;
  /** Rotary positions; undefined: none. */
  readonly rotary?: RotaryConfig;
}

/** The recipe of a decoder of the Llama kind. */
export interface DecoderConfig {
  /** `llama`, `mistral`, `qwen2`, `qwen3`, `smollm3`, `gemma2`, `gemma3_text`, `phi3`. */
  readonly model_type: string;
  readonly vocab_size: number;
  /** C: width of the residual stream. */
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_attention_heads: number;
  /** Divides num_attention_heads. */
  readonly num_key_value_heads: number;
  /** d; need not be hidden_size / num_attention_heads. */
  readonly head_dim: number;
  readonly max_position_embeddings: number;
  readonly layers: readonly DecoderLayer[];
  readonly hidden_act: string;
  readonly rms_norm_eps: number;
  /** The output matrix is the embedding. Without this field the tensors of the file decide. Default true. */
  readonly tie_word_embeddings?: boolean;
  /** Standard deviation of new weights. */
  readonly initializer_range: number;
  /** Dropped inside `withDropout` only. */
  readonly attention_dropout: number;
  readonly resid_pdrop: number;
  /** Multiplies the embedding: √C in Gemma, 1 elsewhere. */
  readonly embedding_scale: number;
  /** Multiplies q·k; undefined: 1/√d. */
  readonly query_scale?: number;
  readonly attn_logit_softcapping?: number;
  readonly final_logit_softcapping?: number;
  /** Norms multiply by 1 + w. */
  readonly norm_offset: boolean;
  /** A norm after each branch as well. */
  readonly four_norms: boolean;
  /** Norms of queries and keys. */
  readonly qk_norm: boolean;
  /** One matrix for q, k and v, and one for gate and up. */
  readonly fused: boolean;
  readonly qkv_bias: boolean;
  readonly output_bias: boolean;
  readonly mlp_bias: boolean;
  readonly bos_token_id?: number;
  /** Ids that end a text. */
  readonly eos_token_ids: readonly number[];
}

/** `model_type`s that this module reads. `gemma3` is `gemma3_text` inside a file that also describes an image encoder. */
export const DECODER_TYPES: readonly string[] = [
  "llama",
  "mistral",
  "qwen2",
  "qwen3",
  "smollm3",
  "gemma2",
  "gemma3_text",
  "gemma3",
  "phi3",
];

const SIZES: Readonly<Record<string, Rule>> = {
  vocab_size: ["vocab_size", "size", 2 ** 22],
  hidden_size: ["hidden_size", "size", 2 ** 17],
  intermediate_size: ["intermediate_size", "size", 2 ** 20],
  num_hidden_layers: ["num_hidden_layers", "size", 1024],
  num_attention_heads: ["num_attention_heads", "size", 1024],
  num_key_value_heads: ["num_key_value_heads", "size", 1024],
  head_dim: ["head_dim", "size", 2 ** 14],
  max_position_embeddings: ["max_position_embeddings", "size", 2 ** 26],
};

/** Sizes that Gemma 3's published files leave out. */
const GEMMA3_DEFAULTS: Readonly<Record<string, number>> = {
  vocab_size: 262_208,
  num_attention_heads: 8,
  num_key_value_heads: 4,
  head_dim: 256,
  max_position_embeddings: 131_072,
};

/** Reads the fields of a config.json whose model_type is one of `DECODER_TYPES`. */
export function readDecoderConfig(type: string, given: Fields): DecoderConfig {
  if (type === "gemma3") {
    const text = given.object("text_config") ?? given.refuse("text_config", "is missing");
    return readDecoderConfig("gemma3_text", text);
  }
  const gemma = type === "gemma2" || type === "gemma3_text";
  const size = (name: string, otherwise?: number) =>
    given.one<number>(SIZES[name], (type === "gemma3_text" ? GEMMA3_DEFAULTS[name] : undefined) ?? otherwise);
  const flag = (name: string, otherwise: boolean) => given.one<boolean>([name, "flag"], otherwise);
  const number = (name: string, otherwise: number) => given.one<number>([name, "number"], otherwise);
  const hidden_size = size("hidden_size");
  const num_attention_heads = size("num_attention_heads");
  const head_dim = size("head_dim", Math.floor(hidden_size / num_attention_heads) || 1);
  const attentionBias = flag("attention_bias", type === "qwen2");
  const optional = (name: string) => {
    const value = given.read([[name, "number"]])[name] as number | undefined;
    return value === 0 ? given.refuse(name, "must be a number above 0") : value;
  };
  const act = gemma ? given.read([["hidden_activation", "text"]]).hidden_activation : undefined;
  const bos = given.value("bos_token_id");
  const queryScalar = gemma ? (optional("query_pre_attn_scalar") ?? 256) : undefined;
  const caps = type === "gemma2" || type === "gemma3_text";
  const attnCap = caps ? optional("attn_logit_softcapping") : undefined;
  const finalCap = caps ? optional("final_logit_softcapping") : undefined;
  const config: DecoderConfig = {
    model_type: type,
    vocab_size: size("vocab_size"),
    hidden_size,
    intermediate_size: size("intermediate_size"),
    num_attention_heads,
    num_key_value_heads: size("num_key_value_heads", num_attention_heads),
    head_dim,
    max_position_embeddings: size("max_position_embeddings"),
    layers: layersOf(type, given, size("num_hidden_layers"), head_dim),
    hidden_act:
      (act as string | undefined) ??
      given.one<string>(["hidden_act", "text"], gemma ? "gelu_pytorch_tanh" : "silu"),
    rms_norm_eps: number("rms_norm_eps", type === "phi3" ? 1e-5 : 1e-6),
    ...given.read([["tie_word_embeddings", "flag"]]),
    initializer_range: number("initializer_range", 0.02),
    attention_dropout: given.one<number>(["attention_dropout", "share"], 0),
    resid_pdrop: given.one<number>(["resid_pdrop", "share"], 0),
    embedding_scale: gemma ? Math.sqrt(hidden_size) : 1,
    ...(queryScalar !== undefined && { query_scale: 1 / Math.sqrt(queryScalar) }),
    ...(attnCap !== undefined && { attn_logit_softcapping: attnCap }),
    ...(finalCap !== undefined && { final_logit_softcapping: finalCap }),
    norm_offset: gemma,
    four_norms: gemma,
    qk_norm: type === "qwen3" || type === "gemma3_text",
    fused: type === "phi3",
    qkv_bias: type === "mistral" || type === "phi3" ? false : attentionBias,
    output_bias: type === "mistral" || type === "phi3" || type === "qwen2" ? false : attentionBias,
    mlp_bias: (type === "llama" || type === "smollm3") && flag("mlp_bias", false),
    ...(typeof bos === "number" && { bos_token_id: bos }),
    eos_token_ids: endIds(given),
  };
  checkDecoderConfig(config);
  return config;
}

function endIds(given: Fields): number[] {
  const value = given.value("eos_token_id");
  if (Array.isArray(value)) return given.list<number>("eos_token_id", ["", "id"], 64) ?? [];
  const one = given.read([["eos_token_id", "id"]]).eos_token_id;
  return typeof one === "number" ? [one] : [];
}

/** The window and the rotary positions of each layer. */
function layersOf(type: string, given: Fields, count: number, head_dim: number): DecoderLayer[] {
  const named = given.list<string>("layer_types", ["", "text"], 1024);
  if (named && named.length !== count) given.refuse("layer_types", `must be a list of ${count}`);
  for (const name of named ?? [])
    if (name !== "full_attention" && name !== "sliding_attention")
      throw new UnsupportedError(
        "config",
        `config.json: layer_types holds ${quote(name)}; heed computes "full_attention" and "sliding_attention"`,
        { field: "layer_types" },
      );
  const gemma = type === "gemma2" || type === "gemma3_text";
  const window =
    (given.read([["sliding_window", "size", 2 ** 30]]).sliding_window as number | undefined) ??
    (gemma ? 4096 : undefined);
  const optIn = type === "qwen2" || type === "qwen3" || type === "smollm3";
  const used = window !== undefined && (!optIn || given.one<boolean>(["use_sliding_window", "flag"], false));
  const pattern = given.one<number>(["sliding_window_pattern", "size", 1024], type === "gemma2" ? 2 : 6);
  const from = given.one<number>(["max_window_layers", "id"], 28);
  const slides = (layer: number): boolean => {
    if (named) return named[layer] === "sliding_attention";
    if (gemma) return (layer + 1) % pattern !== 0;
    if (type === "qwen2" || type === "qwen3") return layer >= from;
    return type === "mistral" || type === "phi3";
  };
  const rotary = rotaryOf(type, given, head_dim);
  const turned = given.list<number>("no_rope_layers", ["", "id"], 1024);
  const interval = given.one<number>(["no_rope_layer_interval", "size", 1024], 4);
  if (turned && turned.length !== count) given.refuse("no_rope_layers", `must be a list of ${count}`);
  return Array.from({ length: count }, (_, layer) => {
    const sliding = slides(layer);
    if (sliding && used === false && named && window === undefined)
      given.refuse("sliding_window", "is missing, but layer_types has sliding_attention");
    const turns = type !== "smollm3" || (turned ? turned[layer] !== 0 : (layer + 1) % interval !== 0);
    return {
      ...(sliding && used && { window }),
      ...(turns && { rotary: rotary(sliding) }),
    };
  });
}

/** Rotary positions of sliding and of full layers, in either spelling. */
function rotaryOf(type: string, given: Fields, head_dim: number): (sliding: boolean) => RotaryConfig {
  const base: Record<string, number> = { smollm3: 2e6, gemma3_text: 1e6 };
  const parameters = given.object("rope_parameters");
  const whole = parameters?.object("full_attention") ?? parameters;
  const scaling = whole ?? given.object("rope_scaling");
  const theta = (from: Fields | undefined, name: string, otherwise: number) =>
    (from?.read([["rope_theta", "number"]]).rope_theta as number | undefined) ??
    given.one<number>([name, "number"], otherwise);
  const share =
    (whole?.read([["partial_rotary_factor", "number"]]).partial_rotary_factor as number | undefined) ??
    given.one<number>(["partial_rotary_factor", "number"], 1);
  const rotaryDim = Math.floor(head_dim * share);
  const full: RotaryConfig = {
    rope_theta: theta(whole, "rope_theta", base[type] ?? 10_000),
    rotaryDim,
    scaling: scalingOf(given, scaling, rotaryDim),
  };
  const local = parameters?.object("sliding_attention");
  // Only Gemma 3 has separate angles for its sliding layers; its rope_scaling applies to the full layers.
  const sliding: RotaryConfig =
    type !== "gemma3_text"
      ? full
      : {
          rope_theta: theta(local, "rope_local_base_freq", 10_000),
          rotaryDim,
          scaling: scalingOf(given, local, rotaryDim),
        };
  for (const { rope_theta } of [full, sliding])
    if (!(rope_theta > 0)) given.refuse("rope_theta", "must be a number above 0");
  return (slides) => (slides ? sliding : full);
}

function scalingOf(given: Fields, scaling: Fields | undefined, rotaryDim: number): AngleScaling {
  if (scaling === undefined) return { rope_type: "default" };
  const name = (scaling.value("rope_type") ?? scaling.value("type") ?? "default") as string;
  const number = (field: string, otherwise?: number) => {
    const value = scaling.one<number>([field, "number"], otherwise);
    return value > 0 ? value : scaling.refuse(field, "must be a number above 0");
  };
  const positions = given.one<number>(SIZES.max_position_embeddings, GEMMA3_DEFAULTS.max_position_embeddings);
  const original = () =>
    number(
      "original_max_position_embeddings",
      given.read([["original_max_position_embeddings", "size", 2 ** 26]]).original_max_position_embeddings as
        | number
        | undefined,
    );
  switch (name) {
    case "default":
    case "dynamic":
      return { rope_type: name };
    case "linear":
      return { rope_type: name, factor: number("factor") };
    case "llama3": {
      const [low_freq_factor, high_freq_factor] = [number("low_freq_factor"), number("high_freq_factor")];
      if (!(low_freq_factor < high_freq_factor))
        scaling.refuse("low_freq_factor", `must be below high_freq_factor ${high_freq_factor}`);
      const sizes = { factor: number("factor"), original_max_position_embeddings: original() };
      return { rope_type: name, ...sizes, low_freq_factor, high_freq_factor };
    }
    case "yarn": {
      const original_max_position_embeddings = original();
      const factor = number("factor", positions / original_max_position_embeddings);
      const scaleOf = (weight: number) => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1);
      const [one, all] = ["mscale", "mscale_all_dim"].map((field) =>
        scaling.one<number>([field, "number"], 0),
      );
      return {
        rope_type: name,
        factor,
        original_max_position_embeddings,
        attention_factor: number("attention_factor", one && all ? scaleOf(one) / scaleOf(all) : scaleOf(1)),
        beta_fast: number("beta_fast", 32),
        beta_slow: number("beta_slow", 1),
        truncate: scaling.one<boolean>(["truncate", "flag"], true),
      };
    }
    case "longrope":
    case "su": {
      const original_max_position_embeddings = original();
      const factors = (field: string) => {
        const list =
          scaling.list<number>(field, ["", "number"], 2 ** 13) ?? scaling.refuse(field, "is missing");
        if (list.length !== rotaryDim / 2 || list.some((x) => x <= 0))
          scaling.refuse(field, `must be a list of ${rotaryDim / 2} numbers above 0`);
        return list;
      };
      const factor = number("factor", positions / original_max_position_embeddings);
      const plain =
        factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original_max_position_embeddings));
      return {
        rope_type: "longrope",
        short_factor: factors("short_factor"),
        long_factor: factors("long_factor"),
        original_max_position_embeddings,
        attention_factor: number("attention_factor", plain),
      };
    }
    default:
      throw new UnsupportedError(
        "config",
        `config.json: rope_type is ${quote(String(name))}; heed has default, linear, dynamic, llama3, yarn, longrope`,
        { field: "rope_type" },
      );
  }
}

/** Throws a FormatError unless the sizes are consistent. */
export function checkDecoderConfig(config: DecoderConfig): void {
  const bad = (field: string, text: string): never => {
    throw new FormatError("config", `${config.model_type} config: ${text}`, { field });
  };
  const { num_attention_heads: H, num_key_value_heads: Hkv, head_dim: d, layers } = config;
  for (const name of ["vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings"] as const)
    if (!(Number.isInteger(config[name]) && config[name] >= 1)) bad(name, `${name} must be an integer ≥ 1`);
  if (!(H >= 1 && Hkv >= 1 && H % Hkv === 0))
    bad("num_key_value_heads", `num_key_value_heads ${Hkv} does not divide num_attention_heads ${H}`);
  if (layers.length === 0) bad("layers", "there is no layer");
  for (const { rotary, window } of layers) {
    if (rotary && !(rotary.rotaryDim % 2 === 0 && rotary.rotaryDim >= 2 && rotary.rotaryDim <= d))
      bad(
        "head_dim",
        `head_dim ${d}: ${rotary.rotaryDim} of its numbers rotate, which must be an even number from 2 to head_dim`,
      );
    if (window !== undefined && !(Number.isInteger(window) && window >= 1))
      bad("sliding_window", `a window of ${window} keys`);
  }
  activationNamed(config.hidden_act);
}

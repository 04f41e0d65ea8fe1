/**
 * `config.json` of Hugging Face models: the sizes and constants of BERT and its relatives and of GPT-2, under their names there.
 * decoder-config.ts reads decoders of the Llama kind. Every size is checked before anything is planned with it. A field that asks
 * for a computation heed does not have is an error that names it; fields that do not affect the computation are ignored.
 */
import { checkArgument, FormatError, UnsupportedError } from "../../core/errors.ts";
import { type Json, scanObject } from "../../io/json.ts";
import { checkSize } from "../../io/limit.ts";
import { asBytes, quote, refuser } from "../../io/refuse.ts";
import { activationNamed } from "./activation.ts";
import { checkDecoderConfig, DECODER_TYPES, type DecoderConfig, readDecoderConfig } from "./decoder.ts";
import { Fields, type Rule, wrongOf } from "./fields.ts";

export type { DecoderConfig, DecoderLayer } from "./decoder.ts";

/** Sizes and constants of a BERT, named as in its config.json. */
export interface BertConfig {
  readonly vocab_size: number;
  /** Width of the residual stream; the heads divide it. */
  readonly hidden_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly intermediate_size: number;
  readonly max_position_embeddings: number;
  /** Default 2. */
  readonly type_vocab_size?: number;
  /** `gelu` (default), `gelu_new`, `relu`, `silu`. */
  readonly hidden_act?: string;
  /** Default 1e-12. */
  readonly layer_norm_eps?: number;
  /** Dropped inside `withDropout` only; default 0. */
  readonly hidden_dropout_prob?: number;
  readonly attention_probs_dropout_prob?: number;
  /** Standard deviation of new weights; default 0.02. */
  readonly initializer_range?: number;
  /** Row of the embedding that begins as zeros; default 0. */
  readonly pad_token_id?: number;
  /** The output matrix is the embedding; default true. */
  readonly tie_word_embeddings?: boolean;
}

/** Sizes and constants of a RoBERTa, XLM-RoBERTa or CamemBERT: BERT's fields; the default of `pad_token_id` is 1. */
export type RobertaConfig = BertConfig;

/** Sizes and constants of an MPNet: BERT's fields without token types; the default of `pad_token_id` is 1. */
export type MpnetConfig = Omit<BertConfig, "type_vocab_size">;

/** Sizes and constants of an ELECTRA: BERT's fields and the width of the embeddings. */
export interface ElectraConfig extends BertConfig {
  /** Default 128. */
  readonly embedding_size?: number;
}

/** Sizes and constants of a DistilBERT, named as in its config.json. */
export interface DistilbertConfig {
  readonly vocab_size: number;
  /** Width of the residual stream; the heads divide it. */
  readonly dim: number;
  readonly n_layers: number;
  readonly n_heads: number;
  readonly hidden_dim: number;
  readonly max_position_embeddings: number;
  /** `gelu` (default), `gelu_new`, `relu`, `silu`. */
  readonly activation?: string;
  /** Dropped inside `withDropout` only; default 0. */
  readonly dropout?: number;
  readonly attention_dropout?: number;
  /** Standard deviation of new weights; default 0.02. */
  readonly initializer_range?: number;
  /** Row of the embedding that begins as zeros; default 0. */
  readonly pad_token_id?: number;
  /** The output matrix is the embedding; default true. */
  readonly tie_word_embeddings?: boolean;
}

/** Sizes and constants of a GPT-2, named as in its config.json. */
export interface Gpt2Config {
  readonly vocab_size: number;
  readonly n_positions: number;
  /** Width of the residual stream; the heads divide it. */
  readonly n_embd: number;
  readonly n_layer: number;
  readonly n_head: number;
  /** Default 4 · n_embd. */
  readonly n_inner?: number | null;
  /** `gelu_new` (default), `gelu`, `relu`, `silu`. */
  readonly activation_function?: string;
  /** Default 1e-5. */
  readonly layer_norm_epsilon?: number;
  /** Dropped inside `withDropout` only; default 0. */
  readonly embd_pdrop?: number;
  readonly attn_pdrop?: number;
  readonly resid_pdrop?: number;
  /** Standard deviation of new weights; default 0.02. */
  readonly initializer_range?: number;
  /** The output map is the embedding; default true. */
  readonly tie_word_embeddings?: boolean;
  readonly bos_token_id?: number | null;
  readonly eos_token_id?: number | null;
}

/** A config.json as read. `type` names the module that computes the model; relatives of Llama are all `decoder`. */
export type ModelConfig =
  | { readonly type: "bert"; readonly config: BertConfig }
  | { readonly type: "roberta"; readonly config: RobertaConfig }
  | { readonly type: "distilbert"; readonly config: DistilbertConfig }
  | { readonly type: "electra"; readonly config: ElectraConfig }
  | { readonly type: "mpnet"; readonly config: MpnetConfig }
  | { readonly type: "gpt2"; readonly config: Gpt2Config }
  | { readonly type: "decoder"; readonly config: DecoderConfig };

/** The fields to read: their kinds, and the maximum of a size. */
const BERT_FIELDS: readonly Rule[] = [
  ["vocab_size", "size", 2 ** 22],
  ["hidden_size", "size", 2 ** 17],
  ["num_hidden_layers", "size", 1024],
  ["num_attention_heads", "size", 1024],
  ["intermediate_size", "size", 2 ** 20],
  ["max_position_embeddings", "size", 2 ** 22],
  ["type_vocab_size", "size", 1024],
  ["hidden_act", "text"],
  ["layer_norm_eps", "number"],
  ["hidden_dropout_prob", "share"],
  ["attention_probs_dropout_prob", "share"],
  ["initializer_range", "number"],
  ["pad_token_id", "id"],
  ["tie_word_embeddings", "flag"],
];

const DISTILBERT_FIELDS: readonly Rule[] = [
  ["vocab_size", "size", 2 ** 22],
  ["dim", "size", 2 ** 17],
  ["n_layers", "size", 1024],
  ["n_heads", "size", 1024],
  ["hidden_dim", "size", 2 ** 20],
  ["max_position_embeddings", "size", 2 ** 22],
  ["activation", "text"],
  ["dropout", "share"],
  ["attention_dropout", "share"],
  ["initializer_range", "number"],
  ["pad_token_id", "id"],
  ["tie_word_embeddings", "flag"],
];

const GPT2_FIELDS: readonly Rule[] = [
  ["vocab_size", "size", 2 ** 22],
  ["n_positions", "size", 2 ** 22],
  ["n_embd", "size", 2 ** 17],
  ["n_layer", "size", 1024],
  ["n_head", "size", 1024],
  ["n_inner", "size", 2 ** 20],
  ["activation_function", "text"],
  ["layer_norm_epsilon", "number"],
  ["embd_pdrop", "share"],
  ["attn_pdrop", "share"],
  ["resid_pdrop", "share"],
  ["initializer_range", "number"],
  ["tie_word_embeddings", "flag"],
  ["bos_token_id", "id"],
  ["eos_token_id", "id"],
];

/**
 * How the configs of a family are read: the fields, how many of them (the first) are required, and the names of width, heads and
 * activation.
 */
interface Shape {
  readonly fields: readonly Rule[];
  readonly needed: number;
  readonly width: string;
  readonly heads: string;
  readonly activation: string;
  /** Default id of the padding token; undefined for a family that has none. */
  readonly pad?: number;
}

const BERT_SHAPE: Shape = {
  fields: BERT_FIELDS,
  needed: 6,
  width: "hidden_size",
  heads: "num_attention_heads",
  activation: "hidden_act",
  pad: 0,
};

const SHAPES: Readonly<Record<Exclude<ModelConfig["type"], "decoder">, Shape>> = {
  bert: BERT_SHAPE,
  roberta: { ...BERT_SHAPE, pad: 1 },
  electra: { ...BERT_SHAPE, fields: [...BERT_FIELDS, ["embedding_size", "size", 2 ** 17]] },
  mpnet: { ...BERT_SHAPE, fields: BERT_FIELDS.filter(([name]) => name !== "type_vocab_size"), pad: 1 },
  distilbert: {
    fields: DISTILBERT_FIELDS,
    needed: 6,
    width: "dim",
    heads: "n_heads",
    activation: "activation",
    pad: 0,
  },
  gpt2: {
    fields: GPT2_FIELDS,
    needed: 5,
    width: "n_embd",
    heads: "n_head",
    activation: "activation_function",
  },
};

/** `model_type`s that are computed as another one. */
const ALIASES: Readonly<Record<string, keyof typeof SHAPES>> = {
  "xlm-roberta": "roberta",
  camembert: "roberta",
};

/** Every `model_type` that heed reads. */
export const MODEL_TYPES: readonly string[] = [
  ...Object.keys(SHAPES),
  ...Object.keys(ALIASES),
  ...DECODER_TYPES,
];

/** Fields that, if present, must have one of these values: any other is a computation heed does not have. */
const FIXED: Readonly<Record<string, readonly (string | number | boolean | null)[]>> = {
  position_embedding_type: ["absolute"],
  is_decoder: [false],
  add_cross_attention: [false],
  scale_attn_weights: [true],
  scale_attn_by_inverse_layer_idx: [false],
  quantization_config: [null],
  relative_attention_num_buckets: [32],
  use_bidirectional_attention: [false, null],
};

/** Maximum bytes of a config.json. */
const MAX_CONFIG = 2 ** 20;

/**
 * Reads a config.json. Throws a FormatError for a wrong field, an UnsupportedError for a model that heed does not have.
 *
 * @example
 * const { type } = readConfig(readFileSync(`${locateShipped("decoder")}/config.json`));
 * type; // → "gpt2"
 */
export function readConfig(json: Uint8Array | ArrayBuffer): ModelConfig {
  const what = "config.json";
  const bytes = asBytes(what, json);
  const refuse = refuser(what);
  checkSize(what, "the file", bytes.length, MAX_CONFIG);
  const values = new Map<string, { value: Json; at: number }>();
  scanObject(bytes, refuse, (name, value, at) => values.set(name, { value, at }), { numbers: "finite" });

  const fields = new Fields(values, bytes.length, refuse);
  const given = fields.value("model_type");
  const type = typeof given === "string" ? given : "";
  if (!MODEL_TYPES.includes(type))
    throw new UnsupportedError(
      "model-type",
      `${what}: model_type is ${typeof given === "string" ? quote(given) : "missing"}; heed has ${MODEL_TYPES.join(", ")}. For most other models of PyTorch "heed capture --python" prints a recorder whose file every command opens (docs/08-explorer.md)`,
      { got: given },
    );
  for (const [name, allowed] of Object.entries(FIXED)) {
    const value = fields.value(name);
    if (value !== undefined && !allowed.includes(value as null))
      throw new UnsupportedError(
        "config",
        `${what}: ${name} must be ${allowed.map((one) => JSON.stringify(one)).join(" or ")}, which is what heed computes`,
        { field: name },
      );
  }
  if (DECODER_TYPES.includes(type)) return { type: "decoder", config: readDecoderConfig(type, fields) };
  const page = (Object.hasOwn(ALIASES, type) ? ALIASES[type] : type) as keyof typeof SHAPES;
  const made = { type: page, config: fields.read(SHAPES[page].fields) } as unknown as ModelConfig;
  checkConfig(made);
  return made;
}

/** Throws a FormatError unless all required fields are present, in their ranges, and consistent. */
export function checkConfig({ type, config }: ModelConfig): void {
  checkArgument(
    typeof config === "object" && config !== null,
    `${type} model`,
    "a config, as config.json has it",
    config,
  );
  if (type === "decoder") {
    checkDecoderConfig(config);
    return;
  }
  const it = config as unknown as Record<string, unknown>;
  const { fields, needed, width, heads, activation, pad } = SHAPES[type];
  const bad = (name: string, text: string): never => {
    throw new FormatError("config", `${type} config: ${text}`, { field: name, got: it[name] });
  };
  for (const [n, rule] of fields.entries()) {
    const [name] = rule;
    const missing = it[name] === undefined || it[name] === null;
    if (missing && n < needed) bad(name, `${name} is missing`);
    const wrong = missing ? undefined : wrongOf(it[name], rule);
    if (wrong !== undefined) bad(name, `${name} must be ${wrong}, got ${String(it[name])}`);
  }
  const [C, H] = [it[width] as number, it[heads] as number];
  if (C % H !== 0) bad(heads, `${heads} ${H} does not divide ${width} ${C}`);
  const padding = (it.pad_token_id as number | undefined) ?? pad;
  if (padding !== undefined && padding >= (it.vocab_size as number))
    bad("pad_token_id", `pad_token_id ${padding} is not below vocab_size ${it.vocab_size}`);
  const positions = it.max_position_embeddings as number;
  if ((type === "roberta" || type === "mpnet") && positions <= (padding as number) + 1)
    bad("max_position_embeddings", `max_position_embeddings ${positions} leaves no position after padding`);
  activationNamed((it[activation] as string | undefined) ?? "gelu");
}

/** The fields of a config.json in Hugging Face's layout. */
export function configFields({ type, config }: ModelConfig): Record<string, unknown> {
  if (type === "bert")
    return {
      architectures: ["BertForMaskedLM"],
      model_type: "bert",
      hidden_act: "gelu",
      layer_norm_eps: 1e-12,
      type_vocab_size: 2,
      hidden_dropout_prob: 0,
      attention_probs_dropout_prob: 0,
      position_embedding_type: "absolute",
      ...config,
    };
  if (type === "gpt2")
    return {
      architectures: ["GPT2LMHeadModel"],
      model_type: "gpt2",
      activation_function: "gelu_new",
      layer_norm_epsilon: 1e-5,
      embd_pdrop: 0,
      attn_pdrop: 0,
      resid_pdrop: 0,
      tie_word_embeddings: true,
      ...config,
    };
  throw new UnsupportedError(
    "write",
    `writeModel: heed writes the families bert and gpt2, but the model is of the family ${type}; writeSafetensors(model.parameters()) of heed/io saves its weights`,
    { type },
  );
}

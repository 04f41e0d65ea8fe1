/**
 * `config.json` of Hugging Face's models: which numbers make a BERT or a GPT-2, under their names there. Every size is
 * bounded before anything is planned with it, and what would change the computation in a way heed does not know is refused
 * by its name. Fields that change nothing are passed over.
 */
import { FormatError, UnsupportedError } from "../core/errors.ts";
import { type Json, scanObject } from "../io/json.ts";
import { asBytes, quote, refuser } from "../io/refuse.ts";
import type { ActivationName } from "../nn/index.ts";

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

/** What a config.json describes. */
export type ModelConfig =
  | { readonly type: "bert"; readonly config: BertConfig }
  | { readonly type: "gpt2"; readonly config: Gpt2Config };

type Rule = readonly [
  name: string,
  kind: "size" | "share" | "number" | "text" | "flag" | "id",
  most?: number,
];

/** Fields that are read: their kind, and for sizes the largest. */
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

/** Fields that must have this value where they are there: any other is a computation heed does not have. */
const FIXED: Readonly<Record<string, readonly (string | boolean | null)[]>> = {
  position_embedding_type: ["absolute"],
  is_decoder: [false],
  add_cross_attention: [false],
  scale_attn_weights: [true],
  scale_attn_by_inverse_layer_idx: [false],
  quantization_config: [null],
};

const ACTIVATIONS: Readonly<Record<string, ActivationName>> = {
  gelu: "gelu",
  gelu_new: "gelu-tanh",
  gelu_pytorch_tanh: "gelu-tanh",
  relu: "relu",
  silu: "silu",
  swish: "silu",
};

/** The activation that a config names. */
export function activationNamed(name: string): ActivationName {
  if (Object.hasOwn(ACTIVATIONS, name)) return ACTIVATIONS[name];
  throw new UnsupportedError(
    "activation",
    `config: activation ${quote(name)} is not one heed has; it has ${Object.keys(ACTIVATIONS).join(", ")}`,
    { activation: name },
  );
}

/** Reads a config.json. Throws FormatError where a field is not what it must be, UnsupportedError for other models. */
export function readConfig(json: Uint8Array | ArrayBuffer): ModelConfig {
  const what = "config.json";
  const bytes = asBytes(what, json);
  const refuse = refuser(what);
  if (bytes.length > 2 ** 20)
    refuse("config-size", 0, `a file of ${bytes.length} bytes; at most ${2 ** 20} are read`);
  const fields = new Map<string, { value: Json; at: number }>();
  scanObject(bytes, refuse, (name, value, at) => fields.set(name, { value, at }), { numbers: "finite" });

  const type = fields.get("model_type")?.value;
  if (type !== "bert" && type !== "gpt2")
    throw new UnsupportedError(
      "model-type",
      `${what}: model_type is ${typeof type === "string" ? quote(type) : "missing"}; heed has bert and gpt2`,
      { got: type },
    );
  for (const [name, allowed] of Object.entries(FIXED)) {
    const field = fields.get(name);
    if (field !== undefined && !allowed.includes(field.value as null))
      throw new UnsupportedError(
        "config",
        `${what}: ${name} must be ${allowed.map((one) => JSON.stringify(one)).join(" or ")}, which is what heed computes`,
        { field: name },
      );
  }
  if (type === "bert" && fields.get("tie_word_embeddings")?.value === false)
    throw new UnsupportedError(
      "config",
      `${what}: tie_word_embeddings must be true: heed's BERT has one matrix for both ends`,
      {
        field: "tie_word_embeddings",
      },
    );
  const config: Record<string, Json> = {};
  for (const rule of type === "bert" ? BERT_FIELDS : GPT2_FIELDS) {
    const field = fields.get(rule[0]);
    // null is how Python writes "by default".
    if (field === undefined || field.value === null) continue;
    const wrong = wrongOf(field.value, rule);
    if (wrong !== undefined) refuse("config", field.at, `${rule[0]} must be ${wrong}`);
    config[rule[0]] = field.value;
  }
  const made = { type, config } as unknown as ModelConfig;
  checkConfig(made);
  return made;
}

/** What a value should have been, or undefined where it is that. */
function wrongOf(value: unknown, [, kind, most = 0]: Rule): string | undefined {
  const number = typeof value === "number" ? value : Number.NaN;
  switch (kind) {
    case "size":
      return Number.isInteger(number) && number >= 1 && number <= most
        ? undefined
        : `an integer from 1 to ${most}`;
    case "id":
      return Number.isInteger(number) && number >= 0 ? undefined : "an integer ≥ 0";
    case "share":
      return number >= 0 && number < 1 ? undefined : "a number in [0, 1)";
    case "number":
      return number >= 0 && Number.isFinite(number) ? undefined : "a number ≥ 0";
    case "text":
      return typeof value === "string" ? undefined : "a text";
    case "flag":
      return typeof value === "boolean" ? undefined : "true or false";
  }
}

/** Throws a FormatError unless all needed fields are there, in their ranges, and fit each other. */
export function checkConfig({ type, config }: ModelConfig): void {
  const it = config as unknown as Record<string, unknown>;
  const needed = type === "bert" ? BERT_FIELDS.slice(0, 6) : GPT2_FIELDS.slice(0, 5);
  const bad = (name: string, text: string): never => {
    throw new FormatError("config", `${type} config: ${text}`, { field: name, got: it[name] });
  };
  for (const rule of type === "bert" ? BERT_FIELDS : GPT2_FIELDS) {
    const [name] = rule;
    const missing = it[name] === undefined || it[name] === null;
    if (missing && needed.some(([one]) => one === name)) bad(name, `${name} is missing`);
    const wrong = missing ? undefined : wrongOf(it[name], rule);
    if (wrong !== undefined) bad(name, `${name} must be ${wrong}, got ${String(it[name])}`);
  }
  const [width, heads, names] =
    type === "bert"
      ? [config.hidden_size, config.num_attention_heads, ["hidden_size", "num_attention_heads"]]
      : [config.n_embd, config.n_head, ["n_embd", "n_head"]];
  if (width % heads !== 0) bad(names[1], `${names[1]} ${heads} does not divide ${names[0]} ${width}`);
  if (type === "bert" && (config.pad_token_id ?? 0) >= config.vocab_size)
    bad("pad_token_id", `pad_token_id ${config.pad_token_id} is not below vocab_size ${config.vocab_size}`);
  activationNamed((type === "bert" ? config.hidden_act : config.activation_function) ?? "gelu");
}

/** The fields of a config.json in Hugging Face's layout. */
export function configFields({ type, config }: ModelConfig): Record<string, unknown> {
  return type === "bert"
    ? {
        architectures: ["BertForMaskedLM"],
        model_type: "bert",
        hidden_act: "gelu",
        layer_norm_eps: 1e-12,
        type_vocab_size: 2,
        hidden_dropout_prob: 0,
        attention_probs_dropout_prob: 0,
        position_embedding_type: "absolute",
        ...config,
      }
    : {
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
}

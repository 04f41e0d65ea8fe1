/**
 * Families without a class: their config is the recipe itself. A family says what its config.json calls the sizes, what its
 * tensors are called, and how its layers compute; everything else is read here.
 */
import type { Fields } from "../config/fields.ts";
import { type LayerDefaults, readLayers } from "../config/layers.ts";
import { LIMITS } from "../config/schema.ts";
import { Decoder } from "../decoder/decoder.ts";
import { Encoder } from "../encoder/encoder.ts";
import type {
  DecoderConfig,
  EncoderConfig,
  NormConfig,
  TensorNames,
  TransformerConfig,
} from "../transformer/config.ts";
import { checkTransformerConfig } from "../transformer/config.ts";
import type { Family, FileNames } from "./family.ts";
import { writeSource } from "./family.ts";

/** Sizes of a config.json, by Llama's names for them, and their limits. */
const SIZES = {
  vocab_size: LIMITS.vocabulary,
  hidden_size: LIMITS.width,
  intermediate_size: LIMITS.inner,
  num_hidden_layers: LIMITS.layers,
  num_attention_heads: LIMITS.heads,
  num_key_value_heads: LIMITS.heads,
  head_dim: 2 ** 14,
  max_position_embeddings: LIMITS.positions,
};

type SizeName = keyof typeof SIZES;
/** Fields that families spell differently. */
type FieldName = SizeName | "hidden_act" | "attention_dropout" | "resid_pdrop";

/** The sizes that a family's `read` may use. */
export type Sizes = Readonly<Record<SizeName, number>>;

/** What a family has to say. */
export interface RecipeFamily {
  readonly modelTypes: readonly string[];
  readonly names: TensorNames;
  readonly files?: FileNames;
  /** Names of fields in config.json, where they are not those of Llama. */
  readonly fields?: Partial<Record<FieldName, string>>;
  /** Values of sizes that config.json may leave out; a function of the others. */
  readonly sizes?: Partial<Record<SizeName, number | ((sizes: Partial<Sizes>) => number)>>;
  /** Activation of a config that names none; default `silu`. */
  readonly activation?: string;
  /** Fields of the recipe: constants, and what depends on fields of the file. */
  read?(fields: Fields, sizes: Sizes): Partial<DecoderConfig & EncoderConfig>;
  /** Windows and rotary positions; null for a family that has neither. Default Llama's. */
  layers?: LayerDefaults | null | ((fields: Fields, sizes: Sizes) => LayerDefaults | null);
}

/** Names of Llama's tensors, which many families have. */
export const LLAMA_NAMES = {
  embedding: "model.embed_tokens",
  layer: "model.layers.*.",
  attentionNorm: "input_layernorm",
  query: "self_attn.q_proj",
  key: "self_attn.k_proj",
  value: "self_attn.v_proj",
  output: "self_attn.o_proj",
  feedForwardNorm: "post_attention_layernorm",
  gate: "mlp.gate_proj",
  up: "mlp.up_proj",
  down: "mlp.down_proj",
  finalNorm: "model.norm",
  head: "lm_head",
} satisfies TensorNames;

/** Llama's names where norms are on the output of each branch, in place of its input. */
export const POST_NORM_NAMES = {
  ...LLAMA_NAMES,
  attentionNorm: undefined,
  attentionOutputNorm: "post_attention_layernorm",
  feedForwardNorm: undefined,
  feedForwardOutputNorm: "post_feedforward_layernorm",
} satisfies TensorNames;

/** Names of norms of queries and keys. */
export const QK_NORMS = { queryNorm: "self_attn.q_norm", keyNorm: "self_attn.k_norm" };

/** Biases everywhere. */
export const ALL_BIASES = { qkv_bias: true, output_bias: true, mlp_bias: true };

/** Biases of q, k and v and of the output, where `attention_bias` says so. */
export function attentionBiases(fields: Fields, otherwise = false) {
  const bias = flag(fields, "attention_bias", otherwise);
  return { qkv_bias: bias, output_bias: bias };
}

/** The same, and biases of the feed-forward network where `mlp_bias` says so. */
export const biases = (fields: Fields) => ({
  ...attentionBiases(fields),
  mlp_bias: flag(fields, "mlp_bias", false),
});

/** A flag of a config.json. */
export const flag = (fields: Fields, name: string, otherwise: boolean): boolean =>
  fields.one<boolean>([name, "flag"], otherwise);

/** A number of a config.json. */
export const number = (fields: Fields, name: string, otherwise: number): number =>
  fields.one<number>([name, "number"], otherwise);

/** The norm of all layers: `name` is the field of its eps. */
export const layerNorm = (
  fields: Fields,
  name: string,
  more: Partial<NormConfig> = {},
  eps = 1e-5,
): NormConfig => ({ kind: "layer", eps: number(fields, name, eps), ...more });

/** A number above 0, or undefined. */
export function positive(fields: Fields, name: string): number | undefined {
  const value = fields.optional<number>([name, "number"]);
  return value === 0 ? fields.refuse(name, "must be a number above 0") : value;
}

/** A family of decoders. */
export const decoderFamily = (it: RecipeFamily): Family<DecoderConfig> => ({
  type: "decoder",
  modelTypes: it.modelTypes,
  files: it.files,
  read(fields, modelType) {
    const bos = fields.value("bos_token_id");
    const ids = { ...(typeof bos === "number" && { bos_token_id: bos }), eos_token_ids: endIds(fields) };
    return { ...readRecipe(it, fields, modelType), ...ids };
  },
  recipe: (config) => config,
  write: writeSource,
  make: (config, options) => new Decoder(config, options),
});

/** A family of encoders. */
export const encoderFamily = (it: RecipeFamily): Family<EncoderConfig> => ({
  type: "encoder",
  modelTypes: it.modelTypes,
  files: it.files,
  read: (fields, modelType) => readRecipe(it, fields, modelType),
  recipe: (config) => config,
  write: writeSource,
  make: (config, options) => new Encoder(config, options),
});

/** The recipe of a config.json. */
export function readRecipe(it: RecipeFamily, fields: Fields, model_type: string): TransformerConfig {
  const sizes = readSizes(it, fields);
  const field = (name: FieldName) => spelling(it, fields, name);
  const layers = typeof it.layers === "function" ? it.layers(fields, sizes) : it.layers;
  const { num_hidden_layers: count, head_dim, max_position_embeddings: positions, ...rest } = sizes;
  const config: TransformerConfig = {
    model_type,
    ...rest,
    head_dim,
    max_position_embeddings: positions,
    layers:
      layers === null
        ? Array.from({ length: count }, () => ({}))
        : readLayers(fields, { layers: count, head_dim, positions }, layers),
    names: it.names,
    norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-6) },
    hidden_act: fields.one<string>([field("hidden_act"), "text"], it.activation ?? "silu"),
    ...fields.read([["tie_word_embeddings", "flag"]]),
    initializer_range: number(fields, "initializer_range", 0.02),
    attention_dropout: fields.one<number>([field("attention_dropout"), "share"], 0),
    resid_pdrop: fields.one<number>([field("resid_pdrop"), "share"], 0),
    qkv_bias: false,
    output_bias: false,
    mlp_bias: false,
    ...it.read?.(fields, sizes),
    source: { ...fields.toObject(), model_type },
  };
  checkTransformerConfig(config);
  return config;
}

/** The name of a field in this file: the family's, or Llama's, which transformers reads too. */
function spelling({ fields: names }: RecipeFamily, fields: Fields, name: FieldName): string {
  const localName = names?.[name] ?? name;
  return (fields.value(localName) ?? undefined) === undefined && fields.value(name) !== undefined
    ? name
    : localName;
}

function readSizes(family: RecipeFamily, fields: Fields): Sizes {
  const sizes: Partial<Record<SizeName, number>> = {};
  const read = (name: SizeName, otherwise?: number) => {
    const value = family.sizes?.[name];
    const size = typeof value === "function" ? value(sizes) : (value ?? otherwise);
    sizes[name] = fields.one<number>([spelling(family, fields, name), "size", SIZES[name]], size);
    return sizes[name];
  };
  for (const name of ["vocab_size", "num_hidden_layers", "max_position_embeddings"] as const) read(name);
  const [C, H] = [read("hidden_size"), read("num_attention_heads")];
  read("num_key_value_heads", H);
  read("head_dim", Math.floor(C / H) || 1);
  read("intermediate_size");
  return sizes as Sizes;
}

/** The ids of a config.json that end a text. */
export function endIds(fields: Fields): number[] {
  const value = fields.value("eos_token_id");
  if (Array.isArray(value)) return fields.list<number>("eos_token_id", ["", "id"], 64) ?? [];
  const id = fields.optional<number>(["eos_token_id", "id"]);
  return id === undefined ? [] : [id];
}

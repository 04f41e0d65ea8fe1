/**
 * The recipe of a transformer, as data: sizes, how a layer computes, and the names of its tensors. Encoders and decoders add
 * their fields (encoder/config.ts, decoder/config.ts); a family of models is a reader of config.json that returns a recipe.
 */

import { checkArgument, FormatError, formatValue } from "../../core/errors.ts";
import { type FieldKinds, KINDS, type ValueKind } from "../../core/option-names.ts";
import { activationNamed } from "../config/activation.ts";
import type { RotaryConfig } from "./angles.ts";
import type { RelativePositions } from "./disentangled.ts";

/** The properties in which layers may differ. */
export interface LayerConfig {
  /** A query sees keys less than this many positions away, its own included; undefined: no limit. */
  readonly window?: number;
  /** Rotary positions; undefined: none. */
  readonly rotary?: RotaryConfig;
  /** False for a layer without the norm before attention. Default true. */
  readonly attention_norm?: boolean;
  /** Sizes of this layer; default those of the model. */
  readonly head_dim?: number;
  readonly num_key_value_heads?: number;
  readonly intermediate_size?: number;
  /** The layer reads the keys and values of this earlier layer, and has no projections of its own. */
  readonly keys_of?: number;
  /** The values are the projection of the keys, before its norm and its rotation. */
  readonly values_are_keys?: boolean;
}

/** How every norm of a model computes. */
export interface NormConfig {
  /** x / √(mean(x²) + eps), or (x − mean(x)) / √(var(x) + eps). */
  readonly kind: "rms" | "layer";
  readonly eps: number;
  /** Multiplies by w (default), by 1 + w, or by nothing. */
  readonly weight?: "plain" | "offset" | "none";
  /** A bias is added. Default true for `layer`; `rms` has none. */
  readonly bias?: boolean;
}

/**
 * Names of a model's tensors, without `.weight` and `.bias`. A part that a family lacks has no name. Names of a layer follow its
 * prefix. Norms are before a branch, on its output, or on the sum of its output and the residual stream.
 */
export interface TensorNames {
  readonly embedding: string;
  /** Learned positions and token types. */
  readonly positions?: string;
  readonly types?: string;
  readonly embeddingNorm?: string;
  /** A linear map from the embedding's width to the model's. */
  readonly embeddingMap?: string;
  /** T5's table of relative positions. */
  readonly relative?: string;
  /** DeBERTa's table of relative positions, its norm, and projections of its own in each layer. */
  readonly relativePositions?: string;
  readonly relativeNorm?: string;
  readonly positionKey?: string;
  readonly positionQuery?: string;
  /** Prefix of a layer, `*` for its number. */
  readonly layer: string;
  readonly attentionNorm?: string;
  readonly query?: string;
  readonly key?: string;
  readonly value?: string;
  /** One matrix in place of query, key and value. */
  readonly qkv?: string;
  /** Norms of queries and keys. */
  readonly queryNorm?: string;
  readonly keyNorm?: string;
  /** Projections of global tokens: the rows that attend to all. */
  readonly globalQuery?: string;
  readonly globalKey?: string;
  readonly globalValue?: string;
  readonly output: string;
  /** A factor for each number of the output of a branch; the full name, without a suffix. */
  readonly attentionScale?: string;
  readonly feedForwardScale?: string;
  readonly attentionOutputNorm?: string;
  readonly attentionSumNorm?: string;
  /** Attention over the states of an encoder, between the layer's own attention and its feed-forward network. */
  readonly crossNorm?: string;
  readonly crossQuery?: string;
  readonly crossKey?: string;
  readonly crossValue?: string;
  readonly crossOutput?: string;
  readonly crossSumNorm?: string;
  readonly feedForwardNorm?: string;
  /** A gate makes the feed-forward network act(gate·x) · (up·x) in place of act(up·x). */
  readonly gate?: string;
  readonly up?: string;
  /** One matrix in place of gate and up. */
  readonly gateUp?: string;
  readonly down: string;
  /** Prefix of the learned factors of the activation `xielu`. */
  readonly activationFactors?: string;
  readonly feedForwardOutputNorm?: string;
  readonly feedForwardSumNorm?: string;
  /**
   * A second embedding, of D numbers for each layer (`layer_input_size`), to which a map of the first one is added after its norm. A
   * layer adds norm(output·(act(gate·x) · its D numbers)).
   */
  readonly layerEmbedding?: string;
  readonly layerEmbeddingMap?: string;
  readonly layerEmbeddingNorm?: string;
  readonly layerInputGate?: string;
  readonly layerInputOutput?: string;
  readonly layerInputNorm?: string;
  /** One factor of a layer's state; the full name, without a suffix. */
  readonly layerScale?: string;
  readonly finalNorm?: string;
  /** The output matrix, which is the embedding where the file has no other. */
  readonly head: string;
  /** The full name of the output's bias. */
  readonly headBias?: string;
  /** A map and a norm before the output. */
  readonly headMap?: string;
  readonly headNorm?: string;
  /** The map to the logits of an answer's first and last token, in files that were trained to answer questions. */
  readonly span?: string;
  /** A map and a norm before it. */
  readonly spanMap?: string;
  readonly spanNorm?: string;
}

/** The recipe of a transformer. */
export interface TransformerConfig {
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
  /** Maximum tokens of a text. */
  readonly max_position_embeddings: number;
  readonly layers: readonly LayerConfig[];
  readonly names: TensorNames;
  readonly norm: NormConfig;
  /** Activation of the feed-forward network, and that of the head where it differs. */
  readonly hidden_act: string;
  readonly head_act?: string;
  /** Which maps have a bias. */
  readonly qkv_bias: boolean;
  /** Default `qkv_bias`. */
  readonly key_bias?: boolean;
  readonly output_bias: boolean;
  readonly mlp_bias: boolean;
  /** The output's bias is stored as one row, [1, V]. Default false. */
  readonly head_bias_row?: boolean;
  /** The map before the output has a bias. Default true. */
  readonly head_map_bias?: boolean;
  /**
   * Rows of a joint matrix of q, k and v: all of q, then k, then v (default); for each key head its queries, key and value; or four
   * parts, each with q, v and k of a quarter of the heads.
   */
  readonly qkv_layout?: "blocks" | "groups" | "quarters";
  /**
   * What the norms of q and k span: each head with shared weights (default), each head with weights of its own, or all heads
   * together.
   */
  readonly qk_norm?: "head" | "heads" | "all";
  /** q and k are normed after their rotation. Default false: before. */
  readonly qk_norm_last?: boolean;
  /** Values of each head are divided by √(mean(v²) + eps). Default false. */
  readonly value_norm?: boolean;
  /** D: numbers of the second embedding that each layer reads. */
  readonly layer_input_size?: number;
  /** Multiplies the embedding: √C in Gemma. Default 1. */
  readonly embedding_scale?: number;
  /** Row of the position table for the first token. Default 0. */
  readonly position_offset?: number;
  /** Rows of the position table; default the positions. */
  readonly position_rows?: number;
  /** Positions that are computed: sin(p·θᵢ), then cos(p·θᵢ), θᵢ = 10,000^(−i / divisor), p counted from `first`. */
  readonly sinusoids?: { readonly first: number; readonly divisor: number };
  /** Buckets of relative positions (default 32), and the distance from which all share the last one (default 128). */
  readonly relative_buckets?: number;
  readonly relative_distance?: number;
  /** How distances become rows of DeBERTa's table, and which terms the scores have: content to position, position to content. */
  readonly relative_positions?: RelativePositions;
  readonly relative_terms?: readonly ("c2p" | "p2c")[];
  /** Multiplies q·k; undefined: 1/√d. */
  readonly query_scale?: number;
  /** Multiplies a query at position p by 1 + beta·ln(1 + ⌊p / period⌋). */
  readonly query_growth?: { readonly beta: number; readonly period: number };
  readonly attn_logit_softcapping?: number;
  /** ALiBi's slope of each head. */
  readonly alibi_slopes?: readonly number[];
  /** Attention and feed-forward network read the same state, and both are added to it. */
  readonly parallel?: boolean;
  /** Multiplies the output of each branch. */
  readonly residual_scale?: number;
  /** Matrices of the layers are stored [in, out]. */
  readonly transposed?: boolean;
  /** The output matrix is the embedding. Without this field the tensors of the file decide. Default true. */
  readonly tie_word_embeddings?: boolean;
  /** Standard deviation of new weights, and of those of projections that add to the residual stream. */
  readonly initializer_range: number;
  readonly residual_range?: number;
  /** Row of the embedding that begins as zeros. */
  readonly pad_token_id?: number;
  /** Dropped inside `withDropout` only. */
  readonly embd_pdrop?: number;
  readonly attention_dropout: number;
  readonly resid_pdrop: number;
  /** The fields of the config.json that the recipe was read from: what `writeModel` writes. */
  readonly source?: Readonly<Record<string, unknown>>;
}

/** A layer with its sizes. */
export const sizesOf = (
  { head_dim, num_key_value_heads, intermediate_size }: TransformerConfig,
  layer: LayerConfig,
): LayerConfig & Required<Pick<LayerConfig, "head_dim" | "num_key_value_heads" | "intermediate_size">> => ({
  head_dim,
  num_key_value_heads,
  intermediate_size,
  ...layer,
});

/** Fields by what they must be; optional ones where they are there. */
const RECIPE_KINDS: FieldKinds = {
  "an integer ≥ 1":
    "vocab_size hidden_size intermediate_size max_position_embeddings num_attention_heads num_key_value_heads head_dim",
  "a text": "model_type hidden_act",
  "an object": "names norm source",
  "a list of objects": "layers",
  "a list of integers ≥ 0": "eos_token_ids suppressed_ids",
  "an integer ≥ 0": "layer_input_size decoder_start_token_id forced_bos_token_id forced_eos_token_id",
  "a number": "initializer_range attention_dropout embd_pdrop resid_pdrop position_offset position_rows",
  "true or false":
    "qkv_bias key_bias output_bias mlp_bias head_bias_row head_map_bias qk_norm_last value_norm parallel transposed tie_word_embeddings",
};
const OPTIONAL = /^(?!vocab|hidden|inter|max_pos|num_|head_dim|names|norm)/;

/** Throws a FormatError unless the fields of a recipe are of their kinds and its sizes consistent. */
export function checkTransformerConfig(config: TransformerConfig): void {
  const isConfig = typeof config === "object" && config !== null && Array.isArray(config.layers);
  checkArgument(
    isConfig,
    "new Encoder and new Decoder",
    "a config with layers, as readModel makes it",
    config,
  );
  const refuse = (field: string, text: string): never => {
    throw new FormatError(
      "config",
      `${String(formatValue(config.model_type)).replaceAll('"', "")} config: ${text}`,
      { field },
    );
  };
  const { num_attention_heads: H, layers } = config;
  for (const [kind, names] of Object.entries(RECIPE_KINDS))
    for (const name of names.split(" ") as (keyof TransformerConfig)[])
      if (!(config[name] === undefined && OPTIONAL.test(name)) && !KINDS[kind as ValueKind](config[name]))
        refuse(name, `${name} must be ${kind}, got ${formatValue(config[name])}`);
  for (const name of ["embedding", "layer", "output", "down", "head"] as const)
    if (typeof config.names[name] !== "string")
      refuse("names", `names.${name} must be a text, got ${formatValue(config.names[name])}`);
  if (!["rms", "layer"].includes(config.norm.kind))
    refuse("norm", `norm.kind must be "rms" or "layer", got ${formatValue(config.norm.kind)}`);
  if (layers.length === 0) refuse("layers", "there is no layer");
  for (const [n, layer] of layers.entries()) {
    const { rotary, window, head_dim: d, num_key_value_heads: Hkv, keys_of } = sizesOf(config, layer);
    if (!(H >= 1 && Hkv >= 1 && H % Hkv === 0))
      refuse("num_key_value_heads", `num_key_value_heads ${Hkv} does not divide num_attention_heads ${H}`);
    if (keys_of !== undefined && !(keys_of < n && layers[keys_of].keys_of === undefined))
      refuse(
        "layers",
        `layer ${n} reads the keys of layer ${keys_of}, which must be an earlier one with keys`,
      );
    if (rotary && !(rotary.rotaryDim % 2 === 0 && rotary.rotaryDim >= 2 && rotary.rotaryDim <= d))
      refuse(
        "head_dim",
        `head_dim ${d}: ${rotary.rotaryDim} of its numbers rotate, which must be an even number from 2 to head_dim`,
      );
    if (window !== undefined && !(Number.isInteger(window) && window >= 1))
      refuse("sliding_window", `a window of ${window} keys`);
  }
  activationNamed(config.hidden_act);
}

/** The recipe of an encoder. */
export interface EncoderConfig extends TransformerConfig {
  /** Width of the embeddings, where it is not that of the layers. */
  readonly embedding_size?: number;
  /** Kinds of token types; a family without them has no name for their table. */
  readonly type_vocab_size?: number;
  /**
   * Rows of the position table. With this and without `position_offset` the first rows belong to padding: real tokens are counted
   * from pad_token_id + 1 on.
   */
  readonly position_rows?: number;
}

/** The recipe of a decoder. */
export interface DecoderConfig extends TransformerConfig {
  /** Multiplies the logits. Default 1. */
  readonly logit_scale?: number;
  /** c·tanh(logit / c). */
  readonly final_logit_softcapping?: number;
  readonly bos_token_id?: number;
  /** Ids that end a text. */
  readonly eos_token_ids: readonly number[];
}

/** The recipe of an encoder–decoder. */
export interface EncoderDecoderConfig extends DecoderConfig {
  readonly encoder: EncoderConfig;
  /** The id that the decoder reads first. */
  readonly decoder_start_token_id: number;
  /** The id that every text begins with, after the first one: a language, or the beginning of a text. */
  readonly forced_bos_token_id?: number;
  /** The id at the last position of a text that reaches its maximum length. */
  readonly forced_eos_token_id?: number;
  /** Ids that are never generated. */
  readonly suppressed_ids: readonly number[];
}

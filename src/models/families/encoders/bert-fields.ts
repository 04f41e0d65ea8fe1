/** What BERT and its relatives with the same fields in config.json share: RoBERTa, ELECTRA, MPNet. */
import type { Fields, Rule } from "../../config/fields.ts";
import { type ConfigSchema, LIMITS } from "../../config/schema.ts";
import type { BertConfig } from "../../config/types.ts";
import type { EncoderConfig, TensorNames } from "../../transformer/config.ts";
import { ALL_BIASES } from "../recipe-family.ts";

const REQUIRED: readonly Rule[] = [
  ["vocab_size", "size", LIMITS.vocabulary],
  ["hidden_size", "size", LIMITS.width],
  ["num_hidden_layers", "size", LIMITS.layers],
  ["num_attention_heads", "size", LIMITS.heads],
  ["intermediate_size", "size", LIMITS.inner],
  ["max_position_embeddings", "size", LIMITS.vocabulary],
];

/** The fields of BERT's config.json. */
export const BERT_SCHEMA: ConfigSchema = {
  fields: [
    ...REQUIRED,
    ["type_vocab_size", "size", 1024],
    ["hidden_act", "text"],
    ["layer_norm_eps", "number"],
    ["hidden_dropout_prob", "share"],
    ["attention_probs_dropout_prob", "share"],
    ["initializer_range", "number"],
    ["pad_token_id", "id"],
    ["tie_word_embeddings", "flag"],
  ],
  required: REQUIRED.map(([name]) => name),
  width: "hidden_size",
  heads: "num_attention_heads",
  activation: "hidden_act",
};

/** What BERT's config.json means where it lacks a field. */
export const BERT_DEFAULTS = {
  hidden_act: "gelu",
  layer_norm_eps: 1e-12,
  type_vocab_size: 2,
  hidden_dropout_prob: 0,
  attention_probs_dropout_prob: 0,
  initializer_range: 0.02,
  pad_token_id: 0,
};

/** All fields of a config with defaults. */
export type BertFields = Required<Omit<BertConfig, "tie_word_embeddings">> &
  Pick<BertConfig, "tie_word_embeddings">;

/** The recipe of a model with BERT's fields and layers. */
export function bertRecipe(model_type: string, fields: BertFields, names: TensorNames): EncoderConfig {
  const { hidden_size, num_attention_heads: heads, num_hidden_layers, hidden_dropout_prob: dropout } = fields;
  return {
    model_type,
    vocab_size: fields.vocab_size,
    hidden_size,
    intermediate_size: fields.intermediate_size,
    num_attention_heads: heads,
    num_key_value_heads: heads,
    head_dim: hidden_size / heads,
    max_position_embeddings: fields.max_position_embeddings,
    layers: Array.from({ length: num_hidden_layers }, () => ({})),
    names,
    norm: { kind: "layer", eps: fields.layer_norm_eps },
    hidden_act: fields.hidden_act,
    ...ALL_BIASES,
    type_vocab_size: fields.type_vocab_size,
    pad_token_id: fields.pad_token_id,
    ...(fields.tie_word_embeddings !== undefined && { tie_word_embeddings: fields.tie_word_embeddings }),
    initializer_range: fields.initializer_range,
    embd_pdrop: dropout,
    resid_pdrop: dropout,
    attention_dropout: fields.attention_probs_dropout_prob,
  };
}

/** RoBERTa's positions: the first rows of the table belong to padding, which positions skip. The head's activation is gelu. */
export function afterPadding<R extends Pick<EncoderConfig, "max_position_embeddings" | "pad_token_id">>(
  recipe: R,
): R & Pick<EncoderConfig, "head_act" | "position_rows"> {
  const { max_position_embeddings: rows, pad_token_id: pad = 1 } = recipe;
  return { ...recipe, head_act: "gelu", position_rows: rows, max_position_embeddings: rows - pad - 1 };
}

/** The map to the logits of an answer's first and last token. */
export const SPAN = "qa_outputs";

/** Names of a BERT whose base model has this prefix: embeddings and layers, without a head. */
export const bertNames = (prefix: string): Omit<TensorNames, "head"> => ({
  embedding: `${prefix}.embeddings.word_embeddings`,
  positions: `${prefix}.embeddings.position_embeddings`,
  types: `${prefix}.embeddings.token_type_embeddings`,
  embeddingNorm: `${prefix}.embeddings.LayerNorm`,
  layer: `${prefix}.encoder.layer.*.`,
  query: "attention.self.query",
  key: "attention.self.key",
  value: "attention.self.value",
  output: "attention.output.dense",
  attentionSumNorm: "attention.output.LayerNorm",
  up: "intermediate.dense",
  down: "output.dense",
  feedForwardSumNorm: "output.LayerNorm",
  span: SPAN,
});

/** BERT's head. */
export const CLS_HEAD = {
  head: "cls.predictions.decoder",
  headBias: "cls.predictions.bias",
  headMap: "cls.predictions.transform.dense",
  headNorm: "cls.predictions.transform.LayerNorm",
};

/** Fields of dropout by BERT's names. */
export const DROPOUT = {
  resid_pdrop: "hidden_dropout_prob",
  attention_dropout: "attention_probs_dropout_prob",
} as const;

/** BERT's embeddings and biases, from the fields of a config.json. */
export const bertEmbeddings = (fields: Fields, pad = 0) => ({
  type_vocab_size: fields.one<number>(["type_vocab_size", "size", 1024], 2),
  embd_pdrop: fields.one<number>(["hidden_dropout_prob", "share"], 0),
  pad_token_id: fields.one<number>(["pad_token_id", "id"], pad),
  ...ALL_BIASES,
});

/** The head of RoBERTa and MPNet. */
export const LM_HEAD = {
  head: "lm_head.decoder",
  headBias: "lm_head.bias",
  headMap: "lm_head.dense",
  headNorm: "lm_head.layer_norm",
};

/**
 * DistilBERT (Sanh et al. 2019, arXiv 1910.01108): BERT's layers, half as many, without token types. Parameters have the names of
 * Hugging Face's DistilBertForMaskedLM.
 */
import { checkCount } from "../../../core/errors.ts";
import type { Rule } from "../../config/fields.ts";
import type { DistilbertConfig } from "../../config/types.ts";
import { Encoder, type EncoderStart } from "../../encoder/encoder.ts";
import { classFamily, completed } from "../class-family.ts";
import { BERT_SCHEMA, bertRecipe, SPAN } from "./bert-fields.ts";

/** Its names of BERT's fields. */
const SPELLINGS: Readonly<Record<string, string>> = {
  hidden_size: "dim",
  num_hidden_layers: "n_layers",
  num_attention_heads: "n_heads",
  intermediate_size: "hidden_dim",
  hidden_act: "activation",
  hidden_dropout_prob: "dropout",
  attention_probs_dropout_prob: "attention_dropout",
};
const spelled = (name: string) => SPELLINGS[name] ?? name;
const SCHEMA = {
  fields: BERT_SCHEMA.fields
    .filter(([name]) => name !== "type_vocab_size" && name !== "layer_norm_eps")
    .map(([name, ...rule]): Rule => [spelled(name), ...rule]),
  required: BERT_SCHEMA.required.map(spelled),
  width: "dim",
  heads: "n_heads",
  activation: "activation",
};
const DEFAULTS = {
  activation: "gelu",
  dropout: 0,
  attention_dropout: 0,
  initializer_range: 0.02,
  pad_token_id: 0,
};
const NAMES = {
  embedding: "distilbert.embeddings.word_embeddings",
  positions: "distilbert.embeddings.position_embeddings",
  embeddingNorm: "distilbert.embeddings.LayerNorm",
  layer: "distilbert.transformer.layer.*.",
  query: "attention.q_lin",
  key: "attention.k_lin",
  value: "attention.v_lin",
  output: "attention.out_lin",
  attentionSumNorm: "sa_layer_norm",
  up: "ffn.lin1",
  down: "ffn.lin2",
  feedForwardSumNorm: "output_layer_norm",
  head: "vocab_projector",
  headBias: "vocab_projector.bias",
  headMap: "vocab_transform",
  headNorm: "vocab_layer_norm",
  span: SPAN,
};

function recipe(config: DistilbertConfig) {
  const fields = completed("distilbert", SCHEMA, config, DEFAULTS);
  const asBert = {
    ...fields,
    hidden_size: fields.dim,
    num_hidden_layers: fields.n_layers,
    num_attention_heads: fields.n_heads,
    intermediate_size: fields.hidden_dim,
    hidden_act: fields.activation,
    // The config has no field for it.
    layer_norm_eps: 1e-12,
    type_vocab_size: 1,
    hidden_dropout_prob: fields.dropout,
    attention_probs_dropout_prob: fields.attention_dropout,
  };
  return bertRecipe("distilbert", asBert, NAMES);
}

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel("./distilbert-base-uncased", { family: "distilbert" }); // a Distilbert
 */
export class Distilbert extends Encoder<DistilbertConfig> {
  /** A model with the weights given, or with new ones from a seed. */
  constructor(config: DistilbertConfig, options: EncoderStart = {}) {
    checkCount("Distilbert", arguments, 2);
    super(recipe(config), options, config, "Distilbert");
  }
}

export const distilbert = classFamily<DistilbertConfig>({
  type: "distilbert",
  architecture: "DistilBertForMaskedLM",
  schema: SCHEMA,
  defaults: DEFAULTS,
  recipe,
  make: (config, options) => new Distilbert(config, options),
});

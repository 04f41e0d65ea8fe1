/**
 * ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT's layers after embeddings that may be narrower. A generator predicts masked
 * tokens, with a head in the embedding's width whose activation is always gelu. A discriminator, the model that is usually
 * published, cannot; its head (was this token replaced?) is ignored. Parameters have the names of Hugging Face's
 * ElectraForMaskedLM.
 */

import { checkCount } from "../../../core/errors.ts";
import { LIMITS } from "../../config/schema.ts";
import type { ElectraConfig } from "../../config/types.ts";
import { Encoder, type EncoderStart } from "../../encoder/encoder.ts";
import { classFamily, completed } from "../class-family.ts";
import { BERT_DEFAULTS, BERT_SCHEMA, bertNames, bertRecipe } from "./bert-fields.ts";

const SCHEMA = {
  ...BERT_SCHEMA,
  fields: [...BERT_SCHEMA.fields, ["embedding_size", "size", LIMITS.width] as const],
};
const DEFAULTS = { ...BERT_DEFAULTS, embedding_size: 128 };
const HEAD = {
  head: "generator_lm_head",
  headBias: "generator_lm_head.bias",
  headMap: "generator_predictions.dense",
  headNorm: "generator_predictions.LayerNorm",
};

function recipe(config: ElectraConfig) {
  const fields = completed("electra", SCHEMA, config, DEFAULTS);
  const { embedding_size, hidden_size } = fields;
  const embeddingMap = embedding_size === hidden_size ? undefined : "electra.embeddings_project";
  const names = { ...bertNames("electra"), ...HEAD, embeddingMap };
  return { ...bertRecipe("electra", fields, names), embedding_size, head_act: "gelu" };
}

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel("./electra-small-discriminator", { family: "electra" }); // an Electra
 */
export class Electra extends Encoder<ElectraConfig> {
  /** A model with the weights given, or with new ones from a seed. */
  constructor(config: ElectraConfig, options: EncoderStart = {}) {
    checkCount("Electra", arguments, 2);
    super(recipe(config), options, config, "Electra");
  }
}

export const electra = classFamily<ElectraConfig>({
  type: "electra",
  architecture: "ElectraForMaskedLM",
  schema: SCHEMA,
  defaults: DEFAULTS,
  files: { otherHeads: /^discriminator_predictions\./ },
  recipe,
  make: (config, options) => new Electra(config, options),
});

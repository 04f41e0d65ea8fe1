/**
 * BERT (Devlin et al. 2018, arXiv 1810.04805), an encoder that predicts masked tokens. Parameters have the names of Hugging
 * Face's BertForMaskedLM.
 *
 *     x = norm(embedding[id] + type + position)
 *     x = norm(x + W·heads(softmax(q·kᵀ / √d)·v))          q, k, v = W·x + b
 *     x = norm(x + W₂·gelu(W₁·x))
 *     logits = output·norm(gelu(W·x)) + b                  the output matrix is the embedding unless the file has its own
 */
import { checkCount } from "../../../core/errors.ts";
import type { BertConfig } from "../../config/types.ts";
import { Encoder, type EncoderOptions, type EncoderStart } from "../../encoder/encoder.ts";
import { classFamily, completed } from "../class-family.ts";
import { BERT_DEFAULTS, BERT_SCHEMA, bertNames, bertRecipe, CLS_HEAD } from "./bert-fields.ts";

/** How to run a BERT. */
export type BertOptions = EncoderOptions;

const NAMES = { ...bertNames("bert"), ...CLS_HEAD };

const recipe = (config: BertConfig) =>
  bertRecipe("bert", completed("bert", BERT_SCHEMA, config, BERT_DEFAULTS), NAMES);

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel(locateShipped("encoder")); // a Bert
 * model.hidden(tensor([[1, 2, 3]], "int32")).shape; // → [1, 3, 128]
 */
export class Bert extends Encoder<BertConfig> {
  /** A model with the weights given, or with new ones from a seed: normal with standard deviation 0.02, BERT's initialization. */
  constructor(config: BertConfig, options: EncoderStart = {}) {
    checkCount("Bert", arguments, 2);
    super(recipe(config), options, config, "Bert");
  }
}

export const bert = classFamily<BertConfig>({
  type: "bert",
  architecture: "BertForMaskedLM",
  schema: BERT_SCHEMA,
  defaults: BERT_DEFAULTS,
  constants: { position_embedding_type: "absolute" },
  files: {
    renames: [
      [/\.gamma$/, ".weight"],
      [/\.beta$/, ".bias"],
    ],
    ignored: /^cls\.seq_relationship\./,
  },
  recipe,
  make: (config, options) => new Bert(config, options),
});

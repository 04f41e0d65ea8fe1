/**
 * RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT's layers, trained longer. Positions start after the id of padding and skip
 * padding; the head's activation is always gelu. Parameters have the names of Hugging Face's RobertaForMaskedLM.
 */
import { checkCount } from "../../../core/errors.ts";
import type { RobertaConfig } from "../../config/types.ts";
import { Encoder, type EncoderStart } from "../../encoder/encoder.ts";
import { classFamily, completed } from "../class-family.ts";
import { afterPadding, BERT_DEFAULTS, BERT_SCHEMA, bertNames, bertRecipe, LM_HEAD } from "./bert-fields.ts";

const SCHEMA = { ...BERT_SCHEMA, positionsAfterPadding: true };
const DEFAULTS = { ...BERT_DEFAULTS, pad_token_id: 1 };

const recipe = (config: RobertaConfig) =>
  afterPadding(
    bertRecipe("roberta", completed("roberta", SCHEMA, config, DEFAULTS), {
      ...bertNames("roberta"),
      ...LM_HEAD,
    }),
  );

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel("./roberta-base", { family: "roberta" }); // a Roberta
 */
export class Roberta extends Encoder<RobertaConfig> {
  /** A model with the weights given, or with new ones from a seed. */
  constructor(config: RobertaConfig, options: EncoderStart = {}) {
    checkCount("Roberta", arguments, 2);
    super(recipe(config), options, config, "Roberta");
  }
}

/** The family, which XLM-RoBERTa and CamemBERT belong to. */
export const roberta = classFamily<RobertaConfig>({
  type: "roberta",
  aliases: ["xlm-roberta", "camembert"],
  architecture: "RobertaForMaskedLM",
  schema: SCHEMA,
  defaults: DEFAULTS,
  recipe,
  make: (config, options) => new Roberta(config, options),
});

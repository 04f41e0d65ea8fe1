/**
 * MPNet (Song et al. 2020, arXiv 2004.09297): BERT's layers with T5's relative position bias in every score, one table of 32
 * buckets for all layers, in addition to learned positions that start after the id of padding. No token types. Parameters have
 * the names of MPNetForMaskedLM.
 */
import { checkCount } from "../../../core/errors.ts";
import type { MpnetConfig } from "../../config/types.ts";
import { Encoder, type EncoderStart } from "../../encoder/encoder.ts";
import { classFamily, completed } from "../class-family.ts";
import { afterPadding, BERT_DEFAULTS, BERT_SCHEMA, bertNames, bertRecipe, LM_HEAD } from "./bert-fields.ts";

const SCHEMA = {
  ...BERT_SCHEMA,
  fields: BERT_SCHEMA.fields.filter(([name]) => name !== "type_vocab_size"),
  positionsAfterPadding: true,
};
const DEFAULTS = { ...BERT_DEFAULTS, type_vocab_size: undefined, pad_token_id: 1 };
const NAMES = {
  ...bertNames("mpnet"),
  ...LM_HEAD,
  types: undefined,
  relative: "mpnet.encoder.relative_attention_bias",
  query: "attention.attn.q",
  key: "attention.attn.k",
  value: "attention.attn.v",
  output: "attention.attn.o",
  attentionSumNorm: "attention.LayerNorm",
};

function recipe(config: MpnetConfig) {
  const fields = completed("mpnet", SCHEMA, config, DEFAULTS);
  // Positions begin after row 1, whatever the id of padding is, as in transformers.
  return afterPadding(bertRecipe("mpnet", { ...fields, type_vocab_size: 1, pad_token_id: 1 }, NAMES));
}

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel("./all-mpnet-base-v2", { family: "mpnet" }); // an Mpnet
 */
export class Mpnet extends Encoder<MpnetConfig> {
  /** A model with the weights given, or with new ones from a seed. */
  constructor(config: MpnetConfig, options: EncoderStart = {}) {
    checkCount("Mpnet", arguments, 2);
    super(recipe(config), options, config, "Mpnet");
  }
}

export const mpnet = classFamily<MpnetConfig>({
  type: "mpnet",
  architecture: "MPNetForMaskedLM",
  schema: SCHEMA,
  defaults: DEFAULTS,
  fixed: { relative_attention_num_buckets: [32] },
  recipe,
  make: (config, options) => new Mpnet(config, options),
});

/** DeBERTa 2 and 3 (He et al. 2021, arXiv 2111.09543): BERT's layers, whose scores have terms of content and relative position. */
import { type Fields, requireValues } from "../../config/fields.ts";
import { LIMITS } from "../../config/schema.ts";
import { ALL_BIASES, encoderFamily, flag, layerNorm, type Sizes } from "../recipe-family.ts";
import { bertNames, DROPOUT } from "./bert-fields.ts";

const BASE = bertNames("deberta");
/** A head of files that say `legacy: false`, and that of all others. */
const HEADS = {
  new: ["lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm", "lm_predictions.lm_head.bias"],
  legacy: ["cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"],
} as const;

function namesOf(fields: Fields, terms: readonly string[]) {
  const [headMap, headNorm, headBias] = HEADS[flag(fields, "legacy", true) ? "legacy" : "new"];
  const separate = !flag(fields, "share_att_key", false);
  const types = fields.value("type_vocab_size");
  return {
    ...BASE,
    positions: flag(fields, "position_biased_input", true) ? BASE.positions : undefined,
    types: types === 0 || types === undefined ? undefined : BASE.types,
    query: "attention.self.query_proj",
    key: "attention.self.key_proj",
    value: "attention.self.value_proj",
    relativePositions: "deberta.encoder.rel_embeddings",
    relativeNorm: normed(fields) ? "deberta.encoder.LayerNorm" : undefined,
    positionKey: separate && terms.includes("c2p") ? "attention.self.pos_key_proj" : undefined,
    positionQuery: separate && terms.includes("p2c") ? "attention.self.pos_query_proj" : undefined,
    head: "cls.predictions.decoder",
    headMap,
    headNorm,
    headBias,
  };
}

const normed = (fields: Fields) => /layer_norm/i.test(fields.one<string>(["norm_rel_ebd", "text"], "none"));

/** `"p2c|c2p"`, or a list. */
function termsOf(fields: Fields): string[] {
  const value = fields.value("pos_att_type");
  const terms = typeof value === "string" ? value.split("|").map((one) => one.trim()) : (value ?? []);
  if (!Array.isArray(terms) || terms.some((one) => one !== "c2p" && one !== "p2c"))
    return fields.refuse("pos_att_type", 'must have "c2p" and "p2c" only');
  return terms as string[];
}

/** A number that is −1 where there is none. */
function count(fields: Fields, name: string, otherwise: number): number {
  const value = fields.value(name) ?? -1;
  if (typeof value !== "number" || !Number.isInteger(value) || value > LIMITS.positions)
    return fields.refuse(name, "must be an integer");
  return value < 1 ? otherwise : value;
}

export const deberta = encoderFamily({
  modelTypes: ["deberta-v2"],
  names: { ...BASE, head: "cls.predictions.decoder" },
  files: {
    ignored: /^deberta\.embeddings\.position_embeddings\./,
    otherHeads: /^(lm_predictions|mask_predictions|pooler)\./,
  },
  fields: DROPOUT,
  activation: "gelu",
  read(fields, sizes: Sizes) {
    requireValues(fields, {
      relative_attention: [true],
      conv_kernel_size: [0],
      embedding_size: [sizes.hidden_size],
      attention_head_size: [sizes.head_dim],
    });
    if (fields.value("relative_attention") === undefined) fields.refuse("relative_attention", "is missing");
    const terms = termsOf(fields);
    const maxDistance = count(fields, "max_relative_positions", sizes.max_position_embeddings);
    const buckets = count(fields, "position_buckets", 0);
    return {
      names: namesOf(fields, terms),
      // The newer head has no matrix of its own, whatever config.json says.
      ...(!flag(fields, "legacy", true) && { tie_word_embeddings: true }),
      norm: layerNorm(fields, "layer_norm_eps", {}, 1e-7),
      query_scale: 1 / Math.sqrt(sizes.head_dim * (1 + terms.length)),
      relative_positions: { span: buckets || maxDistance, maxDistance, ...(buckets > 0 && { buckets }) },
      relative_terms: terms as ("c2p" | "p2c")[],
      embd_pdrop: fields.one<number>(["hidden_dropout_prob", "share"], 0),
      pad_token_id: fields.one<number>(["pad_token_id", "id"], 0),
      ...ALL_BIASES,
      type_vocab_size: Math.max(1, count(fields, "type_vocab_size", 1)),
    };
  },
  layers: null,
});

/**
 * BigBird (Zaheer et al. 2020, arXiv 2007.14062) on texts of up to (5 + 2·random blocks)·block tokens (1,024 as published), where it is
 * a BERT: every token attends to every other. Longer texts have blocks drawn at random, which heed does not compute: they are too long.
 */
import { LIMITS } from "../../config/schema.ts";
import { encoderFamily, flag, layerNorm } from "../recipe-family.ts";
import { bertEmbeddings, bertNames, CLS_HEAD, DROPOUT } from "./bert-fields.ts";

export const bigBird = encoderFamily({
  modelTypes: ["big_bird"],
  names: { ...bertNames("bert"), span: undefined, ...CLS_HEAD },
  files: { ignored: /^cls\.seq_relationship\./, otherHeads: /^qa_classifier\./ },
  fields: DROPOUT,
  activation: "gelu_new",
  read(fields, { hidden_size, max_position_embeddings: rows }) {
    const type = fields.one<string>(["attention_type", "text"], "block_sparse");
    if (type !== "block_sparse" && type !== "original_full")
      fields.refuse("attention_type", 'must be "block_sparse" or "original_full"');
    const size = fields.one<number>(["block_size", "size", LIMITS.positions], 64);
    const random = fields.one<number>(["num_random_blocks", "id"], 3);
    const full = type === "original_full" ? rows : Math.min(rows, (5 + 2 * random) * size);
    return {
      max_position_embeddings: full,
      position_rows: rows,
      position_offset: 0,
      ...(flag(fields, "rescale_embeddings", false) && { embedding_scale: Math.sqrt(hidden_size) }),
      norm: layerNorm(fields, "layer_norm_eps", {}, 1e-12),
      ...bertEmbeddings(fields),
      qkv_bias: flag(fields, "use_bias", true),
    };
  },
  layers: null,
});

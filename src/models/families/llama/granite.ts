/** Granite 3 (IBM): Llama with factors on the embedding, the scores, the branches and the logits. */
import { biases, decoderFamily, LLAMA_NAMES, number, positive } from "../recipe-family.ts";

export const granite = decoderFamily({
  modelTypes: ["granite"],
  names: LLAMA_NAMES,
  read: (fields) => ({
    ...biases(fields),
    embedding_scale: number(fields, "embedding_multiplier", 1),
    query_scale: number(fields, "attention_multiplier", 1),
    residual_scale: number(fields, "residual_multiplier", 1),
    logit_scale: 1 / (positive(fields, "logits_scaling") ?? 1),
  }),
});

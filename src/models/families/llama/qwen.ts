/** Qwen 2.5 (arXiv 2412.15115): Llama with biases of q, k and v; Qwen 3 (arXiv 2505.09388): norms of q and k. */
import type { Fields } from "../../config/fields.ts";
import { attentionBiases, decoderFamily, flag, LLAMA_NAMES, QK_NORMS } from "../recipe-family.ts";

/** Windows from a layer on, only if the config uses them. */
function layers(fields: Fields) {
  const first = fields.one<number>(["max_window_layers", "id"], 28);
  return { optIn: true, slides: (layer: number) => layer >= first };
}

export const qwen2 = decoderFamily({
  modelTypes: ["qwen2"],
  names: LLAMA_NAMES,
  read: (fields) => ({ qkv_bias: flag(fields, "attention_bias", true) }),
  layers,
});

export const qwen3 = decoderFamily({
  modelTypes: ["qwen3"],
  names: { ...LLAMA_NAMES, ...QK_NORMS },
  read: (fields) => attentionBiases(fields),
  layers,
});

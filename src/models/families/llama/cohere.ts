/**
 * Command R (Cohere): parallel branches of one layer norm without bias, interleaved rotation, logits times a constant. Command R7B
 * (Cohere 2): windows in three of four layers, and positions only in those.
 */
import type { Fields } from "../../config/fields.ts";
import {
  attentionBiases,
  decoderFamily,
  flag,
  LLAMA_NAMES,
  layerNorm,
  number,
  QK_NORMS,
} from "../recipe-family.ts";

const NAMES = { ...LLAMA_NAMES, feedForwardNorm: undefined };

function read(fields: Fields) {
  return {
    names: { ...NAMES, ...(flag(fields, "use_qk_norm", false) && QK_NORMS) },
    norm: layerNorm(fields, "layer_norm_eps", { bias: false }),
    qk_norm: "heads",
    ...attentionBiases(fields),
    parallel: true,
    logit_scale: number(fields, "logit_scale", 0.0625),
  } as const;
}

export const cohere = decoderFamily({
  modelTypes: ["cohere"],
  names: NAMES,
  read,
  layers: { theta: 500_000, layout: "interleaved" },
});

export const cohere2 = decoderFamily({
  modelTypes: ["cohere2"],
  names: NAMES,
  read,
  layers(fields) {
    const pattern = fields.one<number>(["sliding_window_pattern", "size", 1024], 4);
    return {
      window: 4096,
      slides: (layer) => (layer + 1) % pattern !== 0,
      rotates: (_, sliding) => sliding,
      layout: "interleaved",
    };
  },
});

/**
 * OLMo (arXiv 2402.00838): Llama with layer norms that have no weights. OLMo 2 (arXiv 2501.00656): norms of all queries and of all
 * keys, and of each branch's output in place of its input. OLMo 3: windows in three of four layers.
 */
import { type Fields, requireValues } from "../../config/fields.ts";
import {
  attentionBiases,
  decoderFamily,
  LLAMA_NAMES,
  number,
  POST_NORM_NAMES,
  QK_NORMS,
} from "../recipe-family.ts";

export const olmo = decoderFamily({
  modelTypes: ["olmo"],
  names: LLAMA_NAMES,
  read(fields) {
    requireValues(fields, { clip_qkv: [null] });
    return { norm: { kind: "layer", eps: 1e-5, weight: "none" }, ...attentionBiases(fields) };
  },
});

const NAMES = { ...POST_NORM_NAMES, ...QK_NORMS };

const read = (fields: Fields) =>
  ({
    norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-5) },
    qk_norm: "all",
    ...attentionBiases(fields),
  }) as const;

export const olmo2 = decoderFamily({ modelTypes: ["olmo2"], names: NAMES, read });

export const olmo3 = decoderFamily({
  modelTypes: ["olmo3"],
  names: NAMES,
  read,
  layers: {
    window: 4096,
    slides: (layer) => (layer + 1) % 4 !== 0,
    theta: 500_000,
    localAngles: { field: "rope_theta", theta: 500_000 },
  },
});

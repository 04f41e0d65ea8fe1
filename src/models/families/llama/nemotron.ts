/** Nemotron 4 and Minitron (arXiv 2402.16819): layer norms that multiply by 1 + w, relu², rotation of half a head. */
import { biases, decoderFamily, LLAMA_NAMES, layerNorm } from "../recipe-family.ts";

export const nemotron = decoderFamily({
  modelTypes: ["nemotron"],
  names: { ...LLAMA_NAMES, gate: undefined },
  activation: "relu2",
  read: (fields) => ({ norm: layerNorm(fields, "norm_eps", { weight: "offset" }), ...biases(fields) }),
  layers: { rotaryShare: 0.5 },
});

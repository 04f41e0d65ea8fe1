/**
 * Mistral 7B (Jiang et al. 2023, arXiv 2310.06825): Llama with a window in every layer if the config has one. Ministral 3: queries
 * far into a text are scaled up, as in Llama 4.
 */
import { decoderFamily, LLAMA_NAMES, number } from "../recipe-family.ts";

export const mistral = decoderFamily({
  modelTypes: ["mistral"],
  names: LLAMA_NAMES,
  // A config without the field has the default of the published code; null means no window.
  layers: (fields) => ({
    slides: () => true,
    ...(fields.value("sliding_window") === undefined && { window: 4096 }),
  }),
});

export const ministral3 = decoderFamily({
  modelTypes: ["ministral3"],
  names: LLAMA_NAMES,
  read(fields) {
    const rotary = fields.object("rope_parameters");
    const beta = rotary?.optional<number>(["llama_4_scaling_beta", "number"]);
    const period = rotary?.optional<number>(["original_max_position_embeddings", "size", 2 ** 26]);
    return {
      norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-5) },
      ...(beta !== undefined && period !== undefined && { query_growth: { beta, period } }),
    };
  },
  layers: { slides: () => true },
});

/** ERNIE 4.5's dense models (Baidu 2025): Llama with interleaved rotation, and biases everywhere where `use_bias` says so. */
import { requireValues } from "../../config/fields.ts";
import { decoderFamily, flag, LLAMA_NAMES, number } from "../recipe-family.ts";

export const ernie45 = decoderFamily({
  modelTypes: ["ernie4_5"],
  names: LLAMA_NAMES,
  sizes: { head_dim: 128, num_key_value_heads: 2 },
  read(fields) {
    // Baidu's own code divides positions by it.
    requireValues(fields, { compression_ratio: [1] });
    const bias = flag(fields, "use_bias", false);
    return {
      norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-5) },
      qkv_bias: bias,
      output_bias: bias,
      mlp_bias: bias,
    };
  },
  layers: { theta: 500_000, layout: "interleaved" },
});

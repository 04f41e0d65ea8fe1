/** Llama with interleaved rotation. */
import { requireValues } from "../../config/fields.ts";
import { decoderFamily, flag, LLAMA_NAMES, number } from "../recipe-family.ts";

/** GLM-4 (arXiv 2406.12793): norms before and after each branch, interleaved rotation of half a head, gate and up in one matrix. */
export const glm4 = decoderFamily({
  modelTypes: ["glm4"],
  names: {
    ...LLAMA_NAMES,
    attentionOutputNorm: "post_self_attn_layernorm",
    gate: undefined,
    up: undefined,
    gateUp: "mlp.gate_up_proj",
    feedForwardOutputNorm: "post_mlp_layernorm",
  },
  read: (fields) => ({
    norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1.5625e-7) },
    qkv_bias: flag(fields, "attention_bias", true),
  }),
  layers: { rotaryShare: 0.5, layout: "interleaved" },
});

/** ERNIE 4.5's dense models (Baidu 2025): biases everywhere where `use_bias` says so. */
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

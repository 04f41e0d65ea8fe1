/** GLM-4 (arXiv 2406.12793): norms before and after each branch, interleaved rotation of half a head, gate and up in one matrix. */
import { decoderFamily, flag, LLAMA_NAMES, number } from "../recipe-family.ts";

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

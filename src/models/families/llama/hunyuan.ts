/** Hunyuan's dense models (Tencent 2025): Llama with norms of q and k after their rotation, and a base of angles times a power of alpha. */
import { biases, decoderFamily, LLAMA_NAMES } from "../recipe-family.ts";

export const hunyuan = decoderFamily({
  modelTypes: ["hunyuan_v1_dense"],
  names: { ...LLAMA_NAMES, queryNorm: "self_attn.query_layernorm", keyNorm: "self_attn.key_layernorm" },
  read: (fields) => ({ qk_norm_last: true, ...biases(fields), mlp_bias: false }),
  layers: { alpha: true },
});

/**
 * Phi 1 and 2 (arXiv 2306.11644): parallel branches of one norm, partial rotation, biases everywhere. Phi-3 (arXiv 2404.14219):
 * Llama with one matrix for q, k and v and one for gate and up, partial rotation and LongRoPE.
 */
import { ALL_BIASES, decoderFamily, flag, LLAMA_NAMES, layerNorm, number } from "../recipe-family.ts";

const NAMES = {
  embedding: "model.embed_tokens",
  layer: "model.layers.*.",
  attentionNorm: "input_layernorm",
  query: "self_attn.q_proj",
  key: "self_attn.k_proj",
  value: "self_attn.v_proj",
  output: "self_attn.dense",
  up: "mlp.fc1",
  down: "mlp.fc2",
  finalNorm: "model.final_layernorm",
  head: "lm_head",
  headBias: "lm_head.bias",
};
const QK_NORMS = { queryNorm: "self_attn.q_layernorm", keyNorm: "self_attn.k_layernorm" };

export const phi = decoderFamily({
  modelTypes: ["phi"],
  names: NAMES,
  activation: "gelu_new",
  read: (fields) => ({
    names: { ...NAMES, ...(flag(fields, "qk_layernorm", false) && QK_NORMS) },
    norm: layerNorm(fields, "layer_norm_eps"),
    ...ALL_BIASES,
    parallel: true,
  }),
  layers: { rotaryShare: 0.5 },
});

export const phi3 = decoderFamily({
  modelTypes: ["phi3"],
  names: {
    ...LLAMA_NAMES,
    query: undefined,
    key: undefined,
    value: undefined,
    qkv: "self_attn.qkv_proj",
    gate: undefined,
    up: undefined,
    gateUp: "mlp.gate_up_proj",
  },
  read: (fields) => ({ norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-5) } }),
  layers: { slides: () => true, rotaryShare: 1 },
});

/** StarCoder 2 (arXiv 2402.19173): layer norms, biases, a plain feed-forward network, a window in every layer. */
import { decoderFamily, flag, LLAMA_NAMES, layerNorm } from "../recipe-family.ts";

export const starcoder2 = decoderFamily({
  modelTypes: ["starcoder2"],
  names: { ...LLAMA_NAMES, gate: undefined, up: "mlp.c_fc", down: "mlp.c_proj" },
  fields: { resid_pdrop: "residual_dropout" },
  activation: "gelu_pytorch_tanh",
  read(fields) {
    const bias = flag(fields, "use_bias", true);
    return { norm: layerNorm(fields, "norm_epsilon"), qkv_bias: bias, output_bias: bias, mlp_bias: bias };
  },
  layers: { slides: () => true },
});

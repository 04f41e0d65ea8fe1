/** EuroBERT (Boizard et al. 2025, arXiv 2503.05500): Llama's layers without the causal mask, trained to predict masked tokens. */
import { attentionBiases, encoderFamily, flag, LLAMA_NAMES, number } from "../recipe-family.ts";

export const eurobert = encoderFamily({
  modelTypes: ["eurobert"],
  names: LLAMA_NAMES,
  read(fields) {
    const bias = flag(fields, "mlp_bias", false);
    return {
      names: { ...LLAMA_NAMES, ...(bias && { headBias: "lm_head.bias" }) },
      norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-5) },
      ...attentionBiases(fields),
      mlp_bias: bias,
    };
  },
});

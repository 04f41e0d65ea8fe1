/** StableLM (arXiv 2402.17834): Llama with layer norms and partial rotation, some with parallel branches. */
import { requireValues } from "../../config/fields.ts";
import { decoderFamily, flag, LLAMA_NAMES, layerNorm } from "../recipe-family.ts";

export const stablelm = decoderFamily({
  modelTypes: ["stablelm"],
  names: LLAMA_NAMES,
  read(fields) {
    requireValues(fields, { qk_layernorm: [false] });
    const parallel = flag(fields, "use_parallel_residual", false);
    return {
      names: { ...LLAMA_NAMES, feedForwardNorm: parallel ? undefined : LLAMA_NAMES.feedForwardNorm },
      norm: layerNorm(fields, "layer_norm_eps"),
      qkv_bias: flag(fields, "use_qkv_bias", false),
      parallel,
    };
  },
  layers: { rotaryShare: 0.25 },
});

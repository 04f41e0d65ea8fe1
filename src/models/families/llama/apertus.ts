/** Apertus (Swiss AI 2025, arXiv 2509.14233): Llama with norms of q and k, and a feed-forward network of xIELU without a gate. */
import { attentionBiases, decoderFamily, LLAMA_NAMES, number, QK_NORMS } from "../recipe-family.ts";

const NAMES = {
  ...LLAMA_NAMES,
  ...QK_NORMS,
  attentionNorm: "attention_layernorm",
  feedForwardNorm: "feedforward_layernorm",
  gate: undefined,
};

export const apertus = decoderFamily({
  modelTypes: ["apertus"],
  names: NAMES,
  files: { ignored: /\.act_fn\.(?:beta|eps)$/ },
  activation: "xielu",
  read: (fields) => ({
    norm: { kind: "rms", eps: number(fields, "rms_norm_eps", 1e-5) },
    ...(fields.one<string>(["hidden_act", "text"], "xielu") === "xielu" && {
      names: { ...NAMES, activationFactors: "mlp.act_fn" },
    }),
    ...attentionBiases(fields),
  }),
  layers: { theta: 12_000_000 },
});

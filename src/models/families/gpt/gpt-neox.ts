/** GPT-NeoX (Black et al. 2022, arXiv 2204.06745) and Pythia: parallel branches, partial rotation, q, k and v of each head in one matrix. */
import { attentionBiases, decoderFamily, flag, layerNorm } from "../recipe-family.ts";

export const gptNeox = decoderFamily({
  modelTypes: ["gpt_neox"],
  names: {
    embedding: "gpt_neox.embed_in",
    layer: "gpt_neox.layers.*.",
    attentionNorm: "input_layernorm",
    qkv: "attention.query_key_value",
    output: "attention.dense",
    feedForwardNorm: "post_attention_layernorm",
    up: "mlp.dense_h_to_4h",
    down: "mlp.dense_4h_to_h",
    finalNorm: "gpt_neox.final_layer_norm",
    head: "embed_out",
  },
  // Causal masks that early versions stored.
  files: { ignored: /\.attention\.(bias|masked_bias)$/ },
  fields: { resid_pdrop: "hidden_dropout" },
  activation: "gelu",
  read: (fields) => ({
    norm: layerNorm(fields, "layer_norm_eps"),
    ...attentionBiases(fields, true),
    mlp_bias: true,
    qkv_layout: "groups",
    parallel: flag(fields, "use_parallel_residual", true),
  }),
  layers: { thetaField: "rotary_emb_base", rotaryShare: 0.25, rotaryShareField: "rotary_pct" },
});

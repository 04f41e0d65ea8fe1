/** OPT (Zhang et al. 2022, arXiv 2205.01068): learned positions after two unused rows, relu. */
import { requireValues } from "../../config/fields.ts";
import { decoderFamily, flag } from "../recipe-family.ts";

export const opt = decoderFamily({
  modelTypes: ["opt"],
  names: {
    embedding: "model.decoder.embed_tokens",
    positions: "model.decoder.embed_positions",
    layer: "model.decoder.layers.*.",
    attentionNorm: "self_attn_layer_norm",
    query: "self_attn.q_proj",
    key: "self_attn.k_proj",
    value: "self_attn.v_proj",
    output: "self_attn.out_proj",
    feedForwardNorm: "final_layer_norm",
    up: "fc1",
    down: "fc2",
    finalNorm: "model.decoder.final_layer_norm",
    head: "lm_head",
  },
  fields: { intermediate_size: "ffn_dim", hidden_act: "activation_function", resid_pdrop: "dropout" },
  activation: "relu",
  read(fields, { hidden_size, max_position_embeddings }) {
    requireValues(fields, {
      do_layer_norm_before: [true],
      _remove_final_layer_norm: [false],
      layer_norm_elementwise_affine: [true],
      word_embed_proj_dim: [hidden_size, null],
    });
    const bias = flag(fields, "enable_bias", true);
    return {
      norm: { kind: "layer", eps: 1e-5 },
      qkv_bias: bias,
      output_bias: bias,
      mlp_bias: bias,
      position_offset: 2,
      position_rows: max_position_embeddings + 2,
    };
  },
  layers: null,
});

/**
 * Falcon (arXiv 2311.16867): one or a few key heads in the matrix of all heads, parallel branches, rotary positions or ALiBi, which the
 * score's scale multiplies too. transformers rounds ALiBi's biases to bfloat16; heed does not.
 */
import { alibiSlopes } from "../../../masks/alibi.ts";
import type { TensorNames } from "../../transformer/config.ts";
import { decoderFamily, flag, layerNorm } from "../recipe-family.ts";

const NAMES: TensorNames = {
  embedding: "transformer.word_embeddings",
  layer: "transformer.h.*.",
  attentionNorm: "input_layernorm",
  qkv: "self_attention.query_key_value",
  output: "self_attention.dense",
  up: "mlp.dense_h_to_4h",
  down: "mlp.dense_4h_to_h",
  finalNorm: "transformer.ln_f",
  head: "lm_head",
};

export const falcon = decoderFamily({
  modelTypes: ["falcon"],
  names: NAMES,
  fields: {
    intermediate_size: "ffn_hidden_size",
    num_key_value_heads: "num_kv_heads",
    hidden_act: "activation",
    resid_pdrop: "hidden_dropout",
  },
  sizes: { intermediate_size: ({ hidden_size = 0 }) => 4 * hidden_size, max_position_embeddings: 2048 },
  activation: "gelu",
  read(fields, { num_attention_heads: H, num_key_value_heads: Hkv, head_dim: d }) {
    const isNew = flag(fields, "new_decoder_architecture", false);
    const parallel = isNew || flag(fields, "parallel_attn", true);
    const bias = flag(fields, "bias", false);
    const norms = fields.optional<number>(["num_ln_in_parallel_attn", "size", 2]) ?? (isNew ? 2 : 1);
    return {
      names: {
        ...NAMES,
        ...(!parallel && { feedForwardNorm: "post_attention_layernorm" }),
        ...(isNew && norms === 2 && { attentionNorm: "ln_attn", feedForwardNorm: "ln_mlp" }),
      },
      num_key_value_heads: isNew ? Hkv : flag(fields, "multi_query", true) ? 1 : H,
      norm: layerNorm(fields, "layer_norm_epsilon"),
      qkv_bias: bias,
      output_bias: bias,
      mlp_bias: bias,
      qkv_layout: "groups",
      parallel,
      ...(flag(fields, "alibi", false) && {
        alibi_slopes: Array.from(alibiSlopes(H), (slope) => slope / Math.sqrt(d)),
      }),
    };
  },
  layers: (fields) => (flag(fields, "alibi", false) ? null : {}),
});

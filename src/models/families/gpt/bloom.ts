/** BLOOM (arXiv 2211.05100) and MPT: ALiBi in place of positions (Press et al. 2022, arXiv 2108.12409). */

import { alibiSlopes } from "../../../masks/alibi.ts";
import { requireValues } from "../../config/fields.ts";
import { ALL_BIASES, decoderFamily, layerNorm } from "../recipe-family.ts";

const sizes = { intermediate_size: ({ hidden_size = 0 }) => 4 * hidden_size, max_position_embeddings: 2048 };

export const bloom = decoderFamily({
  modelTypes: ["bloom"],
  names: {
    embedding: "transformer.word_embeddings",
    embeddingNorm: "transformer.word_embeddings_layernorm",
    layer: "transformer.h.*.",
    attentionNorm: "input_layernorm",
    qkv: "self_attention.query_key_value",
    output: "self_attention.dense",
    feedForwardNorm: "post_attention_layernorm",
    up: "mlp.dense_h_to_4h",
    down: "mlp.dense_4h_to_h",
    finalNorm: "transformer.ln_f",
    head: "lm_head",
  },
  fields: {
    hidden_size: "n_embed",
    num_hidden_layers: "n_layer",
    num_attention_heads: "n_head",
    max_position_embeddings: "seq_length",
    resid_pdrop: "hidden_dropout",
  },
  sizes,
  read(fields, { num_attention_heads }) {
    // The slow path of transformers leaves out the biases of its outputs.
    requireValues(fields, { apply_residual_connection_post_layernorm: [false], slow_but_exact: [false] });
    return {
      norm: layerNorm(fields, "layer_norm_epsilon"),
      hidden_act: "gelu_new",
      ...ALL_BIASES,
      qkv_layout: "groups",
      alibi_slopes: [...alibiSlopes(num_attention_heads)],
    };
  },
  layers: null,
});

export const mpt = decoderFamily({
  modelTypes: ["mpt"],
  names: {
    embedding: "transformer.wte",
    layer: "transformer.blocks.*.",
    attentionNorm: "norm_1",
    qkv: "attn.Wqkv",
    output: "attn.out_proj",
    feedForwardNorm: "norm_2",
    up: "ffn.up_proj",
    down: "ffn.down_proj",
    finalNorm: "transformer.norm_f",
    head: "lm_head",
  },
  fields: {
    hidden_size: "d_model",
    num_hidden_layers: "n_layers",
    num_attention_heads: "n_heads",
    max_position_embeddings: "max_seq_len",
  },
  sizes,
  read(fields, { num_attention_heads: H }) {
    requireValues(fields, { no_bias: [true], expansion_ratio: [4], logit_scale: [null] });
    const attention = fields.object("attn_config");
    if (attention)
      requireValues(attention, {
        alibi: [true],
        attn_type: ["multihead_attention"],
        clip_qkv: [null],
        prefix_lm: [false],
        qk_ln: [false],
        softmax_scale: [null],
      });
    return {
      norm: layerNorm(fields, "layer_norm_epsilon", { bias: false }),
      hidden_act: "gelu",
      alibi_slopes: mptSlopes(H, attention?.optional<number>(["alibi_bias_max", "size", 1024]) ?? 8),
    };
  },
  layers: null,
});

/** MPT's slopes: those of the next power of two, every second one first. */
function mptSlopes(heads: number, maximum: number): number[] {
  const n = 2 ** Math.ceil(Math.log2(heads));
  const slopes = Array.from({ length: n }, (_, i) => 2 ** ((-(i + 1) * maximum) / n));
  if (n === heads) return slopes;
  const half = (parity: number) => slopes.filter((_, i) => i % 2 === parity);
  return [...half(1), ...half(0)].slice(0, heads);
}

/** NomicBERT (Nussbaum et al. 2024, arXiv 2402.01613): BERT with rotary positions, a gated feed-forward network, and no biases in its layers. */
import { requireValues } from "../../config/fields.ts";
import { encoderFamily, number } from "../recipe-family.ts";

/** The family; the names of fields are those of its first files, and of transformers 5. */
export const nomicBert = encoderFamily({
  modelTypes: ["nomic_bert"],
  names: {
    embedding: "nomic_bert.embeddings.word_embeddings",
    types: "nomic_bert.embeddings.token_type_embeddings",
    embeddingNorm: "nomic_bert.emb_ln",
    layer: "nomic_bert.encoder.layers.*.",
    qkv: "attn.Wqkv",
    output: "attn.out_proj",
    attentionSumNorm: "norm1",
    gate: "mlp.fc12",
    up: "mlp.fc11",
    down: "mlp.fc2",
    feedForwardSumNorm: "norm2",
    head: "cls.predictions.decoder",
    headBias: "cls.predictions.bias",
    headMap: "cls.predictions.transform.dense",
    headNorm: "cls.predictions.transform.layer_norm",
  },
  fields: {
    hidden_size: "n_embd",
    num_hidden_layers: "n_layer",
    num_attention_heads: "n_head",
    intermediate_size: "n_inner",
    max_position_embeddings: "n_positions",
  },
  read(fields) {
    requireValues(fields, {
      activation_function: ["swiglu"],
      prenorm: [false],
      parallel_block: [false],
      rotary_emb_fraction: [1],
      rotary_emb_interleaved: [false],
      rotary_emb_scale_base: [null],
      rotary_scaling_factor: [null],
      qkv_proj_bias: [false],
      mlp_fc1_bias: [false],
      mlp_fc2_bias: [false],
      use_rms_norm: [false],
    });
    const eps = number(fields, "layer_norm_eps", 1e-12);
    return {
      norm: { kind: "layer", eps: number(fields, "layer_norm_epsilon", eps) },
      type_vocab_size: fields.one<number>(["type_vocab_size", "size", 1024], 2),
      pad_token_id: fields.one<number>(["pad_token_id", "id"], 0),
    };
  },
  layers: { theta: 1000, thetaField: "rotary_emb_base" },
});

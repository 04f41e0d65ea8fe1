/**
 * T5 (Raffel et al. 2020, arXiv 1910.10683), FLAN-T5, and mT5: relative positions shared by the layers of a part, no scale of
 * scores, norms without a mean; a gated feed-forward network from version 1.1 on.
 */
import type { Fields } from "../../config/fields.ts";
import type { EncoderConfig, TensorNames } from "../../transformer/config.ts";
import { flag, number } from "../recipe-family.ts";
import { encoderDecoderFamily, size } from "./family.ts";

/** Relative positions have no limit of their own; texts of this many tokens are read. */
const POSITIONS = 4096;

function namesOf(part: "encoder" | "decoder", gated: boolean): TensorNames {
  const inner = part === "encoder" ? "layer.1" : "layer.2";
  const attention = (at: string) => ({
    query: `${at}.q`,
    key: `${at}.k`,
    value: `${at}.v`,
    output: `${at}.o`,
  });
  const cross = attention("layer.1.EncDecAttention");
  return {
    embedding: "shared",
    layer: `${part}.block.*.`,
    relative: `${part}.block.0.layer.0.SelfAttention.relative_attention_bias`,
    attentionNorm: "layer.0.layer_norm",
    ...attention("layer.0.SelfAttention"),
    ...(part === "decoder" && {
      crossNorm: "layer.1.layer_norm",
      crossQuery: cross.query,
      crossKey: cross.key,
      crossValue: cross.value,
      crossOutput: cross.output,
    }),
    feedForwardNorm: `${inner}.layer_norm`,
    ...(gated && { gate: `${inner}.DenseReluDense.wi_0` }),
    up: `${inner}.DenseReluDense.${gated ? "wi_1" : "wi"}`,
    down: `${inner}.DenseReluDense.wo`,
    finalNorm: `${part}.final_layer_norm`,
    head: "lm_head",
  };
}

/** The activation of a `feed_forward_proj`, and whether it is gated. */
function activationOf(fields: Fields): { readonly gated: boolean; readonly hidden_act: string } {
  const text = fields.one<string>(["feed_forward_proj", "text"], "relu");
  const gated = text.startsWith("gated-");
  const name = gated ? text.slice("gated-".length) : text;
  return { gated, hidden_act: text === "gated-gelu" ? "gelu_new" : name };
}

export const t5 = encoderDecoderFamily({
  modelTypes: ["t5", "mt5"],
  files: { ignored: /^(encoder|decoder)\.embed_tokens\.weight$|EncDecAttention\.relative_attention_bias/ },
  read(fields, model_type) {
    const { gated, hidden_act } = activationOf(fields);
    const C = size(fields, "d_model", "width");
    const heads = size(fields, "num_heads", "heads");
    const dropout = fields.one<number>(["dropout_rate", "share"], 0.1);
    const layers = size(fields, "num_layers", "layers");
    const part = (which: "encoder" | "decoder", count: number): EncoderConfig => ({
      model_type,
      vocab_size: size(fields, "vocab_size", "vocabulary"),
      hidden_size: C,
      intermediate_size: size(fields, "d_ff", "inner"),
      num_attention_heads: heads,
      num_key_value_heads: heads,
      head_dim: size(fields, "d_kv", "width"),
      max_position_embeddings: POSITIONS,
      layers: Array.from({ length: count }, () => ({})),
      names: namesOf(which, gated),
      norm: { kind: "rms", eps: number(fields, "layer_norm_epsilon", 1e-6) },
      hidden_act,
      qkv_bias: false,
      output_bias: false,
      mlp_bias: false,
      query_scale: 1,
      relative_buckets: size(fields, "relative_attention_num_buckets", "positions", 32),
      relative_distance: size(fields, "relative_attention_max_distance", "positions", 128),
      initializer_range: 0.05,
      embd_pdrop: dropout,
      attention_dropout: dropout,
      resid_pdrop: dropout,
    });
    // T5 scales the logits unless its config says so, or that the output is not the embedding (transformers 4); mT5 never does.
    const isTied = fields.value("tie_word_embeddings") !== false;
    const scaled = model_type === "t5" && flag(fields, "scale_decoder_outputs", isTied);
    return {
      encoder: part("encoder", layers),
      decoder: {
        ...part("decoder", size(fields, "num_decoder_layers", "layers", layers)),
        ...(scaled && { logit_scale: C ** -0.5 }),
      },
    };
  },
});

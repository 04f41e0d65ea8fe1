/**
 * GPT-2 (Radford et al. 2019), a decoder: every token attends to itself and to earlier tokens, and predicts the next token.
 * Parameters have the names and layouts of Hugging Face's GPT2LMHeadModel: weights of the layers are [in, out] (its `Conv1D`),
 * the transpose of a linear layer's.
 *
 *     x = embedding[id] + position
 *     x = x + W·heads(softmax(q·kᵀ / √d, causal)·v)        with q, k, v = W·norm(x)
 *     x = x + W₂·gelu(W₁·norm(x))                          gelu by tanh
 *     logits = embedding·norm(x)                           the embedding is the output matrix too
 */
import { checkCount } from "../../../core/errors.ts";
import type { Rule } from "../../config/fields.ts";
import { LIMITS } from "../../config/schema.ts";
import type { Gpt2Config } from "../../config/types.ts";
import { Decoder } from "../../decoder/decoder.ts";
import type { DecoderConfig } from "../../transformer/config.ts";
import type { StartOptions } from "../../transformer/parameters.ts";
import { classFamily, completed } from "../class-family.ts";
import { ALL_BIASES } from "../recipe-family.ts";

const REQUIRED: readonly Rule[] = [
  ["vocab_size", "size", LIMITS.vocabulary],
  ["n_positions", "size", LIMITS.vocabulary],
  ["n_embd", "size", LIMITS.width],
  ["n_layer", "size", LIMITS.layers],
  ["n_head", "size", LIMITS.heads],
];
const SCHEMA = {
  fields: [
    ...REQUIRED,
    ["n_inner", "size", LIMITS.inner],
    ["activation_function", "text"],
    ["layer_norm_epsilon", "number"],
    ["embd_pdrop", "share"],
    ["attn_pdrop", "share"],
    ["resid_pdrop", "share"],
    ["initializer_range", "number"],
    ["tie_word_embeddings", "flag"],
    ["bos_token_id", "id"],
    ["eos_token_id", "id"],
  ] as readonly Rule[],
  required: REQUIRED.map(([name]) => name),
  width: "n_embd",
  heads: "n_head",
  activation: "activation_function",
};
const DEFAULTS = {
  activation_function: "gelu_new",
  layer_norm_epsilon: 1e-5,
  embd_pdrop: 0,
  attn_pdrop: 0,
  resid_pdrop: 0,
  initializer_range: 0.02,
  tie_word_embeddings: true,
};
const NAMES = {
  embedding: "transformer.wte",
  positions: "transformer.wpe",
  layer: "transformer.h.*.",
  attentionNorm: "ln_1",
  qkv: "attn.c_attn",
  output: "attn.c_proj",
  feedForwardNorm: "ln_2",
  up: "mlp.c_fc",
  down: "mlp.c_proj",
  finalNorm: "transformer.ln_f",
  head: "lm_head",
};

function recipe(config: Gpt2Config): DecoderConfig {
  const fields = completed("gpt2", SCHEMA, config, DEFAULTS);
  const { n_embd: C, n_head: H, n_layer: layers, initializer_range } = fields;
  const { tie_word_embeddings, eos_token_id } = config;
  return {
    model_type: "gpt2",
    vocab_size: fields.vocab_size,
    hidden_size: C,
    intermediate_size: fields.n_inner ?? 4 * C,
    num_attention_heads: H,
    num_key_value_heads: H,
    head_dim: C / H,
    max_position_embeddings: fields.n_positions,
    layers: Array.from({ length: layers }, () => ({})),
    names: NAMES,
    norm: { kind: "layer", eps: fields.layer_norm_epsilon },
    hidden_act: fields.activation_function,
    ...ALL_BIASES,
    transposed: true,
    ...(tie_word_embeddings !== undefined && { tie_word_embeddings }),
    initializer_range,
    // The 2·layers projections that add to the residual stream are initialized smaller (Radford et al. 2019, 2.3).
    residual_range: initializer_range / Math.sqrt(2 * layers),
    embd_pdrop: fields.embd_pdrop,
    attention_dropout: fields.attn_pdrop,
    resid_pdrop: fields.resid_pdrop,
    eos_token_ids: eos_token_id == null ? [] : [eos_token_id],
  };
}

/**
 * The decoder.
 *
 * @example
 * const { model } = await readModel(locateShipped("decoder")); // a Gpt2
 * model.forward(tensor([[1, 2, 3]], "int32")).shape; // → [1, 3, 1024]
 */
export class Gpt2 extends Decoder<Gpt2Config> {
  /** A model with the weights given, or with new ones from a seed: normal with standard deviation 0.02, GPT-2's initialization. */
  constructor(config: Gpt2Config, options: StartOptions = {}) {
    checkCount("Gpt2", arguments, 2);
    super(recipe(config), options, config, "Gpt2");
  }
}

export const gpt2 = classFamily<Gpt2Config>({
  type: "gpt2",
  architecture: "GPT2LMHeadModel",
  schema: SCHEMA,
  defaults: DEFAULTS,
  // Causal masks that early versions stored.
  files: { ignored: /\.attn\.(bias|masked_bias)$/ },
  recipe,
  make: (config, options) => new Gpt2(config, options),
});

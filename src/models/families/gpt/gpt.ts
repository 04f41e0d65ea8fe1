/** GPT-J (parallel branches, interleaved rotation of a part of each head) and GPT-Neo (windows in every second layer, unscaled scores). */
import type { Fields } from "../../config/fields.ts";
import { decoderFamily, layerNorm, type RecipeFamily } from "../recipe-family.ts";

// Causal masks that early versions stored.
const files = { ignored: /\.(attn|attention)\.(bias|masked_bias)$/ };
const inner = { intermediate_size: ({ hidden_size = 0 }) => 4 * hidden_size };

const GPTJ = {
  modelTypes: ["gptj"],
  names: {
    embedding: "transformer.wte",
    layer: "transformer.h.*.",
    attentionNorm: "ln_1",
    query: "attn.q_proj",
    key: "attn.k_proj",
    value: "attn.v_proj",
    output: "attn.out_proj",
    up: "mlp.fc_in",
    down: "mlp.fc_out",
    finalNorm: "transformer.ln_f",
    head: "lm_head",
    headBias: "lm_head.bias",
  },
  files,
  fields: {
    hidden_size: "n_embd",
    intermediate_size: "n_inner",
    num_hidden_layers: "n_layer",
    num_attention_heads: "n_head",
    max_position_embeddings: "n_positions",
    hidden_act: "activation_function",
    attention_dropout: "attn_pdrop",
  },
  sizes: inner,
  activation: "gelu_new",
  read: (fields: Fields) => ({
    norm: layerNorm(fields, "layer_norm_epsilon"),
    mlp_bias: true,
    parallel: true,
  }),
  layers: (fields, { head_dim }) => ({
    rotaryDim: fields.one<number>(["rotary_dim", "size", 2 ** 14], Math.min(64, head_dim)),
    layout: "interleaved",
  }),
} satisfies RecipeFamily;

export const gptj = decoderFamily(GPTJ);

/** CodeGen (arXiv 2203.13474): GPT-J whose q, v and k are one matrix, in four parts for the four devices that it was trained on. */
export const codegen = decoderFamily({
  ...GPTJ,
  modelTypes: ["codegen"],
  names: { ...GPTJ.names, query: undefined, key: undefined, value: undefined, qkv: "attn.qkv_proj" },
  files: { ignored: /\.attn\.causal_mask$/ },
  read(fields, sizes) {
    const { num_attention_heads: H } = sizes;
    if (H % 4 !== 0) fields.refuse("n_head", `must be a multiple of 4, got ${H}`);
    return { ...GPTJ.read(fields), qkv_layout: "quarters" };
  },
});

export const gptNeo = decoderFamily({
  modelTypes: ["gpt_neo"],
  names: {
    embedding: "transformer.wte",
    positions: "transformer.wpe",
    layer: "transformer.h.*.",
    attentionNorm: "ln_1",
    query: "attn.attention.q_proj",
    key: "attn.attention.k_proj",
    value: "attn.attention.v_proj",
    output: "attn.attention.out_proj",
    feedForwardNorm: "ln_2",
    up: "mlp.c_fc",
    down: "mlp.c_proj",
    finalNorm: "transformer.ln_f",
    head: "lm_head",
  },
  files,
  fields: {
    num_hidden_layers: "num_layers",
    num_attention_heads: "num_heads",
    hidden_act: "activation_function",
    resid_pdrop: "resid_dropout",
  },
  sizes: inner,
  activation: "gelu_new",
  read: (fields) => ({
    norm: layerNorm(fields, "layer_norm_epsilon"),
    output_bias: true,
    mlp_bias: true,
    query_scale: 1,
  }),
  layers(fields, { num_hidden_layers: count }) {
    const kinds = attentionKinds(fields);
    if (kinds.length !== count) fields.refuse("attention_types", `must describe ${count} layers`);
    const window = fields.one<number>(["window_size", "size", 2 ** 30], 256);
    return { window, slides: (layer) => kinds[layer] === "local", rotates: () => false };
  },
});

/** Kinds of the layers: [[["global", "local"], 12]] repeats the two 12 times. */
function attentionKinds(fields: Fields): string[] {
  const groups = fields.value("attention_types") ?? [[["global", "local"], 12]];
  const refuse = () => fields.refuse("attention_types", "must be a list of [[kind, …], count]");
  if (!Array.isArray(groups)) return refuse();
  return groups.flatMap((group) => {
    const [kinds, count] = Array.isArray(group) ? group : [];
    const isValid = Array.isArray(kinds) && kinds.every((kind) => kind === "global" || kind === "local");
    if (!isValid || !Number.isInteger(count) || (count as number) < 1 || (count as number) > 1024)
      return refuse();
    return Array.from({ length: count as number }, () => kinds as string[]).flat();
  });
}

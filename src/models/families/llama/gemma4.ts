/**
 * Gemma 4's text part (transformers, `models/gemma4`): norms of q, k and v, other heads in layers without a window, last layers that
 * read the keys and values of an earlier one, and a second embedding of some numbers for each layer.
 */
import { type Fields, type FixedValues, requireValues } from "../../config/fields.ts";
import { readLayers } from "../../config/layers.ts";
import { LIMITS } from "../../config/schema.ts";
import type { LayerConfig } from "../../transformer/config.ts";
import { decoderFamily, flag, QK_NORMS, type Sizes } from "../recipe-family.ts";
import { GEMMA_NAMES, readGemma, withParts } from "./gemma.ts";

/** Layers of Gemma 4: those without a window have other heads, and the last ones read the keys of the last earlier one of their kind. */
function layers4(fields: Fields, sizes: Sizes): LayerConfig[] {
  const { num_hidden_layers: layers, head_dim, max_position_embeddings: positions } = sizes;
  const each = fields.object("per_layer_config");
  const full = each?.object(String(layers - 1)) ?? fields;
  const size = (from: Fields, name: string, otherwise: number) =>
    from.optional<number>([name, "size", LIMITS.heads * 512]) ?? otherwise;
  const isAlone = flag(fields, "attention_k_eq_v", false);
  const fullHeadSize = each ? size(full, "head_dim", head_dim) : size(fields, "global_head_dim", 512);
  const keyHeads = each
    ? size(full, "num_key_value_heads", sizes.num_key_value_heads)
    : isAlone
      ? size(fields, "num_global_key_value_heads", sizes.num_key_value_heads)
      : sizes.num_key_value_heads;
  const read = readLayers(
    fields,
    { layers, head_dim, positions },
    {
      window: 512,
      slides: (layer) => (layer + 1) % 6 !== 0,
      theta: 1e6,
      localAngles: { field: "rope_local_base_freq", theta: 10_000 },
      fullHeadSize,
    },
  );
  const shared = fields.one<number>(["num_kv_shared_layers", "id"], 0);
  const wide = flag(fields, "use_double_wide_mlp", false);
  const first = layers - shared;
  return read.map((layer, n): LayerConfig => {
    const isFull = layer.window === undefined;
    const keys_of = read.findLastIndex((other, m) => m < first && (other.window === undefined) === isFull);
    if (n >= first && keys_of < 0)
      fields.refuse("num_kv_shared_layers", `leaves layer ${n} no earlier layer of its kind`);
    return {
      ...layer,
      ...(isFull && { head_dim: fullHeadSize, num_key_value_heads: keyHeads, values_are_keys: isAlone }),
      ...(n >= first && { keys_of, ...(wide && { intermediate_size: 2 * sizes.intermediate_size }) }),
    };
  });
}

/** What heed computes of it: no experts, and causal attention. */
const TEXT: FixedValues = {
  enable_moe_block: [false, null],
  use_bidirectional_attention: [false, null, "vision"],
};

/** The family: the text part of Gemma 4, without mixtures of experts. */
export const gemma4 = withParts(
  decoderFamily({
    modelTypes: ["gemma4_text"],
    names: {
      ...GEMMA_NAMES,
      ...QK_NORMS,
      layerEmbedding: "model.embed_tokens_per_layer",
      layerEmbeddingMap: "model.per_layer_model_projection",
      layerEmbeddingNorm: "model.per_layer_projection_norm",
      layerInputGate: "per_layer_input_gate",
      layerInputOutput: "per_layer_projection",
      layerInputNorm: "post_per_layer_input_norm",
      layerScale: "layer_scalar",
    },
    files: {
      renames: [[/^model\.language_model\./, "model."]],
      otherHeads: /^model\.((vision|audio)_tower|embed_(vision|audio))\./,
      // Of layers that read the keys of another.
      unused: /\.self_attn\.[kv]_(proj|norm)\.weight$/,
    },
    sizes: {
      vocab_size: 262_144,
      hidden_size: 2304,
      intermediate_size: 9216,
      num_hidden_layers: 30,
      num_attention_heads: 8,
      num_key_value_heads: 4,
      head_dim: 256,
      max_position_embeddings: 131_072,
    },
    read(fields, sizes) {
      requireValues(fields, TEXT);
      const { query_scale: _, norm, ...config } = readGemma(fields, sizes);
      return {
        ...config,
        norm: { ...norm, weight: "plain" },
        query_scale: 1,
        value_norm: true,
        layer_input_size: fields.one<number>(["hidden_size_per_layer_input", "id"], 256),
        layers: layers4(fields, sizes),
      };
    },
    layers: null,
  }),
  "gemma4",
);

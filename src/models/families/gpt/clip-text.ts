/** The tower of CLIP (arXiv 2103.00020) that reads texts: GPT-2's layers with a causal mask, without a head that predicts tokens. */

import { clipLayers } from "../../images/families.ts";
import type { DecoderConfig } from "../../transformer/config.ts";
import type { Family } from "../family.ts";
import { ALL_BIASES, decoderFamily, layerNorm } from "../recipe-family.ts";

const family = decoderFamily({
  modelTypes: ["clip_text_model", "clip"],
  names: {
    embedding: "text_model.embeddings.token_embedding",
    positions: "text_model.embeddings.position_embedding",
    ...clipLayers("text_model"),
    finalNorm: "text_model.final_layer_norm",
  },
  files: { ignored: /^(?:vision_model\.|text_projection|visual_projection|logit_scale)/ },
  sizes: {
    vocab_size: 49_408,
    max_position_embeddings: 77,
    hidden_size: 512,
    num_attention_heads: 8,
    num_hidden_layers: 12,
    intermediate_size: 2048,
  },
  activation: "quick_gelu",
  read: (fields) => ({
    norm: layerNorm(fields, "layer_norm_eps"),
    ...ALL_BIASES,
    // It predicts nothing.
    tie_word_embeddings: false,
  }),
  layers: null,
});

/** The family. A `clip` has two towers: readImageModel opens the other one. */
export const clipText: Family<DecoderConfig> = {
  ...family,
  read: (fields) => family.read(fields.object("text_config") ?? fields, "clip_text_model"),
};

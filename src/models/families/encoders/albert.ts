/** ALBERT (Lan et al. 2020, arXiv 1909.11942): BERT whose layers share one set of weights, after narrower embeddings. */
import { requireValues } from "../../config/fields.ts";
import { LIMITS } from "../../config/schema.ts";
import { encoderFamily, number } from "../recipe-family.ts";
import { bertEmbeddings, bertNames, DROPOUT } from "./bert-fields.ts";

export const albert = encoderFamily({
  modelTypes: ["albert"],
  names: {
    ...bertNames("albert"),
    embeddingMap: "albert.encoder.embedding_hidden_mapping_in",
    layer: "albert.encoder.albert_layer_groups.0.albert_layers.0.",
    query: "attention.query",
    key: "attention.key",
    value: "attention.value",
    output: "attention.dense",
    attentionSumNorm: "attention.LayerNorm",
    up: "ffn",
    down: "ffn_output",
    feedForwardSumNorm: "full_layer_layer_norm",
    head: "predictions.decoder",
    headBias: "predictions.bias",
    headMap: "predictions.dense",
    headNorm: "predictions.LayerNorm",
  },
  files: { otherHeads: /^(albert\.)?sop_classifier\./ },
  fields: DROPOUT,
  activation: "gelu_new",
  read(fields) {
    requireValues(fields, { num_hidden_groups: [1], inner_group_num: [1] });
    return {
      norm: { kind: "layer", eps: number(fields, "layer_norm_eps", 1e-12) },
      embedding_size: fields.one<number>(["embedding_size", "size", LIMITS.width], 128),
      ...bertEmbeddings(fields),
    };
  },
  layers: null,
});

/**
 * ModernBERT (Warner et al. 2024, arXiv 2412.13663): norms before each branch, rotary positions, a gated feed-forward network; two
 * of three layers see 64 tokens on each side, with angles of their own.
 */
import type { TensorNames } from "../../transformer/config.ts";
import { encoderFamily, flag, layerNorm } from "../recipe-family.ts";

const NAMES: TensorNames = {
  embedding: "model.embeddings.tok_embeddings",
  embeddingNorm: "model.embeddings.norm",
  layer: "model.layers.*.",
  attentionNorm: "attn_norm",
  qkv: "attn.Wqkv",
  output: "attn.Wo",
  feedForwardNorm: "mlp_norm",
  gateUp: "mlp.Wi",
  down: "mlp.Wo",
  finalNorm: "model.final_norm",
  head: "decoder",
  headBias: "decoder.bias",
  headMap: "head.dense",
  headNorm: "head.norm",
  spanMap: "head.dense",
  spanNorm: "head.norm",
};
/** Heads for every task but masked tokens have this name; the class says what a head is for. */
const TASK_HEAD = "classifier";

export const modernbert = encoderFamily({
  modelTypes: ["modernbert"],
  names: NAMES,
  fields: { hidden_act: "hidden_activation", resid_pdrop: "mlp_dropout" },
  activation: "gelu",
  read(fields) {
    const bias = flag(fields, "attention_bias", false);
    const headBias = flag(fields, "decoder_bias", true) ? NAMES.headBias : undefined;
    const span = /ForQuestionAnswering$/.test(String(fields.value("architectures"))) ? TASK_HEAD : undefined;
    return {
      names: { ...NAMES, headBias, span },
      norm: layerNorm(fields, "norm_eps", { bias: flag(fields, "norm_bias", false) }),
      head_act: fields.one<string>(["classifier_activation", "text"], "gelu"),
      head_map_bias: flag(fields, "classifier_bias", false),
      qkv_bias: bias,
      output_bias: bias,
      mlp_bias: flag(fields, "mlp_bias", false),
      embd_pdrop: fields.one<number>(["embedding_dropout", "share"], 0),
    };
  },
  layers(fields) {
    const period = fields.one<number>(["global_attn_every_n_layers", "size", 1024], 3);
    const width = fields.one<number>(["local_attention", "size", 2 ** 30], 128);
    return {
      window: Math.floor(width / 2) + 1,
      slides: (layer) => layer % period !== 0,
      normalizes: (layer) => layer > 0,
      theta: 160_000,
      thetaField: "global_rope_theta",
      localAngles: { field: "local_rope_theta", theta: 10_000 },
    };
  },
});

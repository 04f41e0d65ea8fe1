/**
 * DistilBERT (Sanh et al. 2019, arXiv 1910.01108): BERT's layers, half as many, without token types. Parameters have the names of
 * Hugging Face's DistilBertForMaskedLM.
 *
 *     x = norm(embedding[id] + position)
 *     x = layers(x)                                        encoder.ts
 *     logits = output·norm(activation(W·x)) + b            the output matrix is the embedding unless the file has its own
 */
import { add, type FloatTensor, type Ids } from "../../nn/index.ts";
import { checkConfig, type DistilbertConfig } from "../config/config.ts";
import type { Plan } from "../files/parameters.ts";
import { Encoder, type EncoderStart, type LayerNames, Planner } from "./encoder.ts";

const EMBEDDINGS = "distilbert.embeddings";
/** Epsilon of every norm; the config has no field for it. */
const EPS = 1e-12;

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel("./distilbert-base-uncased", { family: "distilbert" }); // a Distilbert
 */
export class Distilbert extends Encoder {
  readonly type = "distilbert";
  readonly config: DistilbertConfig;

  /** A model with the weights given, or with new ones from a seed. */
  constructor(config: DistilbertConfig, options: EncoderStart = {}) {
    checkConfig({ type: "distilbert", config });
    const { dim: width, n_heads: heads } = config;
    const sizes = {
      layers: config.n_layers,
      heads,
      keyHeads: heads,
      headSize: width / heads,
      width,
      vocabulary: config.vocab_size,
      positions: config.max_position_embeddings,
    };
    const constants = {
      inner: config.hidden_dim,
      activation: config.activation ?? "gelu",
      eps: EPS,
      dropout: config.dropout ?? 0,
      attentionDropout: config.attention_dropout ?? 0,
    };
    super("Distilbert", distilbertPlan(config, options.hasHead), sizes, constants, options);
    this.config = { ...config };
  }

  protected layerNames(layer: number): LayerNames {
    return distilbertLayerNames(layer);
  }

  protected embed(ids: Ids): FloatTensor {
    const words = this.weights.lookup(ids, `${EMBEDDINGS}.word_embeddings.weight`); // [..., N, C]
    const places = this.positions(
      `${EMBEDDINGS}.position_embeddings.weight`,
      words.shape[words.shape.length - 2],
    );
    return this.drop(this.norm(`${EMBEDDINGS}.LayerNorm`, add(words, places)));
  }

  protected predict(hidden: FloatTensor): FloatTensor {
    const x = this.norm("vocab_layer_norm", this.activate(this.linear("vocab_transform", hidden)));
    const own = "vocab_projector.weight";
    const matrix = this.weights.has(own) ? own : `${EMBEDDINGS}.word_embeddings.weight`;
    return this.weights.linear(x, matrix, "vocab_projector.bias");
  }
}

function distilbertLayerNames(layer: number): LayerNames {
  const place = `distilbert.transformer.layer.${layer}`;
  return {
    query: `${place}.attention.q_lin`,
    key: `${place}.attention.k_lin`,
    value: `${place}.attention.v_lin`,
    output: `${place}.attention.out_lin`,
    outputNorm: `${place}.sa_layer_norm`,
    inner: `${place}.ffn.lin1`,
    outer: `${place}.ffn.lin2`,
    norm: `${place}.output_layer_norm`,
  };
}

/** Every parameter of a DistilBERT with its shape and initialization. */
export function distilbertPlan(config: DistilbertConfig, hasHead = true): Plan {
  const { vocab_size, dim: C } = config;
  const planner = new Planner(config.initializer_range);
  planner.table(`${EMBEDDINGS}.word_embeddings.weight`, vocab_size, C, config.pad_token_id ?? 0);
  planner.table(`${EMBEDDINGS}.position_embeddings.weight`, config.max_position_embeddings, C);
  planner.norm(`${EMBEDDINGS}.LayerNorm`, C);
  for (let layer = 0; layer < config.n_layers; layer++)
    planner.layer(distilbertLayerNames(layer), C, config.hidden_dim);
  if (hasHead) {
    planner.linear("vocab_transform", C, C);
    planner.norm("vocab_layer_norm", C);
    planner.bias("vocab_projector", vocab_size);
    if (config.tie_word_embeddings === false) planner.table("vocab_projector.weight", vocab_size, C);
  }
  return planner.plan;
}

/**
 * BERT (Devlin et al. 2018, arXiv 1810.04805), an encoder that predicts masked tokens. Parameters have the names of Hugging
 * Face's BertForMaskedLM.
 *
 *     x = norm(embedding[id] + position + type)
 *     x = layers(x)                                        encoder.ts
 *     logits = output·norm(gelu(W·x)) + b                  the output matrix is the embedding unless the file has its own
 */
import { add, type FloatTensor, type Ids } from "../../nn/index.ts";
import { type BertConfig, checkConfig } from "../config/config.ts";
import type { Plan } from "../files/parameters.ts";
import {
  bertLayerNames,
  Encoder,
  type EncoderOptions,
  type EncoderStart,
  type LayerNames,
  Planner,
} from "./encoder.ts";
import type { ModelSizes } from "./model.ts";

/** How to run a BERT. */
export type BertOptions = EncoderOptions;

const EMBEDDINGS = "bert.embeddings";
const HEAD = "cls.predictions";

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel(locateShipped("encoder")); // a Bert
 * model.hidden(tensor([[1, 2, 3]], "int32")).shape; // → [1, 3, 128]
 */
export class Bert extends Encoder {
  readonly type = "bert";
  readonly config: BertConfig;

  /** A model with the weights given, or with new ones from a seed: normal with standard deviation 0.02, BERT's initialization. */
  constructor(config: BertConfig, options: EncoderStart = {}) {
    checkConfig({ type: "bert", config });
    const plan = bertPlan(config, options.hasHead);
    super("Bert", plan, encoderSizes(config), encoderConstants(config), options);
    this.config = { ...config };
  }

  protected layerNames(layer: number): LayerNames {
    return bertLayerNames(`bert.encoder.layer.${layer}`);
  }

  protected embed(ids: Ids, { typeIds }: EncoderOptions): FloatTensor {
    const words = this.weights.lookup(ids, `${EMBEDDINGS}.word_embeddings.weight`); // [..., N, C]
    const N = words.shape[words.shape.length - 2];
    const places = this.positions(`${EMBEDDINGS}.position_embeddings.weight`, N);
    const types = this.weights.lookup(
      typeIds ?? new Int32Array(N),
      `${EMBEDDINGS}.token_type_embeddings.weight`,
    );
    return this.drop(this.norm(`${EMBEDDINGS}.LayerNorm`, add(add(words, types), places)));
  }

  protected predict(hidden: FloatTensor): FloatTensor {
    const dense = this.activate(this.linear(`${HEAD}.transform.dense`, hidden));
    const own = `${HEAD}.decoder.weight`;
    return this.weights.linear(
      this.norm(`${HEAD}.transform.LayerNorm`, dense),
      this.weights.has(own) ? own : `${EMBEDDINGS}.word_embeddings.weight`,
      `${HEAD}.bias`,
    );
  }
}

/** Sizes of configs with BERT's field names. */
export function encoderSizes(config: Omit<BertConfig, "type_vocab_size">): ModelSizes {
  const { hidden_size: width, num_attention_heads: heads } = config;
  return {
    layers: config.num_hidden_layers,
    heads,
    keyHeads: heads,
    headSize: width / heads,
    width,
    vocabulary: config.vocab_size,
    positions: config.max_position_embeddings,
  };
}

/** Constants of configs with BERT's field names. */
export function encoderConstants(config: Omit<BertConfig, "type_vocab_size">) {
  return {
    inner: config.intermediate_size,
    activation: config.hidden_act ?? "gelu",
    eps: config.layer_norm_eps ?? 1e-12,
    dropout: config.hidden_dropout_prob ?? 0,
    attentionDropout: config.attention_probs_dropout_prob ?? 0,
  };
}

/** Every parameter of a BERT with its shape and initialization. */
export function bertPlan(config: BertConfig, hasHead = true): Plan {
  const { vocab_size, hidden_size: C } = config;
  const planner = new Planner(config.initializer_range);
  planner.table(`${EMBEDDINGS}.word_embeddings.weight`, vocab_size, C, config.pad_token_id ?? 0);
  planner.table(`${EMBEDDINGS}.position_embeddings.weight`, config.max_position_embeddings, C);
  planner.table(`${EMBEDDINGS}.token_type_embeddings.weight`, config.type_vocab_size ?? 2, C);
  planner.norm(`${EMBEDDINGS}.LayerNorm`, C);
  for (let layer = 0; layer < config.num_hidden_layers; layer++)
    planner.layer(bertLayerNames(`bert.encoder.layer.${layer}`), C, config.intermediate_size);
  if (hasHead) {
    planner.linear(`${HEAD}.transform.dense`, C, C);
    planner.norm(`${HEAD}.transform.LayerNorm`, C);
    planner.bias(HEAD, vocab_size);
    if (config.tie_word_embeddings === false) planner.table(`${HEAD}.decoder.weight`, vocab_size, C);
  }
  return planner.plan;
}

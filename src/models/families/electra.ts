/**
 * ELECTRA (Clark et al. 2020, arXiv 2003.10555): BERT's layers after embeddings that may be narrower. A generator predicts masked
 * tokens. A discriminator, the model that is usually published, cannot; its head (was this token replaced?) is ignored.
 * Parameters have the names of Hugging Face's ElectraForMaskedLM.
 *
 *     x = W·norm(embedding[id] + position + type) + b      the projection only where the widths differ
 *     x = layers(x)                                        encoder.ts
 *     logits = output·norm(gelu(W·x)) + b                  in the embedding's width
 */
import { add, type FloatTensor, type Ids } from "../../nn/index.ts";
import { checkConfig, type ElectraConfig } from "../config/config.ts";
import type { Plan } from "../files/parameters.ts";
import { encoderConstants, encoderSizes } from "./bert.ts";
import {
  bertLayerNames,
  Encoder,
  type EncoderOptions,
  type EncoderStart,
  type LayerNames,
  Planner,
} from "./encoder.ts";

const EMBEDDINGS = "electra.embeddings";
const PROJECTION = "electra.embeddings_project";

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel("./electra-small-discriminator", { family: "electra" }); // an Electra
 */
export class Electra extends Encoder {
  readonly type = "electra";
  readonly config: ElectraConfig;

  /** A model with the weights given, or with new ones from a seed. */
  constructor(config: ElectraConfig, options: EncoderStart = {}) {
    checkConfig({ type: "electra", config });
    super(
      "Electra",
      electraPlan(config, options.hasHead),
      encoderSizes(config),
      encoderConstants(config),
      options,
    );
    this.config = { ...config };
  }

  protected layerNames(layer: number): LayerNames {
    return bertLayerNames(`electra.encoder.layer.${layer}`);
  }

  protected embed(ids: Ids, { typeIds }: EncoderOptions): FloatTensor {
    const words = this.weights.lookup(ids, `${EMBEDDINGS}.word_embeddings.weight`); // [..., N, E]
    const N = words.shape[words.shape.length - 2];
    const places = this.positions(`${EMBEDDINGS}.position_embeddings.weight`, N);
    const types = this.weights.lookup(
      typeIds ?? new Int32Array(N),
      `${EMBEDDINGS}.token_type_embeddings.weight`,
    );
    const x = this.drop(this.norm(`${EMBEDDINGS}.LayerNorm`, add(add(words, types), places)));
    return this.weights.has(`${PROJECTION}.weight`) ? this.linear(PROJECTION, x) : x;
  }

  protected predict(hidden: FloatTensor): FloatTensor {
    // The generator's activation is always gelu.
    const dense = this.activate(this.linear("generator_predictions.dense", hidden), "gelu");
    const x = this.norm("generator_predictions.LayerNorm", dense);
    const own = "generator_lm_head.weight";
    const matrix = this.weights.has(own) ? own : `${EMBEDDINGS}.word_embeddings.weight`;
    return this.weights.linear(x, matrix, "generator_lm_head.bias");
  }
}

/** Every parameter of an ELECTRA with its shape and initialization. */
export function electraPlan(config: ElectraConfig, hasHead = true): Plan {
  const { vocab_size, hidden_size: C, embedding_size: E = 128 } = config;
  const planner = new Planner(config.initializer_range);
  planner.table(`${EMBEDDINGS}.word_embeddings.weight`, vocab_size, E, config.pad_token_id ?? 0);
  planner.table(`${EMBEDDINGS}.position_embeddings.weight`, config.max_position_embeddings, E);
  planner.table(`${EMBEDDINGS}.token_type_embeddings.weight`, config.type_vocab_size ?? 2, E);
  planner.norm(`${EMBEDDINGS}.LayerNorm`, E);
  if (E !== C) planner.linear(PROJECTION, C, E);
  for (let layer = 0; layer < config.num_hidden_layers; layer++)
    planner.layer(bertLayerNames(`electra.encoder.layer.${layer}`), C, config.intermediate_size);
  if (hasHead) {
    planner.linear("generator_predictions.dense", E, C);
    planner.norm("generator_predictions.LayerNorm", E);
    planner.bias("generator_lm_head", vocab_size);
    if (config.tie_word_embeddings === false) planner.table("generator_lm_head.weight", vocab_size, E);
  }
  return planner.plan;
}

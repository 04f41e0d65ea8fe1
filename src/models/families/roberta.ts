/**
 * RoBERTa (Liu et al. 2019, arXiv 1907.11692): BERT's layers, trained longer. Positions start after the id of padding and skip
 * padding. Parameters have the names of Hugging Face's RobertaForMaskedLM.
 *
 *     x = norm(embedding[id] + position + type)            positions pad + 1, pad + 2, …
 *     x = layers(x)                                        encoder.ts
 *     logits = output·norm(gelu(W·x)) + b                  the output matrix is the embedding unless the file has its own
 */
import { add, type FloatTensor, type Ids } from "../../nn/index.ts";
import { checkConfig, type RobertaConfig } from "../config/config.ts";
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

const EMBEDDINGS = "roberta.embeddings";

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel("./roberta-base", { family: "roberta" }); // a Roberta
 */
export class Roberta extends Encoder {
  readonly type = "roberta";
  readonly config: RobertaConfig;

  /** A model with the weights given, or with new ones from a seed. */
  constructor(config: RobertaConfig, options: EncoderStart = {}) {
    checkConfig({ type: "roberta", config });
    // The first rows of the position table belong to padding.
    const positions = config.max_position_embeddings - (config.pad_token_id ?? 1) - 1;
    const plan = robertaPlan(config, options.hasHead);
    super("Roberta", plan, { ...encoderSizes(config), positions }, encoderConstants(config), options);
    this.config = { ...config };
  }

  protected layerNames(layer: number): LayerNames {
    return bertLayerNames(`roberta.encoder.layer.${layer}`);
  }

  protected embed(ids: Ids, { typeIds }: EncoderOptions): FloatTensor {
    const words = this.weights.lookup(ids, `${EMBEDDINGS}.word_embeddings.weight`); // [..., N, C]
    const N = words.shape[words.shape.length - 2];
    const pad = this.config.pad_token_id ?? 1;
    const places = this.positionsAfterPadding(`${EMBEDDINGS}.position_embeddings.weight`, ids, pad);
    const types = this.weights.lookup(
      typeIds ?? new Int32Array(N),
      `${EMBEDDINGS}.token_type_embeddings.weight`,
    );
    return this.drop(this.norm(`${EMBEDDINGS}.LayerNorm`, add(add(words, types), places)));
  }

  protected predict(hidden: FloatTensor): FloatTensor {
    // The head's activation is always gelu.
    const x = this.norm("lm_head.layer_norm", this.activate(this.linear("lm_head.dense", hidden), "gelu"));
    const own = "lm_head.decoder.weight";
    const matrix = this.weights.has(own) ? own : `${EMBEDDINGS}.word_embeddings.weight`;
    return this.weights.linear(x, matrix, "lm_head.bias");
  }
}

/** Every parameter of a RoBERTa with its shape and initialization. */
export function robertaPlan(config: RobertaConfig, hasHead = true): Plan {
  const { vocab_size, hidden_size: C } = config;
  const pad = config.pad_token_id ?? 1;
  const planner = new Planner(config.initializer_range);
  planner.table(`${EMBEDDINGS}.word_embeddings.weight`, vocab_size, C, pad);
  planner.table(`${EMBEDDINGS}.position_embeddings.weight`, config.max_position_embeddings, C, pad);
  planner.table(`${EMBEDDINGS}.token_type_embeddings.weight`, config.type_vocab_size ?? 2, C);
  planner.norm(`${EMBEDDINGS}.LayerNorm`, C);
  for (let layer = 0; layer < config.num_hidden_layers; layer++)
    planner.layer(bertLayerNames(`roberta.encoder.layer.${layer}`), C, config.intermediate_size);
  if (hasHead) lmHead(planner, config);
  return planner.plan;
}

/** The head of RoBERTa and MPNet. */
export function lmHead(
  planner: Planner,
  config: {
    readonly vocab_size: number;
    readonly hidden_size: number;
    readonly tie_word_embeddings?: boolean;
  },
): void {
  const { vocab_size, hidden_size: C } = config;
  planner.linear("lm_head.dense", C, C);
  planner.norm("lm_head.layer_norm", C);
  planner.bias("lm_head", vocab_size);
  if (config.tie_word_embeddings === false) planner.table("lm_head.decoder.weight", vocab_size, C);
}

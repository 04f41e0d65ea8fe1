/**
 * MPNet (Song et al. 2020, arXiv 2004.09297): BERT's layers with T5's relative position bias in every score, one table for all
 * layers, in addition to learned positions that start after the id of padding. No token types. Parameters have the names of
 * MPNetForMaskedLM.
 *
 *     x = norm(embedding[id] + position)                   positions pad + 1, pad + 2, …
 *     x = layers(x)                                        encoder.ts; scores q·k/√d + table[bucket(j − i)]
 *     logits = output·norm(gelu(W·x)) + b
 */
import { add, type FloatTensor, type Ids } from "../../nn/index.ts";
import { checkConfig, type MpnetConfig } from "../config/config.ts";
import type { Plan } from "../files/parameters.ts";
import type { AttentionRecipe } from "./attend.ts";
import { encoderConstants, encoderSizes } from "./bert.ts";
import { Encoder, type EncoderStart, type LayerNames, Planner } from "./encoder.ts";
import { lmHead } from "./roberta.ts";

const EMBEDDINGS = "mpnet.embeddings";
const TABLE = "mpnet.encoder.relative_attention_bias.weight";
/** Number of distance buckets, and the distance from which all share the last one: constants of the published code. */
const BUCKETS = 32;
const MAX_DISTANCE = 128;

/**
 * The encoder.
 *
 * @example
 * const { model } = await readModel("./all-mpnet-base-v2", { family: "mpnet" }); // an Mpnet
 */
export class Mpnet extends Encoder {
  readonly type = "mpnet";
  readonly config: MpnetConfig;

  /** A model with the weights given, or with new ones from a seed. */
  constructor(config: MpnetConfig, options: EncoderStart = {}) {
    checkConfig({ type: "mpnet", config });
    const positions = config.max_position_embeddings - (config.pad_token_id ?? 1) - 1;
    const plan = mpnetPlan(config, options.hasHead);
    super("Mpnet", plan, { ...encoderSizes(config), positions }, encoderConstants(config), options);
    this.config = { ...config };
  }

  protected layerNames(layer: number): LayerNames {
    return mpnetLayerNames(layer);
  }

  protected override recipe(): AttentionRecipe {
    const table = this.weights.get(TABLE);
    return { mask: "none", relative: { table, maxDistance: MAX_DISTANCE, bidirectional: true } };
  }

  protected embed(ids: Ids): FloatTensor {
    const words = this.weights.lookup(ids, `${EMBEDDINGS}.word_embeddings.weight`); // [..., N, C]
    const pad = this.config.pad_token_id ?? 1;
    const places = this.positionsAfterPadding(`${EMBEDDINGS}.position_embeddings.weight`, ids, pad);
    return this.drop(this.norm(`${EMBEDDINGS}.LayerNorm`, add(words, places)));
  }

  protected predict(hidden: FloatTensor): FloatTensor {
    const x = this.norm("lm_head.layer_norm", this.activate(this.linear("lm_head.dense", hidden), "gelu"));
    const own = "lm_head.decoder.weight";
    const matrix = this.weights.has(own) ? own : `${EMBEDDINGS}.word_embeddings.weight`;
    return this.weights.linear(x, matrix, "lm_head.bias");
  }
}

function mpnetLayerNames(layer: number): LayerNames {
  const place = `mpnet.encoder.layer.${layer}`;
  return {
    query: `${place}.attention.attn.q`,
    key: `${place}.attention.attn.k`,
    value: `${place}.attention.attn.v`,
    output: `${place}.attention.attn.o`,
    outputNorm: `${place}.attention.LayerNorm`,
    inner: `${place}.intermediate.dense`,
    outer: `${place}.output.dense`,
    norm: `${place}.output.LayerNorm`,
  };
}

/** Every parameter of an MPNet with its shape and initialization. */
export function mpnetPlan(config: MpnetConfig, hasHead = true): Plan {
  const { vocab_size, hidden_size: C, num_attention_heads: H } = config;
  const pad = config.pad_token_id ?? 1;
  const planner = new Planner(config.initializer_range);
  planner.table(`${EMBEDDINGS}.word_embeddings.weight`, vocab_size, C, pad);
  planner.table(`${EMBEDDINGS}.position_embeddings.weight`, config.max_position_embeddings, C, pad);
  planner.norm(`${EMBEDDINGS}.LayerNorm`, C);
  planner.table(TABLE, BUCKETS, H);
  for (let layer = 0; layer < config.num_hidden_layers; layer++)
    planner.layer(mpnetLayerNames(layer), C, config.intermediate_size);
  if (hasHead) lmHead(planner, config);
  return planner.plan;
}

/**
 * The encoder that BERT (Devlin et al. 2018, arXiv 1810.04805) made common, with the variations of its relatives: one module,
 * configured by `EncoderConfig`. Every token attends to every other, or to those of a window.
 *
 *     x = norm(embedding[id] + type + position)            (W·x + b where the embedding is narrower)
 *     x = layers(x)                                        transformer.ts
 *     logits = output·norm(act(W·x)) + b                   the output matrix is the embedding unless the file has its own
 */
import { checkCount, refuseValue, UnsupportedError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { awaitSteps } from "../../core/synchronous.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, type FloatTensor, type Ids, type SequenceShard, scale } from "../../nn/index.ts";
import { layerDropout } from "../../nn/ops/dropout.ts";
import { idsOf } from "../../nn/ops/lookup.ts";
import { checkShard } from "../../nn/sharded.ts";
import { activateNamed } from "../config/activation.ts";
import type { ModelConfig } from "../config/types.ts";
import { attendOver, FORWARD_OPTIONS, type ForwardOptions, forKeys } from "../transformer/attend.ts";
import type { EncoderConfig } from "../transformer/config.ts";
import { checkTransformerConfig } from "../transformer/config.ts";
import { checkGlobals } from "../transformer/global.ts";
import type { TransformerModel } from "../transformer/model.ts";
import {
  type EmbeddingPart,
  type LayerSteps,
  type ModelStart,
  Transformer,
} from "../transformer/transformer.ts";

/** How to run an encoder. */
export interface EncoderOptions extends ForwardOptions {
  /** Token types, in the shape of the ids: 0 for the first text, 1 for the second. Default all 0. */
  readonly typeIds?: Ids;
  /** Keys that may be read, [B, N] or [N] bool: false for padding. Default all. */
  readonly keyMask?: Tensor;
  /**
   * Positions of tokens that attend to all and that all attend to: models with projections for them (Longformer), which otherwise see
   * a window. Default none.
   */
  readonly globals?: readonly number[];
}

/** Names of `EncoderOptions`. */
const ENCODER_OPTIONS: readonly (keyof EncoderOptions)[] = [
  ...FORWARD_OPTIONS,
  "typeIds",
  "keyMask",
  "globals",
];

/** Options of an encoder's constructor. */
export type EncoderStart = ModelStart;

/**
 * An encoder that a recipe describes. A class of a family, such as `Bert`, makes the recipe from the fields of its config.json.
 *
 * @example
 * const { model } = await readModel("./ModernBERT-base", { family: "encoder" }); // an Encoder
 */
export class Encoder<C extends ModelConfig["config"] = EncoderConfig>
  extends Transformer<EncoderConfig, EncoderOptions>
  implements TransformerModel
{
  readonly architecture = "encoder";
  /** The fields of config.json, or the recipe itself where the family has no class. */
  readonly config: C;
  readonly endIds: readonly number[] = [];

  /** A model with the weights given, or with new ones from a seed: normal with the config's standard deviation. */
  constructor(recipe: EncoderConfig, options: EncoderStart = {}, config?: C, label = recipe?.model_type) {
    checkCount("Encoder", arguments, 4);
    checkTransformerConfig(recipe);
    super(recipe, options, label);
    this.config = config ? { ...config } : (recipe as ModelConfig["config"] as C);
  }

  /** @internal */
  *steps(ids: Ids, options: EncoderOptions): LayerSteps {
    checkOptionNames(this.type, options, ENCODER_OPTIONS);
    const x = this.#embed(ids, options);
    const attnMask = options.keyMask && forKeys(this.type, options.keyMask, x.shape.slice(0, -1), x);
    return yield* this.encodedSteps(x, { attnMask, globals: this.#globals(options, x) }, options);
  }

  /**
   * `hidden` for this rank's tokens [B, n] of a sequence that ranks share: their states [B, n, C]. Every rank calls it.
   *
   * @param options `typeIds` of these tokens
   * @throws UnsupportedError for a model whose layers use positions in other ways than learned vectors, rotation, windows and biases
   * @beta
   */
  async hiddenOver(
    shard: SequenceShard,
    ids: Ids,
    options: Pick<EncoderOptions, "typeIds"> = {},
  ): Promise<FloatTensor> {
    checkCount("Encoder.hiddenOver", arguments, 3);
    checkShard("Encoder.hiddenOver", shard);
    checkOptionNames("Encoder.hiddenOver", options, ["typeIds"]);
    const { names, sinusoids, position_rows, position_offset } = this.recipe;
    const isCounted = position_rows !== undefined && position_offset === undefined;
    if (sinusoids || isCounted || names.relativePositions !== undefined)
      throw new UnsupportedError(
        "sharded",
        `${this.type}: ranks cannot share a sequence of this model: it has ${sinusoids ? "computed positions" : isCounted ? "positions that are counted from the padding before them" : "terms of content and relative position"}`,
      );
    this.checkLength(shard.length);
    const x = shard.run(() => this.#embed(ids, options, shard.positions));
    const steps = this.encodedSteps(x, { shard }, {}, (states) => states);
    return awaitSteps(steps, attendOver(shard), (part) => shard.run(part));
  }

  /** The positions of global tokens in x [..., N, C]; undefined where there are none. */
  #globals({ globals }: EncoderOptions, { shape }: FloatTensor): readonly number[] | undefined {
    if (globals === undefined) return undefined;
    if (this.recipe.names.globalQuery === undefined)
      throw new UnsupportedError(
        "globals",
        `${this.type}: has no projections for global tokens, which a Longformer has; leave out globals`,
      );
    const list = checkGlobals(this.type, globals, shape[shape.length - 2]);
    return list.length > 0 ? list : undefined;
  }

  /**
   * Logits of the first (0) and the last token (1) of an answer, [..., N, 2], from states [..., N, C]. Throws an UnsupportedError where
   * the model was not trained to answer questions.
   */
  spanLogits(hidden: FloatTensor): FloatTensor {
    checkCount("Encoder.spanLogits", arguments, 1);
    if (!(hidden instanceof Tensor)) refuseValue(this.type, "hidden", "states, what hidden returns", hidden);
    const { span, spanMap, spanNorm } = this.recipe.names;
    if (!this.hasSpanHead || span === undefined)
      throw new UnsupportedError(
        "head",
        `${this.type}: this checkpoint has no head for spans of answers (${span ?? "qa_outputs"}.weight); \`hidden\` gives its states`,
      );
    let x = hidden;
    if (spanMap) x = activateNamed(this.linear(spanMap, x), this.recipe.head_act ?? this.recipe.hidden_act);
    return this.linear(span, spanNorm ? this.norm(spanNorm, x) : x);
  }

  /** The embeddings of tokens, [..., N, C]. */
  #embed(ids: Ids, options: EncoderOptions, at?: ArrayLike<number>): FloatTensor {
    const { names, embd_pdrop = 0 } = this.recipe;
    let x = this.#parts(ids, options, at)
      .map(({ rows }) => rows)
      .reduce((sum, rows) => add(sum, rows));
    x = this.addSinusoids(x, 0);
    if (names.embeddingNorm) x = this.norm(names.embeddingNorm, x);
    x = layerDropout(x, embd_pdrop);
    return names.embeddingMap ? this.linear(names.embeddingMap, x) : x;
  }

  /** The rows of the words, then of the types and positions where the model has them, [..., N, E]. */
  embeddingParts(ids: Ids, options: EncoderOptions = {}): EmbeddingPart[] {
    checkCount("Encoder.embeddingParts", arguments, 2);
    checkOptionNames(this.type, options, ENCODER_OPTIONS);
    return this.#parts(ids, options);
  }

  #parts(ids: Ids, { typeIds }: EncoderOptions, at?: ArrayLike<number>): EmbeddingPart[] {
    const { names, embedding_scale = 1 } = this.recipe;
    let words = this.weights.lookup(ids, `${names.embedding}.weight`);
    const N = words.shape[words.shape.length - 2];
    this.checkLength(N);
    if (embedding_scale !== 1) words = scale(words, embedding_scale);
    const parts: EmbeddingPart[] = [{ kind: "word", rows: words }];
    const push = (kind: EmbeddingPart["kind"], name: string, rows: Ids) =>
      parts.push({ kind, rows: this.weights.lookup(rows, `${name}.weight`) });
    if (names.types) push("type", names.types, typeIds ?? new Int32Array(N));
    if (names.positions) push("position", names.positions, this.#positions(ids, N, at));
    return parts;
  }

  /** 0, 1, …; or RoBERTa's positions: real tokens are counted from `pad` + 1 on, padding has position `pad`. */
  #positions(ids: Ids, N: number, at?: ArrayLike<number>): Ids {
    const { position_rows, position_offset, pad_token_id: pad = 0 } = this.recipe;
    if (position_rows === undefined || position_offset !== undefined)
      return Int32Array.from({ length: N }, (_, i) => (position_offset ?? 0) + (at?.[i] ?? i));
    const { list, shape } = idsOf(this.type, ids);
    const positions = new Int32Array(list.length);
    for (let first = 0; first < list.length; first += N)
      for (let n = first, count = 0; n < first + N; n++) positions[n] = list[n] === pad ? pad : pad + ++count;
    return new Tensor(positions, shape, "int32");
  }
}

/**
 * Multi-head layers whose time and memory grow with N, not N²: linear attention and Performer. Both have the four
 * projections of multi-head attention; the attention itself is in linear-attention.ts and performer.ts.
 */

import { checkOnCpu } from "../../core/device/device.ts";
import { checkCount, formatTensor, OptionError, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { asTensor, type TensorLike } from "../../core/tensor.ts";
import { checkSizes, generatorOf, type LayerOptions } from "../initialize.ts";
import { Linear } from "../linear.ts";
import { Module } from "../module.ts";
import type { WithWeights } from "../ops/attend.ts";
import { checkShapeIs, type FloatTensor, operand, type PrecisionOf } from "../ops/operand.ts";
import { mergeHeads, splitHeads } from "../ops/shapes.ts";
import type { LinearAttentionOptions, LinearAttentionResult } from "./linear-attention.ts";
import { LINEAR_OPTIONS, linearAttention } from "./linear-attention.ts";
import { defaultFeatures, orthogonalFeatures, performerAttention } from "./performer.ts";

/** Options of both layers; all optional. */
export interface FeatureHeadOptions extends LayerOptions {
  /** Biases of the projections. Default true. */
  bias?: boolean;
}

/** The projections and heads; a subclass computes the attention. */
abstract class FeatureHeads extends Module {
  readonly q_proj: Linear;
  readonly k_proj: Linear;
  readonly v_proj: Linear;
  readonly out_proj: Linear;
  readonly numHeads: number;
  readonly #what: string;

  constructor(
    what: string,
    embedDim: number,
    numHeads: number,
    options: FeatureHeadOptions,
    more: readonly string[] = [],
  ) {
    super();
    checkOptionNames(what, options, ["bias", ...more, "dtype", "seed"]);
    checkSizes(what, { embedDim, numHeads });
    if (embedDim % numHeads !== 0)
      throw new OptionError("heads", `${what}: ${numHeads} heads do not divide embedDim ${embedDim}`, {
        embedDim,
        numHeads,
      });
    const layerOptions = { bias: options.bias, dtype: options.dtype, seed: generatorOf(options.seed) };
    this.q_proj = new Linear(embedDim, embedDim, layerOptions);
    this.k_proj = new Linear(embedDim, embedDim, layerOptions);
    this.v_proj = new Linear(embedDim, embedDim, layerOptions);
    this.out_proj = new Linear(embedDim, embedDim, layerOptions);
    this.numHeads = numHeads;
    this.#what = what;
  }

  /** The attention of the heads: query, key and value are [..., H, N, D]. */
  protected abstract attend(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    options: LinearAttentionOptions,
  ): LinearAttentionResult;

  /**
   * query [..., Nq, embedDim] over key and value [..., Nk, embedDim]; one tensor alone is self-attention.
   *
   * @param options `isCausal`; `keyMask` bool [..., Nk], true = attend; `returnWeights`: [..., H, Nq, Nk] as well
   */
  forward<T extends TensorLike>(
    query: T,
    key: TensorLike | undefined,
    value: TensorLike | undefined,
    options: LinearAttentionOptions & { returnWeights: true },
  ): WithWeights<LinearAttentionResult<PrecisionOf<T>>>;
  forward<T extends TensorLike>(
    query: T,
    key?: TensorLike,
    value?: TensorLike,
    options?: LinearAttentionOptions,
  ): LinearAttentionResult<PrecisionOf<T>>;
  forward(
    query: TensorLike,
    key: TensorLike = query,
    value: TensorLike = key,
    options: LinearAttentionOptions = {},
  ): LinearAttentionResult {
    checkCount(`${this.#what}.forward`, arguments, 4);
    checkOptionNames(this.#what, options, LINEAR_OPTIONS);
    const x = operand(this.#what, "query", query);
    checkOnCpu(this.#what, "query", x);
    if (x.shape.length < 2)
      throw new ShapeError(
        "rank",
        `${this.#what}: expected [..., N, embedDim], got ${formatTensor("query", x)}`,
        { shape: x.shape },
      );
    const [q, k, v] = [this.q_proj.forward(x), this.k_proj.forward(key), this.v_proj.forward(value)].map(
      (t) => splitHeads(t, this.numHeads),
    );
    const { keyMask, ...rest } = options;
    const result = this.attend(q, k, v, { ...rest, ...(keyMask && { keyMask: this.#perHead(keyMask, k) }) });
    return { ...result, output: this.out_proj.forward(mergeHeads(result.output)) };
  }

  /** A mask [..., Nk] for all heads: [..., 1, Nk]. */
  #perHead(keyMask: TensorLike, key: FloatTensor): TensorLike {
    const mask = asTensor(`${this.#what}: keyMask`, keyMask);
    checkShapeIs(this.#what, "keyMask", mask, [...key.shape.slice(0, -3), key.shape[key.shape.length - 2]]);
    return mask.reshape([...mask.shape.slice(0, -1), 1, mask.shape[mask.shape.length - 1]]);
  }
}

/**
 * Multi-head **linear attention** (Katharopoulos et al. 2020), φ(x) = elu(x) + 1. It is not softmax attention and does
 * not approximate it: weights trained for one do not work with the other.
 *
 * @example
 * new LinearAttention(8, 2, { seed: 1 }).forward(x).output.shape; // → [2, 3, 8]
 */
export class LinearAttention extends FeatureHeads {
  constructor(embedDim: number, numHeads: number, options: FeatureHeadOptions = {}) {
    checkCount("LinearAttention", arguments, 3);
    super("LinearAttention", embedDim, numHeads, options);
  }

  protected override attend(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    options: LinearAttentionOptions,
  ): LinearAttentionResult {
    return linearAttention(query, key, value, options);
  }
}

/**
 * Multi-head attention **approximated** by random features: Performer, FAVOR+ (Choromanski et al. 2021). Built with the
 * weights of softmax attention, its result is close to softmax attention, and closer with more `features`.
 *
 * @example
 * new PerformerAttention(8, 2, { features: 64, seed: 1 }).forward(x).output.shape; // → [2, 3, 8]
 */
export class PerformerAttention extends FeatureHeads {
  readonly #features: FloatTensor;

  /** @param options `features`: number per head, default ⌈D·ln D⌉ for heads of D numbers; `featureSeed` that draws them, default 0 */
  constructor(
    embedDim: number,
    numHeads: number,
    options: FeatureHeadOptions & { features?: number; featureSeed?: number } = {},
  ) {
    checkCount("PerformerAttention", arguments, 3);
    super("PerformerAttention", embedDim, numHeads, options, ["features", "featureSeed"]);
    const size = embedDim / numHeads;
    const { features = defaultFeatures(size), featureSeed = 0, dtype } = options;
    checkSizes("PerformerAttention", { features });
    // A separate seed: the features do not depend on the initial values, so a loaded state uses the same ones.
    this.#features = orthogonalFeatures(features, size, featureSeed, dtype);
  }

  /** The random features [m, D], which all heads share. */
  get features(): FloatTensor {
    return this.#features;
  }

  protected override attend(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    options: LinearAttentionOptions,
  ): LinearAttentionResult {
    return performerAttention(query, key, value, { ...options, features: this.#features });
  }
}

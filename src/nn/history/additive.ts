/**
 * The first attention (Bahdanau, Cho & Bengio 2015): a small network scores each pair of query and key.
 *
 *   s(i, j) = w · tanh(Wq·qᵢ + Wk·kⱼ)      output = softmax(s)·V
 */
import type { WeightsWanted } from "../../attention.ts";
import { addedScores, maskList } from "../../backend/problem.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { asTensor, type TensorLike } from "../../core/tensor.ts";
import {
  checkLayerOptions,
  checkSizes,
  fillLinear,
  fillXavierUniform,
  generatorOf,
  type LayerOptions,
  parameter,
} from "../initialize.ts";
import { Module } from "../module.ts";
import { type AttendOptions, expandKeyMask } from "../multi-head.ts";
import { type Attended, attention, type WithWeights } from "../ops/attend.ts";
import { type FloatTensor, numbers, operand, type PrecisionOf, tensorFrom } from "../ops/operand.ts";
import { linear } from "../ops/products.ts";
import { additiveScores } from "./additive-scores.ts";

/** Options of a call of additive or multiplicative attention. */
export type ScoredOptions = Pick<
  AttendOptions,
  "attnMask" | "isCausal" | "keyMask" | "queryOffset" | "returnWeights"
>;

/** Names of `ScoredOptions`. */
export const SCORED_OPTIONS: readonly (keyof ScoredOptions)[] = [
  "attnMask", "isCausal", "keyMask", "queryOffset", "returnWeights",
]; // biome-ignore format: one list

/**
 * Additive attention.
 *
 * @example
 * new AdditiveAttention(8, 8, 4, { seed: 1 }).forward(x, x).output.shape; // → [2, 3, 8]
 */
export class AdditiveAttention extends Module {
  /** [da, dq] */
  readonly wq: FloatTensor;
  /** [da, dk] */
  readonly wk: FloatTensor;
  /** [da] */
  readonly w: FloatTensor;

  /** @param dq size of a query, dk of a key, da of the hidden layer between them */
  constructor(dq: number, dk: number, da: number, options: LayerOptions = {}) {
    super();
    checkLayerOptions("AdditiveAttention", options);
    checkSizes("AdditiveAttention", { dq, dk, da });
    const { dtype } = options;
    const seed = generatorOf(options.seed);
    this.wq = fillXavierUniform(parameter([da, dq], dtype), seed);
    this.wk = fillXavierUniform(parameter([da, dk], dtype), seed);
    this.w = fillLinear(parameter([da], dtype), seed, da);
  }

  /**
   * query [..., Nq, dq], key [..., Nk, dk], value [..., Nk, dv] (default: the keys); output [..., Nq, dv], lse and
   * weights [..., Nq, Nk] on request. Leading axes are equal.
   */
  forward<T extends TensorLike>(
    query: T,
    key: TensorLike,
    value: TensorLike | undefined,
    options: Omit<ScoredOptions, "returnWeights"> & WeightsWanted,
  ): WithWeights<Attended<PrecisionOf<T>>>;
  forward<T extends TensorLike>(
    query: T,
    key: TensorLike,
    value?: TensorLike,
    options?: ScoredOptions,
  ): Attended<PrecisionOf<T>>;
  forward(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike = key,
    options: ScoredOptions = {},
  ): Attended {
    const what = "AdditiveAttention";
    checkOptionNames(what, options, SCORED_OPTIONS);
    checkOnCpu(what, "query", asTensor(`${what}: query`, query));
    const { keyMask, attnMask, ...rest } = options;
    const [q, k] = [linear(query, this.wq), linear(key, this.wk)];
    const scores = additiveScores(q, k, this.w);
    const masks = [...maskList(attnMask), ...(keyMask ? [expandKeyMask(what, keyMask, k, false)] : [])];
    // The scores are passed as the additive mask of heads of size 0, whose own scores are 0. Masks, empty rows, weights and
    // gradients are then those of every attention call.
    const none = (t: FloatTensor) => tensorFrom(numbers(t.dtype, 0), [...t.shape.slice(0, -1), 0]);
    const values = operand(what, "value", value, scores);
    return attention(none(q), none(k), values, { ...rest, attnMask: [addedScores(scores), ...masks] });
  }
}

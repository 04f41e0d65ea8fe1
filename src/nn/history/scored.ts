/**
 * What Bahdanau's and Luong's attention share: the options of a call, the masks, and the types of `forward`. Each layer computes
 * its own scores.
 */

import type { WeightsWanted } from "../../api/attention.ts";
import { type MaskLike, maskList } from "../../backend/problem.ts";
import { checkCount } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { asTensor, type TensorLike } from "../../core/tensor.ts";
import { expandKeyMask } from "../key-mask.ts";
import { Module } from "../module.ts";
import type { AttendOptions } from "../multi-head.ts";
import type { Attended, WithWeights } from "../ops/attend.ts";
import type { PrecisionOf } from "../ops/operand.ts";

/** Options of a call of additive or multiplicative attention. */
export type ScoredOptions = Pick<
  AttendOptions,
  "attnMask" | "isCausal" | "keyMask" | "queryOffset" | "returnWeights"
>;

/** Names of `ScoredOptions`. */
const SCORED_OPTIONS: readonly (keyof ScoredOptions)[] = [
  "attnMask", "isCausal", "keyMask", "queryOffset", "returnWeights",
]; // biome-ignore format: one list

/** The options of a call, with all masks in one list. */
export type MaskedOptions = Omit<ScoredOptions, "attnMask" | "keyMask"> & {
  readonly attnMask: readonly MaskLike[];
};

/** A layer that attends by scores of its own. */
export abstract class ScoredAttention extends Module {
  /** The attention of the layer, under the name `what` in errors. */
  protected abstract attend(
    what: string,
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    options: MaskedOptions,
  ): Attended;

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
    checkCount(`${this.constructor.name}.forward`, arguments, 4);
    const what = this.constructor.name;
    checkOptionNames(what, options, SCORED_OPTIONS);
    const { keyMask, attnMask, ...rest } = options;
    const keys = asTensor(`${what}: key`, key);
    const masks = [
      ...maskList(what, attnMask),
      ...(keyMask ? [expandKeyMask(what, keyMask, keys, false)] : []),
    ];
    return this.attend(what, query, keys, value, { ...rest, attnMask: masks });
  }
}

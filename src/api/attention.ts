/**
 * Scaled dot-product attention, the one call:
 *
 *   Attention(Q, K, V) = softmax(Q·Kᵀ / √dk + mask)·V        (Vaswani et al. 2017, equation 1)
 *
 * Options are resolved in backend/problem.ts, and dispatch/ chooses the backend.
 */

import type { Selection } from "../backend/contract.ts";
import { type AttentionOptions, checkAttentionOptions, type Problem, resolve } from "../backend/problem.ts";
import { checkLse } from "../backend/results.ts";
import { selectionOf } from "../backend/selection.ts";
import { warnOnce } from "../backend/settings.ts";
import type { FloatDType } from "../core/dtype.ts";
import { checkCount, formatValue, OptionError, refuseValue, ShapeError } from "../core/errors.ts";
import { recordAttention, recordWithoutDerivative } from "../core/recording/record.ts";
import { activeRecording } from "../core/recording/recording.ts";
import { rowShape } from "../core/shape.ts";
import type { State } from "../core/state.ts";
import { asTensor, type FloatDTypeOf, type Tensor, type TensorLike, viewOf } from "../core/tensor.ts";
import { forwardBackend } from "./dispatch/forward.ts";
import { checkRowSums, weightsOf } from "./row-sums.ts";

/** The result of attention. */
export interface AttentionResult<D extends FloatDType = FloatDType> extends State {
  /** [..., Hq, Nq, dv] in the query's dtype; [..., Nq, Hq, dv] in layout `bshd`. */
  readonly output: Tensor<D>;
  /** Natural log of Σ exp over the inputs of softmax, [..., Hq, Nq], float32 (float64 in float64 calls). */
  readonly lse: Tensor<LseDType<D>>;
  /** With `returnWeights`: [..., Hq, Nq, Nk], or [..., heads, rows, Nk] of the selected heads and rows. */
  readonly weights?: Tensor<D>;
}

/** The dtype of `lse` in a call of dtype D. */
export type LseDType<D extends FloatDType> = D extends "float64" ? "float64" : "float32";

/**
 * Options that request weights: the result's `weights` is then never undefined. Join it with the other options by
 * `Omit<Options, "returnWeights">`: an intersection of both properties would accept `boolean`.
 */
export interface WeightsWanted {
  returnWeights: true | { heads?: readonly number[]; rows?: readonly number[] };
}

/** The result of attention with `returnWeights`. */
export interface AttentionResultWithWeights<D extends FloatDType = FloatDType> extends AttentionResult<D> {
  readonly weights: Tensor<D>;
}

/**
 * softmax(Q·Kᵀ·scale + mask)·V, exactly, in memory linear in Nq and Nk. Inside a recording (the tape of heed/train) the call records
 * its derivative.
 *
 * @param query [..., Nq, dk]; with two or more leading axes the last of them is heads: [..., Hq, Nq, dk]
 * @param key   [..., Nk, dk], with Hkv heads that divide Hq: query head h reads key head ⌊h·Hkv/Hq⌋
 * @param value [..., Nk, dv]
 * @param options masks, score mods, and more; by default no mask and a scale of 1/√dk
 * @returns `output` [..., Hq, Nq, dv], `lse` [..., Hq, Nq], and with `returnWeights` the weights [..., Hq, Nq, Nk]
 * @throws ShapeError, DTypeError, OptionError, UnsupportedError before any work
 *
 * @example
 * const { output, lse } = scaledDotProductAttention(q, k, v, { isCausal: true });
 * const { weights } = scaledDotProductAttention(q, k, v, { attnMask: slidingWindow(256, 0), returnWeights: true });
 * output.shape; // → [1, 2, 4, 8]
 */
export function scaledDotProductAttention<Q extends TensorLike>(
  query: Q,
  key: TensorLike,
  value: TensorLike,
  options: Omit<AttentionOptions, "returnWeights"> & WeightsWanted,
): AttentionResultWithWeights<FloatDTypeOf<Q>>;
export function scaledDotProductAttention<Q extends TensorLike>(
  query: Q,
  key: TensorLike,
  value: TensorLike,
  options?: AttentionOptions,
): AttentionResult<FloatDTypeOf<Q>>;
export function scaledDotProductAttention(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: AttentionOptions = {},
): AttentionResult {
  // Compared here: a warm call enters no file more.
  if (arguments.length > 4)
    checkCount("scaledDotProductAttention", arguments, 4, "they are query, key, value and { options }");
  const problem = resolve("scaledDotProductAttention", query, key, value, options);
  const { shape } = problem;
  warnOfHabits(problem);
  if (problem.weights) checkWeights(problem, problem.weights);
  const state = forwardBackend({ kind: "forward", problem }).forward(problem) as AttentionResult;
  const result = problem.weights
    ? { ...state, weights: weightsOf(problem, state.lse, problem.weights) }
    : state;
  if (activeRecording) {
    const [q, k, v] = [shape.query, shape.key, shape.value].map((operand) => operand.tensor);
    recordAttention({ query: q, key: k, value: v, options, result });
  }
  return result;
}

const FINITE =
  "which is finite: where a row may see nothing, the output is an average of the hidden values, not zeros. To mask, pass -Infinity, or a bool mask: attnMask: ge(mask, -1)";
const INVERTED =
  "attnMask shows the first query the last key and not its own, as where true means ignore (nn.MultiheadAttention of PyTorch). Here true means attend: eq(mask, 0), or isCausal: true";

/** Warns of a mask or a scale that means something else in another library, or in no library what was meant. */
function warnOfHabits({ caller, tensors, scale, shape: { Nq, Nk, dk } }: Problem): void {
  const warn = (cause: string, text: string) => warnOnce(cause, `${caller}: ${text}`);
  // Beside a bool mask, such a number is a score.
  const { finite } = tensors.length === 1 ? tensors[0] : {};
  if (Number.isNaN(finite))
    warn("nan-mask", 'attnMask holds NaN, as 0 · -Infinity is: where(cast(mask, "bool"), 0, -Infinity)');
  else if (finite !== undefined)
    warn("finite-mask", `attnMask holds ${Number(finite.toPrecision(7))}, ${FINITE}`);
  for (const { kind, tensor, base, row, column } of Nq === Nk && Nq > 2 ? tensors : []) {
    if (kind !== "bool" || tensor.device !== "cpu") continue;
    const at = (i: number, j: number) => tensor.data[base[0] + i * row + j * column];
    const showsItself = at(0, 0) || at(Nq - 1, 0) || at(Nq - 1, Nk - 1);
    if (at(0, Nk - 1) && !showsItself) warn("inverted-mask", INVERTED);
  }
  if (dk > 1 && scale === Math.sqrt(dk))
    warn("scale", `scale multiplies the scores, and ${scale} is √dk; the default is 1 / √dk`);
}

/** Options of `attentionWeights`: those of the forward call, and the selected weights. */
export interface WeightsOptions extends AttentionOptions {
  /** Query heads; default all. */
  heads?: readonly number[];
  /** Query rows; default all. Negative numbers count from the end. */
  rows?: readonly number[];
  /**
   * Throws where a row does not sum to 1. Default true. Pass false where `key` holds only some of the keys of `lse` (a shard,
   * a page), or where `lse` was not returned by a call.
   */
  checkSums?: boolean;
}

/**
 * Weights of any rows and heads, rebuilt exactly from lse as exp(score − lse), without the N×N matrix.
 *
 * @param lse as `scaledDotProductAttention` returned it for the same inputs and options
 * @param options the same options, and `rows` and `heads` (default all); the result is [..., heads, rows, Nk]
 * @throws OptionError of code `weights-sum` where a row does not sum to 1: lse is of another call, or of other options
 *
 * @example
 * const { lse } = scaledDotProductAttention(q, k, v, { isCausal: true });
 * attentionWeights(q, k, lse, { isCausal: true, heads: [1], rows: [3] }).shape; // → [1, 1, 1, 4]
 */
export function attentionWeights<Q extends TensorLike>(
  query: Q,
  key: TensorLike,
  lse: TensorLike,
  options: WeightsOptions = {},
): Tensor<FloatDTypeOf<Q>> {
  checkCount("attentionWeights", arguments, 4);
  const what = "attentionWeights";
  checkAttentionOptions(what, options, ["heads", "rows", "checkSums"]);
  const { heads, rows, checkSums = true, returnWeights: _, ...same } = options;
  const lseTensor = asTensor(`${what}: lse`, lse);
  // Weights need no values: the keys are passed in their place, so that shapes are checked in the same way.
  let problem = resolve(what, query, key, key, same);
  if (lseTensor.shape.join() !== rowShape(problem.shape).join())
    problem = resolveWidened(what, query, asTensor(`${what}: key`, key), lseTensor, same) ?? problem;
  const { shape } = problem;
  const rowLse = checkLse(what, lseTensor, problem);
  const selection = selectionOf(what, { heads, rows }, shape);
  checkWeights(problem, selection);
  const weights = weightsOf(problem, rowLse, selection);
  if (typeof checkSums !== "boolean") refuseValue(problem.caller, "checkSums", "true or false", checkSums);
  if (checkSums) checkRowSums(problem, rowLse, selection, problem.dropoutP > 0 ? undefined : weights);
  recordWithoutDerivative(
    what,
    [shape.query.tensor, shape.key.tensor, lseTensor],
    [weights],
    "compute them as softmax(scale(matmul(query, transpose(key)), 1 / Math.sqrt(dk))) of heed/nn where the loss reads them",
  );
  return weights as Tensor<FloatDTypeOf<Q>>;
}

/**
 * The call whose batch axes are those of its values alone: query and key are the same for all entries, and only lse shows
 * these axes. Undefined where lse does not fit such a call.
 */
function resolveWidened(
  what: string,
  query: TensorLike,
  key: Tensor,
  lse: Tensor,
  options: AttentionOptions,
): Problem | undefined {
  // lse has one axis less than the widest tensor.
  const rank = lse.shape.length + 1;
  const minimumRank = rank >= 4 || options.layout === "bshd" ? 3 : 2;
  if (rank <= minimumRank || key.shape.length < minimumRank) return undefined;
  const lead = lse.shape.slice(0, rank - minimumRank);
  const strides = [...lead.map(() => 0), ...key.strides.slice(-minimumRank)];
  const values = viewOf(key, [...lead, ...key.shape.slice(-minimumRank)], strides, key.offset);
  try {
    const problem = resolve(what, query, key, values, options);
    return lse.shape.join() === rowShape(problem.shape).join() ? problem : undefined;
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}

/** Throws where the weights are too many for one array, before any work. */
function checkWeights(problem: Problem, { heads, rows }: Selection): void {
  const { shape } = problem;
  const size = shape.B * heads.length * rows.length * shape.Nk;
  if (!Number.isSafeInteger(size) || size > 2 ** 32)
    throw new OptionError(
      "weights-size",
      `${problem.caller}: the weights of ${heads.length} heads × ${rows.length} rows × ${shape.Nk} keys are ${formatValue(size)} numbers; ask for a few rows with returnWeights: { rows }, or rebuild them with attentionWeights`,
      { got: size },
    );
}

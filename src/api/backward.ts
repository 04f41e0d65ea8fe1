/**
 * The backward pass of scaled dot-product attention: gradients of a loss with respect to query, key, value and everything
 * that was added to the scores, from the gradient of the output. Weights are recomputed from lse, tile by tile (Dao et al.
 * 2022, FlashAttention, algorithm 4), so memory is linear in Nq and Nk. backend/problem.ts resolves the options, a backend
 * computes; this file checks the results of the forward pass and returns tensors.
 */

import type { BackwardResult, Extra, Selection } from "../backend/contract.ts";
import { checkOutputLike } from "../backend/gradients.ts";
import { type AttentionOptions, checkAttentionOptions, isMaskList, resolve } from "../backend/problem.ts";
import { checkLse } from "../backend/results.ts";
import type { FloatDType } from "../core/dtype.ts";
import { checkCount, refuseGot, refuseValue } from "../core/errors.ts";
import { recordWithoutDerivative } from "../core/recording/record.ts";
import { activeRecording } from "../core/recording/recording.ts";
import type { Shape } from "../core/shape.ts";
import { type FloatDTypeOf, sameDevice, type Tensor, type TensorLike } from "../core/tensor.ts";
import { BoolExpression } from "../masks/expression/expr.ts";
import { backwardBackend } from "./dispatch/backward.ts";
import { checkOutput, checkRowSums, weightsOf } from "./row-sums.ts";

export type { Extra } from "../backend/contract.ts";

/** Options of `attentionBackward`: those of the forward call, and which gradients to compute. */
export interface BackwardOptions extends AttentionOptions {
  /** Gradients besides dQuery, dKey and dValue. Default: those of all masks, sinks and tables of the call. */
  wanted?: readonly Extra[];
  /**
   * Throws where rows of weights, rebuilt from lse with these options, do not sum to 1, or where weights · value is not the output: three
   * rows of each head, on the CPU. Default true: 5 % of the time at 2,048 tokens, 15 % at 128 (docs/optimization-log.md).
   * Pass false in a loop that is measured, and where `key` holds only some of the keys of `lse` (a shard, a page).
   */
  checkSums?: boolean;
}

/** Gradients, each in the shape and dtype of its tensor, summed over broadcast axes. */
export interface AttentionGradients<
  Q extends FloatDType = FloatDType,
  K extends FloatDType = FloatDType,
  V extends FloatDType = FloatDType,
> {
  readonly dQuery: Tensor<Q>;
  readonly dKey: Tensor<K>;
  readonly dValue: Tensor<V>;
  /** Of `attnMask`, where it is one float tensor. */
  readonly dMask?: Tensor;
  /** Where `attnMask` is a list: one for each member, undefined for masks without a gradient. */
  readonly dMasks?: readonly (Tensor | undefined)[];
  /** Of `sinks`, [Hq]. */
  readonly dSinks?: Tensor;
  /** Of the slopes of `alibi`. */
  readonly dSlopes?: Tensor;
  /** Of the table of `relativeBias`. */
  readonly dTable?: Tensor;
  /** Of every table of floats that the score mods read, in order of appearance, including slopes and relative tables. */
  readonly dTables?: readonly Tensor[];
}

/**
 * Gradients of Σ output·dOutput for the inputs of `scaledDotProductAttention`.
 *
 * @param dOutput gradient of the output, in its shape: [..., Hq, Nq, dv], or [..., Nq, Hq, dv] in layout `bshd`
 * @param query   [..., Nq, dk], as in the forward call; so are key and value
 * @param state   the result of the forward call for the same inputs and options: `output` and `lse`
 * @param options the same options (dropout is replayed from its seed), and `wanted`
 * @throws ShapeError, DTypeError, OptionError before any work; an OptionError of code `weights-sum` where the options are not those
 *   of the call that returned lse, and of code `output` where the output is that of another call
 *
 * @example
 * const state = scaledDotProductAttention(q, k, v, { isCausal: true });
 * const { dQuery, dKey, dValue } = attentionBackward(ones([1, 2, 4, 8]), q, k, v, state, { isCausal: true });
 * dKey.shape; // → [1, 2, 4, 8]
 */
export function attentionBackward<Q extends TensorLike, K extends TensorLike, V extends TensorLike>(
  dOutput: TensorLike,
  query: Q,
  key: K,
  value: V,
  state: { readonly output: TensorLike; readonly lse: TensorLike },
  options: BackwardOptions = {},
): AttentionGradients<FloatDTypeOf<Q>, FloatDTypeOf<K>, FloatDTypeOf<V>> {
  if (arguments.length > 6) checkCount("attentionBackward", arguments, 6);
  const what = "attentionBackward";
  checkAttentionOptions(what, options, ["wanted", "checkSums"]);
  const { backend, problem, tensors, wanted } = resolveBackward(
    what,
    dOutput,
    query,
    key,
    value,
    state,
    options,
  );
  const gradients = namedGradients(backend.backward(problem, tensors, wanted), options.attnMask);
  const { query: q, key: k, value: v } = problem.shape;
  if (activeRecording)
    recordWithoutDerivative(
      what,
      [q.tensor, k.tensor, v.tensor, tensors.dOutput, tensors.output],
      [gradients.dQuery, gradients.dKey, gradients.dValue],
      "second derivatives are in attentionDoubleBackward of heed/reference",
    );
  return gradients as AttentionGradients<FloatDTypeOf<Q>, FloatDTypeOf<K>, FloatDTypeOf<V>>;
}

/** Checks a backward call whose options have known names, and chooses its backend. */
export function resolveBackward(
  what: string,
  dOutput: TensorLike,
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  state: { readonly output: TensorLike; readonly lse: TensorLike },
  options: BackwardOptions,
) {
  const { wanted = ["mask", "sinks", "tables"], checkSums = true, returnWeights: _, ...same } = options;
  checkWanted(what, wanted);
  const problem = resolve(what, query, key, value, same);
  if (state === null || typeof state !== "object" || !("output" in state && "lse" in state))
    refuseGot(
      "state",
      `${what}: the fifth argument must be what the forward call returned, { output, lse }`,
      state,
    );
  const tensors = {
    dOutput: checkOutputLike(what, "dOutput", dOutput, problem),
    output: checkOutputLike(what, "output", state.output, problem),
    lse: checkLse(what, state.lse, problem),
  };
  const backend = backwardBackend({ kind: "backward", problem });
  sameDevice(what, [
    ["query", problem.shape.query.tensor.device],
    ...Object.entries(tensors).map(([name, t]) => [name, t.device] as const),
  ]);
  // On another device numbers could only be read asynchronously.
  if (typeof checkSums !== "boolean") refuseValue(what, "checkSums", "true or false", checkSums);
  if (checkSums && tensors.lse.device === "cpu") {
    const sample = sampleOf(problem.shape);
    const weights = weightsOf(problem, tensors.lse, sample);
    checkRowSums(problem, tensors.lse, sample, problem.dropoutP > 0 ? undefined : weights);
    checkOutput(problem, tensors, sample, weights);
  }
  return { backend, problem, tensors, wanted };
}

/** The first, middle and last row of each head: other options than those of the forward call change the sum of one of them. */
function sampleOf({ Hq, Nq }: Shape): Selection {
  const rows = Nq === 0 ? [] : [...new Set([0, Nq >> 1, Nq - 1])];
  return { heads: Array.from({ length: Hq }, (_, h) => h), rows };
}

function checkWanted(what: string, wanted: readonly Extra[]): void {
  for (const name of Array.isArray(wanted) ? wanted : [wanted])
    if (name !== "mask" && name !== "sinks" && name !== "tables")
      refuseGot("wanted", `${what}: wanted takes a list of "mask", "sinks", "tables"`, wanted);
}

/** A backend's gradients under the names of the result. */
export function namedGradients(
  { dQuery, dKey, dValue, masks, sinks, tables: byTable }: BackwardResult,
  attnMask: AttentionOptions["attnMask"],
): AttentionGradients {
  const tables = [...byTable.values()];
  const named = (name: string) => tables[[...byTable.keys()].findIndex((t) => t.name === name)];
  const [slopes, table] = [named("alibi slopes"), named("relativeBias")];
  return {
    dQuery: dQuery as Tensor<FloatDType>,
    dKey: dKey as Tensor<FloatDType>,
    dValue: dValue as Tensor<FloatDType>,
    ...(isMaskList(attnMask)
      ? masks.some(Boolean) && { dMasks: byMember(attnMask, masks) }
      : masks[0] && { dMask: masks[0] }),
    ...(sinks && { dSinks: sinks }),
    ...(slopes && { dSlopes: slopes }),
    ...(table && { dTable: table }),
    ...(tables.length > 0 && { dTables: tables }),
  };
}

/** Gradients of a list of masks, one for each member: `masks` has one for each tensor, in order; expressions have none. */
function byMember(list: readonly unknown[], masks: readonly (Tensor | undefined)[]): (Tensor | undefined)[] {
  let next = 0;
  return list.map((member) => (member instanceof BoolExpression ? undefined : masks[next++]));
}

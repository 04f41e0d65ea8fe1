/**
 * Single-head self-attention, as textbooks introduce it: three linear maps of one input.
 *
 *   Q = X·W^q   K = X·W^k   V = X·W^v      output = softmax(Q·Kᵀ/√dk)·V
 */

import type { WeightsWanted } from "../api/attention.ts";
import { maskList } from "../backend/problem.ts";
import { checkCount } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import type { TensorLike } from "../core/tensor.ts";
import { checkLayerOptions, checkSizes, generatorOf, type LayerOptions } from "./initialize.ts";
import { expandKeyMask } from "./key-mask.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import { ATTEND_OPTIONS, type AttendOptions, type AttendResult } from "./multi-head.ts";
import { attention, type WithWeights } from "./ops/attend.ts";
import { operand, type PrecisionOf } from "./ops/operand.ts";

/**
 * A single head: X [..., N, inputs] to [..., N, dv].
 *
 * @example
 * new SelfAttention(8, { dk: 4, dv: 4, seed: 1 }).forward(x).output.shape; // → [2, 3, 4]
 */
export class SelfAttention extends Module {
  /** W^q, [dk, inputs] as PyTorch has it: Q = X·W^qᵀ in its letters. */
  readonly q_proj: Linear;
  /** W^k, [dk, inputs] */
  readonly k_proj: Linear;
  /** W^v, [dv, inputs] */
  readonly v_proj: Linear;

  /** @param options `dk` size of queries and keys, `dv` of values, both default `inputs`; `bias`, default false */
  constructor(inputs: number, options: LayerOptions & { dk?: number; dv?: number; bias?: boolean } = {}) {
    super();
    checkLayerOptions("SelfAttention", arguments, 2, options, ["dk", "dv", "bias"]);
    const { dk = inputs, dv = inputs, bias = false, dtype } = options;
    checkSizes("SelfAttention", { inputs, dk, dv });
    const seed = generatorOf(options.seed);
    this.q_proj = new Linear(inputs, dk, { bias, dtype, seed });
    this.k_proj = new Linear(inputs, dk, { bias, dtype, seed });
    this.v_proj = new Linear(inputs, dv, { bias, dtype, seed });
  }

  /** Output [..., N, dv]; query, key, value, lse and weights without an axis of heads. */
  forward<T extends TensorLike>(
    x: T,
    options: Omit<AttendOptions, "past" | "returnWeights"> & WeightsWanted,
  ): WithWeights<AttendResult<PrecisionOf<T>>>;
  forward<T extends TensorLike>(x: T, options?: Omit<AttendOptions, "past">): AttendResult<PrecisionOf<T>>;
  forward(x: TensorLike, options: Omit<AttendOptions, "past"> = {}): AttendResult {
    checkCount("SelfAttention.forward", arguments, 2);
    checkOptionNames(
      "SelfAttention",
      options,
      ATTEND_OPTIONS.filter((name) => name !== "past"),
    );
    const from = operand("SelfAttention", "x", x);
    const { keyMask, attnMask, ...rest } = options;
    const query = this.q_proj.forward(from);
    const key = this.k_proj.forward(from);
    const value = this.v_proj.forward(from);
    const masks = [
      ...maskList("SelfAttention", attnMask),
      ...(keyMask ? [expandKeyMask("SelfAttention", keyMask, key, false)] : []),
    ];
    const attended = attention(query, key, value, { ...rest, ...(masks.length > 0 && { attnMask: masks }) });
    return { ...attended, query, key, value };
  }
}

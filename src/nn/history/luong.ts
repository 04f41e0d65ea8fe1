/**
 * Multiplicative attention (Luong, Pham & Manning 2015, section 3.1): products in place of Bahdanau's hidden layer,
 *
 *   dot      s(i, j) = qᵢ·kⱼ          general  s(i, j) = qᵢᵀ·W·kⱼ
 *
 * without the division by √dk, which was published two years later.
 */
import type { WeightsWanted } from "../../attention.ts";
import { maskList } from "../../backend/problem.ts";
import { formatValue, OptionError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import type { TensorLike } from "../../core/tensor.ts";
import {
  checkLayerOptions,
  checkSizes,
  fillXavierUniform,
  type LayerOptions,
  parameter,
} from "../initialize.ts";
import { Module } from "../module.ts";
import { expandKeyMask } from "../multi-head.ts";
import { type Attended, attention, type WithWeights } from "../ops/attend.ts";
import { type FloatTensor, operand, type PrecisionOf } from "../ops/operand.ts";
import { matmul } from "../ops/products.ts";
import { SCORED_OPTIONS, type ScoredOptions } from "./additive.ts";

/**
 * Luong's attention with the score "dot" or "general".
 *
 * @example
 * new LuongAttention(8, 8, { score: "dot" }).forward(x, x).output.shape; // → [2, 3, 8]
 */
export class LuongAttention extends Module {
  /** [dq, dk]; only with the score "general". */
  readonly w?: FloatTensor;
  readonly score: "dot" | "general";

  /** @param options `score`, default "general"; "dot" needs dq = dk */
  constructor(dq: number, dk: number, options: LayerOptions & { score?: "dot" | "general" } = {}) {
    super();
    checkLayerOptions("LuongAttention", options, ["score"]);
    const { score = "general", dtype, seed } = options;
    checkSizes("LuongAttention", { dq, dk });
    if (score !== "dot" && score !== "general")
      throw new OptionError(
        "score",
        `LuongAttention: score must be "dot" or "general", got ${formatValue(score)}`,
        {
          got: score,
        },
      );
    if (score === "dot" && dq !== dk)
      throw new OptionError("score", `LuongAttention: the score "dot" needs dq = dk, got ${dq} and ${dk}`, {
        dq,
        dk,
      });
    if (score === "general") this.w = fillXavierUniform(parameter([dq, dk], dtype), seed);
    this.score = score;
  }

  /** query [..., Nq, dq], key [..., Nk, dk], value [..., Nk, dv] (default: the keys); output [..., Nq, dv]. */
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
    const what = "LuongAttention";
    const q = operand(what, "query", query);
    const k = operand(what, "key", key, q);
    checkOptionNames(what, options, SCORED_OPTIONS);
    const { keyMask, attnMask, ...rest } = options;
    const masks = [...maskList(attnMask), ...(keyMask ? [expandKeyMask(what, keyMask, k, false)] : [])];
    return attention(this.w ? matmul(q, this.w) : q, k, value, {
      ...rest,
      scale: 1,
      ...(masks.length > 0 && { attnMask: masks }),
    });
  }
}

/**
 * Multiplicative attention (Luong, Pham & Manning 2015, section 3.1): products in place of Bahdanau's hidden layer,
 *
 *   dot      s(i, j) = qᵢ·kⱼ          general  s(i, j) = qᵢᵀ·W·kⱼ
 *
 * without the division by √dk, which was published two years later.
 */
import { OptionError, refuseValue } from "../../core/errors.ts";
import type { TensorLike } from "../../core/tensor.ts";
import type { LayerOptions } from "../initialize.ts";
import { checkLayerOptions, checkSizes, fillXavierUniform, parameter } from "../initialize.ts";
import { type Attended, attention } from "../ops/attend.ts";
import { type FloatTensor, operand } from "../ops/operand.ts";
import { matmul } from "../ops/products.ts";
import { type MaskedOptions, ScoredAttention } from "./scored.ts";

/**
 * Luong's attention with the score "dot" or "general".
 *
 * @example
 * new LuongAttention(8, 8, { score: "dot" }).forward(x, x).output.shape; // → [2, 3, 8]
 */
export class LuongAttention extends ScoredAttention {
  /** [dq, dk]; only with the score "general". */
  readonly w?: FloatTensor;
  readonly score: "dot" | "general";

  /** @param options `score`, default "general"; "dot" needs dq = dk */
  constructor(dq: number, dk: number, options: LayerOptions & { score?: "dot" | "general" } = {}) {
    super();
    checkLayerOptions("LuongAttention", arguments, 3, options, ["score"]);
    const { score = "general", dtype, seed } = options;
    checkSizes("LuongAttention", { dq, dk });
    if (score !== "dot" && score !== "general")
      refuseValue("LuongAttention", "score", '"dot" or "general"', score);
    if (score === "dot" && dq !== dk)
      throw new OptionError("score", `LuongAttention: the score "dot" needs dq = dk, got ${dq} and ${dk}`, {
        dq,
        dk,
      });
    if (score === "general") this.w = fillXavierUniform(parameter([dq, dk], dtype), seed);
    this.score = score;
  }

  protected override attend(
    what: string,
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    { attnMask, ...options }: MaskedOptions,
  ): Attended {
    const q = operand(what, "query", query);
    const k = operand(what, "key", key, q);
    return attention(this.w ? matmul(q, this.w) : q, k, value, {
      ...options,
      scale: 1,
      ...(attnMask.length > 0 && { attnMask }),
    });
  }
}

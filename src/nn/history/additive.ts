/**
 * The first attention (Bahdanau, Cho & Bengio 2015): a small network scores each pair of query and key.
 *
 *   s(i, j) = w · tanh(Wq·qᵢ + Wk·kⱼ)      output = softmax(s)·V
 */
import { addedScores } from "../../backend/problem.ts";
import type { TensorLike } from "../../core/tensor.ts";
import {
  checkLayerOptions,
  checkSizes,
  fillLinear,
  fillXavierUniform,
  generatorOf,
  type LayerOptions,
  parameter,
} from "../initialize.ts";
import { type Attended, attention } from "../ops/attend.ts";
import { type FloatTensor, operand, zerosLike } from "../ops/operand.ts";
import { linear } from "../ops/products.ts";
import { additiveScores } from "./additive-scores.ts";
import { type MaskedOptions, ScoredAttention } from "./scored.ts";

/**
 * Additive attention.
 *
 * @example
 * new AdditiveAttention(8, 8, 4, { seed: 1 }).forward(x, x).output.shape; // → [2, 3, 8]
 */
export class AdditiveAttention extends ScoredAttention {
  /** [da, dq] */
  readonly wq: FloatTensor;
  /** [da, dk] */
  readonly wk: FloatTensor;
  /** [da] */
  readonly w: FloatTensor;

  /** @param dq size of a query, dk of a key, da of the hidden layer between them */
  constructor(dq: number, dk: number, da: number, options: LayerOptions = {}) {
    super();
    checkLayerOptions("AdditiveAttention", arguments, 4, options);
    checkSizes("AdditiveAttention", { dq, dk, da });
    const { dtype } = options;
    const seed = generatorOf(options.seed);
    this.wq = fillXavierUniform(parameter([da, dq], dtype), seed);
    this.wk = fillXavierUniform(parameter([da, dk], dtype), seed);
    this.w = fillLinear(parameter([da], dtype), seed, da);
  }

  protected override attend(
    what: string,
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    options: MaskedOptions,
  ): Attended {
    const scores = additiveScores(linear(query, this.wq), linear(key, this.wk), this.w);
    // The scores are passed as the additive mask of heads of size 0, whose own scores are 0. Masks, empty rows, weights and
    // gradients are then those of every attention call.
    const [Nq, Nk] = scores.shape.slice(-2);
    const none = (rows: number) => zerosLike(scores, [...scores.shape.slice(0, -2), rows, 0]);
    const values = operand(what, "value", value, scores);
    return attention(none(Nq), none(Nk), values, {
      ...options,
      attnMask: [addedScores(scores), ...options.attnMask],
    });
  }
}

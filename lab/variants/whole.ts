/** Attention as textbooks write it, for comparison. */
import type { Tensor } from "../../src/index.ts";
import { matmul, scale, softmax } from "../../src/nn/index.ts";

/** The three passes of the formula: all products, scale and softmax of all rows, the weighted sums. */
export const PASSES = {
  products: (query: Tensor, key: Tensor): Tensor => matmul(query, key, { transposeB: true }),
  softmax: (products: Tensor, dk: number): Tensor => softmax(scale(products, 1 / Math.sqrt(dk))),
  sums: (weights: Tensor, value: Tensor): Tensor => matmul(weights, value),
} as const;

/** The formula with all scores and weights in memory, as textbooks write it. */
export const wholeMatrix = (query: Tensor, key: Tensor, value: Tensor): Tensor =>
  PASSES.sums(PASSES.softmax(PASSES.products(query, key), query.shape[1]), value);

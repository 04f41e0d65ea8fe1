/** Attention as textbooks write it, for comparison. */
import type { Tensor } from "../../src/index.ts";
import { matmul, scale, softmax } from "../../src/nn/index.ts";

/** The formula with all scores and weights in memory, as textbooks write it. */
export function wholeMatrix(query: Tensor, key: Tensor, value: Tensor): Tensor {
  const scores = scale(matmul(query, key, { transposeB: true }), 1 / Math.sqrt(query.shape[1]));
  return matmul(softmax(scores), value);
}

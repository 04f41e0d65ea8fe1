/** Softmax as attention: one query of 1, the scores as keys. */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";

/** Shares of one row of scores, float64. */
export function softmaxOf(scores: ArrayLike<number>): number[] {
  const column = tensor(Float64Array.from(scores), [scores.length, 1]);
  const one = tensor(Float64Array.of(1), [1, 1]);
  const { weights } = scaledDotProductAttention(one, column, column, { scale: 1, returnWeights: true });
  return [...weights!.toFloat64()];
}

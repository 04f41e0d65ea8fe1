/**
 * Bahdanau's scores (Bahdanau, Cho & Bengio 2015, appendix A.1.2): a hidden layer reads a query and a key together,
 *
 *   s(i, j) = w · tanh(pᵢ + rⱼ)       p = Wq·q, r = Wk·k, both of A numbers
 *
 * A dot product replaces it today. It costs one tanh per pair and hidden unit. On the CPU the backward pass recomputes them, so memory
 * holds the N×M scores, not N×M×A values. Another device computes them by operations of heed/nn, which keep N×M×A values.
 */
import { checkCount, formatTensor, ShapeError } from "../../core/errors.ts";
import { record } from "../../core/recording/record.ts";
import { sizeOf, type TensorLike } from "../../core/tensor.ts";
import { tanh } from "../ops/activations.ts";
import { add } from "../ops/arithmetic.ts";
import type { FloatTensor, Numbers } from "../ops/operand.ts";
import { checkShapeIs, numbers, numbersOf, operand, tensorFrom } from "../ops/operand.ts";
import { linear } from "../ops/products.ts";
import { reshape } from "../ops/shapes.ts";

/**
 * w·tanh(p + r) for every pair: p [..., N, A], r [..., M, A], w [A], scores [..., N, M]. Leading axes are equal.
 *
 * @example
 * additiveScores(ones([1, 2, 4]), ones([1, 3, 4]), ones([4])).shape; // → [1, 2, 3]
 */
export function additiveScores(p: TensorLike, r: TensorLike, w: TensorLike): FloatTensor {
  checkCount("additiveScores", arguments, 3);
  const what = "additiveScores";
  const query = operand(what, "p", p);
  const key = operand(what, "r", r, query);
  const weight = operand(what, "w", w, query);
  const [lead, [N, A]] = [query.shape.slice(0, -2), query.shape.slice(-2)];
  if (query.shape.length < 2 || key.shape.length < 2)
    throw new ShapeError(
      "rank",
      `${what}: expected [..., N, A] and [..., M, A]; ${formatTensor("p", query)}, ${formatTensor("r", key)}`,
      { p: query.shape, r: key.shape },
    );
  const M = key.shape[key.shape.length - 2];
  checkShapeIs(what, "r", key, [...lead, M, A]);
  checkShapeIs(what, "w", weight, [A]);
  if (query.device !== "cpu") {
    const inner = add(reshape(query, [...lead, N, 1, A]), reshape(key, [...lead, 1, M, A]));
    return reshape(linear(tanh(inner), reshape(weight, [1, A])), [...lead, N, M]);
  }
  const [a, b, c] = [query, key, weight].map(numbersOf);
  const batch = sizeOf(lead);
  const out = numbers(query.dtype, batch * N * M);
  for (let n = 0, cell = 0; n < batch; n++)
    for (let i = 0; i < N; i++)
      for (let j = 0; j < M; j++, cell++) {
        const [from, to] = [(n * N + i) * A, (n * M + j) * A];
        let sum = 0;
        for (let h = 0; h < A; h++) sum += c[h] * Math.tanh(a[from + h] + b[to + h]);
        out[cell] = sum;
      }
  const y = tensorFrom(out, [...lead, N, M]);
  record({
    name: what,
    inputs: [query, key, weight],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [];
      const [da, db, dc] = scoreGradients(a, b, c, numbersOf(d), [batch, N, M, A]);
      const like = (sum: Float64Array) => (query.dtype === "float64" ? sum : Float32Array.from(sum));
      return [
        tensorFrom(like(da), query.shape),
        tensorFrom(like(db), key.shape),
        tensorFrom(like(dc), weight.shape),
      ];
    },
  });
  return y;
}

function scoreGradients(
  a: Numbers,
  b: Numbers,
  c: Numbers,
  ds: Numbers,
  [batch, N, M, A]: readonly number[],
): [Float64Array, Float64Array, Float64Array] {
  const [da, db, dc] = [a, b, c].map((x) => new Float64Array(x.length));
  for (let n = 0, cell = 0; n < batch; n++)
    for (let i = 0; i < N; i++)
      for (let j = 0; j < M; j++, cell++) {
        const g = ds[cell];
        // A masked score: its key is not read, whatever its values.
        if (g === 0) continue;
        const [from, to] = [(n * N + i) * A, (n * M + j) * A];
        for (let h = 0; h < A; h++) {
          const t = Math.tanh(a[from + h] + b[to + h]);
          const inner = g * c[h] * (1 - t * t);
          da[from + h] += inner;
          db[to + h] += inner;
          dc[h] += g * t;
        }
      }
  return [da, db, dc];
}

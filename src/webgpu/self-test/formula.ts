/**
 * Attention of the self-test by the formula, in float64: one batch entry, query heads that share one key head, a causal mask from the lower
 * right or none, and if there are any a float mask [M, N], sinks, and ALiBi's slopes. src/reference computes every option, and is
 * several times as large in a bundle.
 */
import type { BackwardResult, BackwardTensors } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import type { State } from "../../core/state.ts";
import { Tensor } from "../../core/tensor.ts";
import { tablesOf } from "../../masks/expression/expr.ts";

const tensor = (data: Float64Array, shape: readonly number[]): Tensor => new Tensor(data, shape, "float64");

/** The numbers of a problem, and the score of a cell: −∞ where it is masked. */
function numbersOf({ shape, scale, mask, score, tensors, sinks }: Problem) {
  const { Hq: H, Nq: M, Nk: N, dk: D, dv: E } = shape;
  const [q, k, v] = [shape.query, shape.key, shape.value].map((x) => x.tensor.toFloat64());
  const bias = tensors[0]?.tensor.toFloat64();
  const slopes = score && tablesOf(score)[0].data;
  const scoreOf = (h: number, i: number, j: number): number => {
    if (mask && j > i + N - M) return -Infinity;
    let s = 0;
    for (let d = 0; d < D; d++) s += q[(h * M + i) * D + d] * k[j * D + d];
    return s * scale + (bias?.[i * N + j] ?? 0) - (slopes?.[h] ?? 0) * Math.abs(i - j);
  };
  return { H, M, N, D, E, q, k, v, sinks, scoreOf };
}

/** Output and lse. No score of the self-test is large, so exp needs no maximum. */
export function forward(problem: Problem): State {
  const { H, M, N, E, v, sinks, scoreOf } = numbersOf(problem);
  const [output, lse] = [new Float64Array(H * M * E), new Float64Array(H * M)];
  for (let row = 0; row < H * M; row++) {
    const h = Math.floor(row / M);
    const p = Float64Array.from({ length: N }, (_, j) => Math.exp(scoreOf(h, row % M, j)));
    const l = p.reduce((sum, x) => sum + x, sinks ? Math.exp(sinks[h]) : 0);
    lse[row] = Math.log(l);
    p.forEach((x, j) => {
      for (let e = 0; e < E; e++) output[row * E + e] += (x / l) * v[j * E + e];
    });
  }
  return { output: tensor(output, [1, H, M, E]), lse: tensor(lse, [1, H, M]) };
}

/** The weights of heads and rows. */
export function weights(
  problem: Problem,
  lse: Tensor,
  heads: readonly number[],
  rows: readonly number[],
): Tensor {
  const { M, N, scoreOf } = numbersOf(problem);
  const l = lse.toFloat64();
  const cells = heads.flatMap((h) => rows.flatMap((i) => Array.from({ length: N }, (_, j) => Math.exp(scoreOf(h, i, j) - l[h * M + i])))); // biome-ignore format: one sum
  return tensor(Float64Array.from(cells), [1, heads.length, rows.length, N]);
}

/** All gradients. */
export function backward(problem: Problem, tensors: BackwardTensors): BackwardResult {
  const { H, M, N, D, E, q, k, v, sinks, scoreOf } = numbersOf(problem);
  const [dO, o, lse] = [tensors.dOutput, tensors.output, tensors.lse].map((t) => t.toFloat64());
  const [dq, dk, dv] = [H * M * D, N * D, N * E].map((n) => new Float64Array(n));
  const [dMask, dSinks, dSlopes] = [M * N, H, H].map((n) => new Float64Array(n));
  for (let row = 0; row < H * M; row++) {
    const [h, i] = [Math.floor(row / M), row % M];
    let delta = 0;
    for (let e = 0; e < E; e++) delta += o[row * E + e] * dO[row * E + e];
    if (sinks) dSinks[h] -= Math.exp(sinks[h] - lse[row]) * delta;
    for (let j = 0; j < N; j++) {
      const p = Math.exp(scoreOf(h, i, j) - lse[row]);
      let dp = 0;
      for (let e = 0; e < E; e++) dp += dO[row * E + e] * v[j * E + e];
      const ds = p * (dp - delta);
      for (let e = 0; e < E; e++) dv[j * E + e] += p * dO[row * E + e];
      for (let d = 0; d < D; d++) {
        dq[row * D + d] += problem.scale * ds * k[j * D + d];
        dk[j * D + d] += problem.scale * ds * q[row * D + d];
      }
      dMask[i * N + j] += ds;
      dSlopes[h] -= ds * Math.abs(i - j);
    }
  }
  return {
    dQuery: tensor(dq, [1, H, M, D]),
    dKey: tensor(dk, [1, 1, N, D]),
    dValue: tensor(dv, [1, 1, N, E]),
    masks: [tensor(dMask, [M, N])],
    sinks: tensor(dSinks, [H]),
    tables: new Map((problem.score ? tablesOf(problem.score) : []).map((t) => [t, tensor(dSlopes, [H])])),
  };
}

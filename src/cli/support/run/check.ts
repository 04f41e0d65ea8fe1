/**
 * Compares a result with the formula in float64, over a few rows spread through the problem. An error is measured
 * in units of the scale-free bound for float32 sums: |Δo| ≤ (δ + (Nk + 16)·u)·Σ_j p_j·|v_j|, with
 * δ = 2·(dk + 3)·u·scale·max_j Σ_c |q_c·k_jc| + 16·u·max_j |s_j|, u = 2⁻²⁴ (2⁻⁵³ for float64), plus half a step of
 * a 16-bit output. An error above 1 is a wrong result.
 */

import type { Problem } from "../../../backend/problem.ts";
import { isHalf, isStored, readerOf, roundingOf } from "../../../core/dtype.ts";
import type { Tensor } from "../../../core/tensor.ts";
import { rowsOf } from "../../../rows/problem-rows.ts";
import { exponentiate } from "../../../rows/softmax.ts";

/** The result of a check. */
export interface Check {
  /** Number of checked rows. */
  readonly rows: number;
  /** Total number of rows. */
  readonly of: number;
  /** Largest |Δ| of an output element, its indices, and the actual and the expected value. */
  readonly worst: number;
  readonly at: { readonly b: number; readonly h: number; readonly row: number; readonly column: number };
  readonly got: number;
  readonly expected: number;
  /** Largest error in units of the bound; at most 1 for a correct result. */
  readonly bounds: number;
}

/** Compares up to `most` rows of a result with the reference. */
export function checkRows(problem: Problem, output: Tensor, maximum = 64): Check {
  const { shape, scale, dtype } = problem;
  const { B, Hq, Nq, Nk, dk, dv, G, layout, query, key, value } = shape;
  const total = B * Hq * Nq;
  const u = roundingOf(isStored(dtype) ? "float32" : dtype);
  const rounding = isHalf(dtype) ? roundingOf(dtype) : 0;
  const walker = rowsOf(problem);
  const [q, k, v, o] = [query.tensor, key.tensor, value.tensor, output].map((t) => readerOf(t.dtype, t.data));
  const scores = new Float64Array(Nk);
  const p = new Float64Array(Nk);
  const count = Math.min(maximum, total);
  const check = { worst: 0, at: { b: 0, h: 0, row: 0, column: 0 }, got: 0, expected: 0, bounds: 0 };
  for (let n = 0; n < count; n++) {
    // Spread evenly, ends included; a power-of-two step would check the same row of every tile.
    const index = count === total ? n : Math.round((n * (total - 1)) / Math.max(1, count - 1));
    const [b, h, row] = [Math.floor(index / (Hq * Nq)), Math.floor(index / Nq) % Hq, index % Nq];
    const highest = walker.scores(b, h, row, scores);
    p.set(scores);
    const { l } = exponentiate(p, highest, problem.sinks?.[h]);
    let largest = 0;
    let products = 0;
    const sum = new Float64Array(dv);
    const size = new Float64Array(dv);
    const group = Math.floor(h / G);
    for (let j = 0; j < Nk; j++) {
      if (scores[j] === -Infinity) continue;
      const w = p[j] * walker.dropoutFactor(b, h, row, j);
      largest = Math.max(largest, Math.abs(scores[j]));
      let product = 0;
      const qAt = query.base[b] + h * query.head + row * query.row;
      const kAt = key.base[b] + group * key.head + j * key.row;
      for (let c = 0; c < dk; c++) product += Math.abs(q(qAt + c * query.column) * k(kAt + c * key.column));
      products = Math.max(products, product);
      const vAt = value.base[b] + group * value.head + j * value.row;
      for (let e = 0; e < dv; e++) {
        const x = w * v(vAt + e * value.column);
        sum[e] += x;
        size[e] += Math.abs(x);
      }
    }
    const delta = 2 * (dk + 3) * u * Math.abs(scale) * products + 16 * u * largest;
    const start = layout === "bshd" ? ((b * Nq + row) * Hq + h) * dv : ((b * Hq + h) * Nq + row) * dv;
    for (let e = 0; e < dv; e++) {
      const expected = l === 0 ? 0 : sum[e] / l;
      const got = o(start + e);
      const same = got === expected || (got !== got && expected !== expected);
      const off = same ? 0 : Math.abs(got - expected);
      const error = off === off ? off : Number.POSITIVE_INFINITY; // A NaN on one side only.
      const bound =
        l === 0
          ? 0
          : (delta + (Nk + 16) * u) * (size[e] / l) + rounding * Math.abs(expected) + (rounding && 2 ** -24);
      // Visible infinities make the bound infinite or NaN: then any finite error is within it.
      const share = error === 0 ? 0 : !Number.isFinite(error) ? error : bound === bound ? error / bound : 0;
      if (error > check.worst)
        Object.assign(check, { worst: error, at: { b, h, row, column: e }, got, expected });
      if (share > check.bounds) check.bounds = share;
    }
  }
  return { rows: count, of: total, ...check };
}

/**
 * The same result one tile of keys at a time: the online softmax of Milakov & Gimelshein 2018, tiled as in
 * FlashAttention (Dao et al. 2022, algorithm 1). No complete row of weights is ever stored.
 *
 * Softmax needs the maximum m of a row before the first exponential. The online softmax uses the maximum so far; when a later
 * tile raises it from m to m′, it multiplies the sums so far by exp(m − m′):
 *
 *   m′ = max(m, max s)      l′ = l·exp(m − m′) + Σ exp(s − m′)      o′ = o·exp(m − m′) + Σ exp(s − m′)·v
 *
 * After the last tile output = o / l and lse = m + log l, as in `forward.ts`. It is a generator that yields each tile, to be
 * inspected.
 */
import { checkCount, refuseGot } from "../core/errors.ts";
import type { FormulaOptions, FormulaSizes, Forward } from "./forward.ts";
import { checkInputs, OPTIONS, scaleOf } from "./forward.ts";

/** Options of the formula, and the tile sizes. */
export interface OnlineOptions extends FormulaOptions {
  /** Query rows of a tile. Default 1: row by row. */
  readonly tileM?: number;
  /** Keys of a tile. Default 16. */
  readonly tileN?: number;
}

/** State after one tile. Arrays are copies: later tiles do not change them. */
export interface OnlineStep {
  /** Rows of the tile: first, and last + 1. */
  readonly rows: readonly [number, number];
  /** Keys of the tile: first, and last + 1. */
  readonly keys: readonly [number, number];
  /** Scores of the tile [rows, keys]; −∞ where masked. */
  readonly s: Float64Array;
  /** Maximum of each row so far [rows], this tile included. */
  readonly m: Float64Array;
  /** Factor of the earlier sums [rows]: exp(m before − m), 1 where the maximum did not change. */
  readonly rescale: Float64Array;
  /** exp(s − m) of the tile [rows, keys]: weights, not yet divided by l. */
  readonly p: Float64Array;
  /** Sum of exponentials of each row so far [rows]. */
  readonly l: Float64Array;
  /** Sum of p·v so far [rows, dv], not yet divided by l. */
  readonly o: Float64Array;
}

/**
 * softmax(q·kᵀ·scale)·v of one head, yielding every tile and returning the result. Arguments as in `forward`.
 *
 * @example
 * const sizes = { Nq: 1, Nk: 2, dk: 1, dv: 1 };
 * for (const step of online(Float64Array.of(1), Float64Array.of(1, 2), Float64Array.of(3, 5), sizes, { tileN: 1 }))
 *   console.log(step); // maximum, sum and output after each tile of keys
 */
export function* online(
  q: Float64Array,
  k: Float64Array,
  v: Float64Array,
  sizes: FormulaSizes,
  options: OnlineOptions = {},
): Generator<OnlineStep, Omit<Forward, "weights">> {
  checkCount("online", arguments, 5);
  checkInputs("online", q, k, v, sizes, options, [...OPTIONS, "tileM", "tileN"]);
  const { Nq, Nk, dk, dv } = sizes;
  const { scale = scaleOf(dk), allowed, score, tileM = 1, tileN = 16 } = options;
  for (const [name, n] of Object.entries({ tileM, tileN }))
    if (!(Number.isSafeInteger(n) && n >= 1)) refuseGot("tile", `online: ${name} must be an integer ≥ 1`, n);
  const output = new Float64Array(Nq * dv);
  const lse = new Float64Array(Nq).fill(-Infinity);

  for (let i0 = 0; i0 < Nq; i0 += tileM) {
    const i1 = Math.min(i0 + tileM, Nq);
    const M = i1 - i0;
    const m = new Float64Array(M).fill(-Infinity);
    const l = new Float64Array(M);
    const o = new Float64Array(M * dv);

    for (let j0 = 0; j0 < Nk; j0 += tileN) {
      const j1 = Math.min(j0 + tileN, Nk);
      const N = j1 - j0;
      const s = new Float64Array(M * N).fill(-Infinity);
      const p = new Float64Array(M * N);
      const rescale = new Float64Array(M).fill(1);

      for (let i = 0; i < M; i++) {
        // 1. Scores of this tile, and the new maximum.
        let highest = m[i];
        for (let j = 0; j < N; j++) {
          if (allowed && !allowed(i0 + i, j0 + j)) continue;
          let dot = 0;
          for (let d = 0; d < dk; d++) dot += q[(i0 + i) * dk + d] * k[(j0 + j) * dk + d];
          const x = score ? score(dot * scale, i0 + i, j0 + j) : dot * scale;
          s[i * N + j] = x;
          if (x > highest) highest = x;
        }

        // 2. Rescale the sums to the new maximum. In the first tile m is −∞, and −∞ − (−∞) would be NaN: nothing to rescale.
        if (m[i] !== -Infinity) rescale[i] = Math.exp(m[i] - highest);
        m[i] = highest;
        l[i] *= rescale[i];
        for (let e = 0; e < dv; e++) o[i * dv + e] *= rescale[i];

        // 3. The exponentials of this tile, and its part of the output.
        for (let j = 0; j < N; j++) {
          if (s[i * N + j] === -Infinity) continue;
          const x = Math.exp(s[i * N + j] - m[i]);
          p[i * N + j] = x;
          l[i] += x;
          for (let e = 0; e < dv; e++) o[i * dv + e] += x * v[(j0 + j) * dv + e];
        }
      }
      yield { rows: [i0, i1], keys: [j0, j1], s, m: m.slice(), rescale, p, l: l.slice(), o: o.slice() };
    }

    // 4. One division per row, at the end.
    for (let i = 0; i < M; i++) {
      if (l[i] === 0) continue; // a fully masked row: output 0, lse −∞
      for (let e = 0; e < dv; e++) output[(i0 + i) * dv + e] = o[i * dv + e] / l[i];
      lse[i0 + i] = m[i] + Math.log(l[i]);
    }
  }
  return { output, lse };
}

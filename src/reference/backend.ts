/**
 * The backend in plain TypeScript: every option and dtype, in float64, one row of scores at a time. Linear memory,
 * no WebAssembly, so it also runs under the strictest Content-Security-Policy. It is what the kernels are tested
 * against, and what float64 calls and `configure({ simd: "reference" })` use.
 */
import { readerOf, type TypedData, writerOf } from "../core/dtype.ts";
import { cellBits, dropoutThreshold, headKey, rowKey } from "../core/random.ts";
import type { Backend, LseReader, Result } from "../plan/backend.ts";
import type { Problem } from "../plan/problem.ts";
import { type Cell, compile } from "../score/js.ts";
import { backward } from "./gradients.ts";

/** Scores of one row, then its weights: all that the loops below need. */
export interface RowWalker {
  /** Fills `scores` [Nk] with the scores of a row after scale, changes and masks; −∞ where nothing may be read. Returns their maximum. */
  scores(b: number, h: number, row: number, scores: Float64Array): number;
  /** Factor dropout puts on a cell: 0 or 1/(1 − p). */
  kept(b: number, h: number, row: number, k: number): number;
}

/** A walker over the rows of a problem. */
export function rowsOf(problem: Problem): RowWalker {
  const { shape, scale, offsets, tensors } = problem;
  const { query, key, G, Nk, dk } = shape;
  const mask = problem.mask && compile(problem.mask);
  const score = problem.score && compile(problem.score);
  const cell: Cell = { b: 0, h: 0, i: 0, q: 0, k: 0, score: 0 };
  const readQ = readerOf(query.tensor.dtype, query.tensor.data);
  const readK = readerOf(key.tensor.dtype, key.tensor.data);
  const readers = tensors.map((t) => readerOf(t.tensor.dtype, t.tensor.data));
  const q = new Float64Array(dk);
  const threshold = dropoutThreshold(problem.dropoutP);
  return {
    scores(b, h, row, scores) {
      const qAt = query.base[b] + h * query.head + row * query.row;
      for (let d = 0; d < dk; d++) q[d] = readQ(qAt + d * query.column);
      const kHead = key.base[b] + Math.floor(h / G) * key.head;
      cell.b = b;
      cell.h = h;
      cell.i = row;
      cell.q = row + offsets[b];
      let m = -Infinity;
      for (let k = 0; k < Nk; k++) {
        cell.k = k;
        scores[k] = -Infinity;
        if (mask && !mask(cell)) continue;
        let added = 0;
        for (let n = 0; n < tensors.length; n++) {
          const t = tensors[n];
          const x = readers[n](t.base[b] + h * t.head + row * t.row + k * t.column);
          if (t.kind === "bool" ? x === 0 : x === -Infinity) {
            added = -Infinity;
            break;
          }
          if (t.kind === "float") added += x;
        }
        if (added === -Infinity) continue;
        let s = 0;
        const kAt = kHead + k * key.row;
        for (let d = 0; d < dk; d++) s += q[d] * readK(kAt + d * key.column);
        s *= scale;
        if (score) {
          cell.score = s;
          s = score(cell);
        }
        s += added;
        scores[k] = s;
        // NaN in visible data must reach the result: it passes the maximum by and is found again in exp.
        if (s > m) m = s;
      }
      return m;
    },
    kept(b, h, row, k) {
      if (problem.dropoutP === 0) return 1;
      const bits = cellBits(rowKey(headKey(problem.seed, b, h), row + offsets[b]), k);
      return bits >= threshold ? 1 / (1 - problem.dropoutP) : 0;
    },
  };
}

/** Fills the output and lse of a problem. */
export function forward(problem: Problem, out: Result): void {
  const { B, Hq, Nq, Nk, dv, G, value } = problem.shape;
  const rows = rowsOf(problem);
  const readV = readerOf(value.tensor.dtype, value.tensor.data);
  const write = writerOf(problem.dtype, out.output);
  const scores = new Float64Array(Nk);
  const o = new Float64Array(dv);
  let at = 0;
  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++) {
      const vHead = value.base[b] + Math.floor(h / G) * value.head;
      for (let row = 0; row < Nq; row++, at++) {
        const highest = rows.scores(b, h, row, scores);
        const sink = problem.sinks ? problem.sinks[h] : -Infinity;
        const m = Math.max(highest, sink);
        let l = 0;
        o.fill(0);
        for (let k = 0; k < Nk; k++) {
          if (scores[k] === -Infinity) continue;
          const p = Math.exp(scores[k] - m);
          l += p;
          const w = p * rows.kept(b, h, row, k);
          const vAt = vHead + k * value.row;
          for (let e = 0; e < dv; e++) o[e] += w * readV(vAt + e * value.column);
        }
        if (sink !== -Infinity) l += Math.exp(sink - m);
        const start = b * out.batch + h * out.head + row * out.row;
        for (let e = 0; e < dv; e++) write(start + e, l === 0 ? 0 : o[e] / l);
        out.lse[at] = l === 0 ? -Infinity : m + Math.log(l);
      }
    }
}

/** Fills `out` [B, heads, rows, Nk] with the weights of chosen heads and rows: exp(score − lse), with dropout's factor. */
export function weights(
  problem: Problem,
  lse: LseReader,
  heads: readonly number[],
  rows: readonly number[],
  out: TypedData,
): void {
  const { B, Nk } = problem.shape;
  const walker = rowsOf(problem);
  const scores = new Float64Array(Nk);
  const write = writerOf(problem.dtype, out);
  let at = 0;
  for (let b = 0; b < B; b++)
    for (const h of heads)
      for (const row of rows) {
        const m = Math.max(walker.scores(b, h, row, scores), problem.sinks ? problem.sinks[h] : -Infinity);
        let l = problem.sinks ? Math.exp(problem.sinks[h] - m) : 0;
        for (let k = 0; k < Nk; k++) if (scores[k] !== -Infinity) l += Math.exp(scores[k] - m);
        // A float32 lse of 10⁴ is rounded by up to 5e-4, and every weight would show it: where it is the lse of these
        // keys, and not of more that were merged, its parts are at hand unrounded.
        const given = lse(b, h, row);
        const whole = Math.fround(m + Math.log(l)) === Math.fround(given);
        for (let k = 0; k < Nk; k++, at++) {
          const w = whole ? Math.exp(scores[k] - m) / l : Math.exp(scores[k] - given);
          write(at, scores[k] === -Infinity ? 0 : w * walker.kept(b, h, row, k));
        }
      }
}

/** The backend: takes every problem. */
export const reference: Backend = {
  name: "reference",
  refuses: () => undefined,
  plan: (problem) => ({
    backend: "reference",
    level: "reference",
    kernel: `reference ${problem.dtype} in float64 loops`,
    threads: 1,
    tasks: problem.shape.B * problem.shape.Hq,
    blockRows: 1,
    keyTile: problem.shape.Nk,
    splits: 1,
    stages: 1,
    bytes: 8 * (problem.shape.Nk + problem.shape.dk + problem.shape.dv),
  }),
  forward,
  weights,
  refusesBackward: () => undefined,
  backward,
};

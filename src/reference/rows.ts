/**
 * Rows of scores and weights of a problem, in float64: every mask, score mod and dtype, one row at a time. The
 * forward pass, the weights and the backward pass of the reference all use them.
 */

import type { Problem } from "../backend/problem.ts";
import { readerOf } from "../core/dtype.ts";
import { cellBits, dropoutThreshold, headKey, rowKey } from "../core/random/random.ts";
import type { Operand } from "../core/shape.ts";
import { type Cell, compile } from "../masks/expression/js.ts";
import { exponentiateRow, weightOf } from "./row.ts";

/** Scores and dropout factors, one row at a time. */
export interface RowWalker {
  /**
   * Fills `scores` [Nk] with the scores of a row after scale, score mods and masks; −∞ where masked. Returns their maximum.
   * Fills `before` [Nk] with the scores before all score mods: scale·q·k.
   */
  scores(b: number, h: number, row: number, scores: Float64Array, before?: Float64Array): number;
  /** Dropout factor of a cell: 0 or 1/(1 − p). */
  dropoutFactor(b: number, h: number, row: number, k: number): number;
}

/** A function that copies one vector of an operand into an array. */
export function vectorsOf(x: Operand): (b: number, h: number, row: number, into: Float64Array) => void {
  const read = readerOf(x.tensor.dtype, x.tensor.data);
  return (b, h, row, into) => {
    const at = x.base[b] + h * x.head + row * x.row;
    for (let d = 0; d < into.length; d++) into[d] = read(at + d * x.column);
  };
}

/** The scores and dropout factors of a problem. */
export function rowsOf(problem: Problem): RowWalker {
  const { shape, scale, offsets, positions, tensors } = problem;
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
    scores(b, h, row, scores, before) {
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
        if (before) before[k] = s;
        if (score) {
          cell.score = s;
          s = score(cell);
        }
        s += added;
        scores[k] = s;
        // NaN in visible data must reach the result: the maximum ignores it, and exp propagates it.
        if (s > m) m = s;
      }
      return m;
    },
    dropoutFactor(b, h, row, k) {
      if (problem.dropoutP === 0) return 1;
      const bits = cellBits(
        rowKey(headKey(problem.seed, b, h), positions.query(b, row)),
        positions.key(b, k),
      );
      return bits >= threshold ? 1 / (1 - problem.dropoutP) : 0;
    },
  };
}

/**
 * The weights of a row from its scores and a given lse: p = exp(s − lse), without dropout. A float32 lse of 10⁴ has a
 * rounding error of up to 5e-4, which every weight would show. So where it is the lse of exactly these keys, and not of more
 * that were merged (`complete`), lse is computed again from the scores, unrounded. Returns the lse used; default: that of
 * these keys.
 */
export function rowWeights(
  problem: Problem,
  h: number,
  given: number | undefined,
  highest: number,
  scores: Float64Array,
  p: Float64Array,
): { lse: number; complete: boolean } {
  p.set(scores);
  const { l, lse: own } = exponentiateRow(p, highest, problem.sinks?.[h]);
  if (given === -Infinity || (given === undefined && own === -Infinity)) {
    p.fill(0);
    return { lse: -Infinity, complete: true };
  }
  // Equal within the rounding of the given lse: other keys contributed no more than that.
  const rounding = problem.dtype === "float64" ? 2 ** -50 : 2 ** -22;
  const complete = given === undefined || Math.abs(own - given) <= rounding * (1 + Math.abs(own));
  for (let k = 0; k < p.length; k++) p[k] = complete ? p[k] / l : weightOf(scores[k], given as number);
  return { lse: complete ? own : (given as number), complete };
}

/**
 * The forward pass of a complete problem in float64: every option and dtype, one row of scores at a time, in memory linear in
 * Nk. `forward.ts` is the formula alone; this file adds heads, groups, masks, sinks and dropout.
 */

import type { BackendPart, LseReader, Result, SlicedPart } from "../backend/contract.ts";
import type { Problem } from "../backend/problem.ts";
import { computeAll, computeState, computeWeights } from "../backend/results.ts";
import { readerOf, type TypedData, writerOf } from "../core/dtype.ts";
import { rowsOf, rowWeights } from "../rows/problem-rows.ts";

/** Operations of one slice: some milliseconds. */
export const SLICE_OPERATIONS = 4e6;

/** Fills the output and lse of a problem, some rows at a time. */
export function* forward(problem: Problem, out: Result): Generator<number, void> {
  const { B, Hq, Nq, Nk, dk, dv, G, value } = problem.shape;
  const rows = rowsOf(problem);
  const readV = readerOf(value.tensor.dtype, value.tensor.data);
  const write = writerOf(problem.dtype, out.output);
  const scores = new Float64Array(Nk);
  const p = new Float64Array(Nk);
  const o = new Float64Array(dv);
  const sliceRows = Math.ceil(SLICE_OPERATIONS / (2 * Nk * (dk + dv) + 1));
  let at = 0;
  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++) {
      const vHead = value.base[b] + Math.floor(h / G) * value.head;
      for (let row = 0; row < Nq; row++, at++) {
        const highest = rows.scores(b, h, row, scores);
        out.lse[at] = rowWeights(problem, h, undefined, highest, scores, p).lse;
        o.fill(0);
        for (let k = 0; k < Nk; k++) {
          if (scores[k] === -Infinity) continue;
          const w = p[k] * rows.dropoutFactor(b, h, row, k);
          const vAt = vHead + k * value.row;
          for (let e = 0; e < dv; e++) o[e] += w * readV(vAt + e * value.column);
        }
        const start = b * out.batch + h * out.head + row * out.row;
        for (let e = 0; e < dv; e++) write(start + e, o[e]);
        if ((at + 1) % sliceRows === 0) yield (at + 1) / (B * Hq * Nq);
      }
    }
}

/** Fills `out` [B, heads, rows, Nk] with the weights of chosen heads and rows: exp(score − lse), with dropout's factor. */
function weights(
  problem: Problem,
  lse: LseReader,
  heads: readonly number[],
  rows: readonly number[],
  out: TypedData,
): void {
  const { B, Nk } = problem.shape;
  const walker = rowsOf(problem);
  const scores = new Float64Array(Nk);
  const p = new Float64Array(Nk);
  const write = writerOf(problem.dtype, out);
  let at = 0;
  for (let b = 0; b < B; b++)
    for (const h of heads)
      for (const row of rows) {
        rowWeights(problem, h, lse(b, h, row), walker.scores(b, h, row, scores), scores, p);
        for (let k = 0; k < Nk; k++, at++) write(at, p[k] * walker.dropoutFactor(b, h, row, k));
      }
}

/** The forward pass. */
export const referenceForward: SlicedPart<"forward"> = {
  name: "reference",
  device: "cpu",
  supports: () => undefined,
  forward: (problem) => computeAll(referenceForward.forwardSlices(problem)),
  forwardSlices: (problem) => computeState(problem, (result) => forward(problem, result)),
};

/** The weights of some heads and rows. */
export const referenceWeights: BackendPart<"weights"> = {
  name: "reference",
  device: "cpu",
  supports: () => undefined,
  weights: (problem, lse, selection) =>
    computeWeights(problem, lse, selection, (read, data) =>
      weights(problem, read, selection.heads, selection.rows, data),
    ),
};

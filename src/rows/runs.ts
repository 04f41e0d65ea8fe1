/**
 * The keys that a query may attend to, as runs: from, to, from, to … ascending, with gaps in between. `runFinder` finds them by
 * the mask's bounds, which classify a range of keys as all visible, all masked or mixed; a mixed range is halved until it is short.
 * A causal row takes a few evaluations, not one per key.
 */
import { compileTileClassifier } from "../masks/expression/bounds.ts";
import type { BoolExpression } from "../masks/expression/expr.ts";
import { type Cell, compile } from "../masks/expression/js.ts";

/** Number of keys at which a mixed range is not halved further: one key at a time is then cheaper than two bounds. */
const SHORT = 8;

/** Fills `runs` with the keys that query i may attend to. */
export type RunFinder = (i: number, runs: number[]) => void;

/** The run finder of batch entry 0 and head 0 under a mask, with Nk keys; query i has the position i + offset. */
export function runFinder(mask: BoolExpression, offset: number, Nk: number): RunFinder {
  const [allowed, classify] = [compile(mask), compileTileClassifier(mask)];
  const cell: Cell = { b: 0, h: 0, i: 0, q: 0, k: 0, score: 0 };
  const box = { b0: 0, b1: 0, h0: 0, h1: 0, i0: 0, i1: 0, k0: 0, k1: 0, offset0: offset, offset1: offset };
  const visit = (from: number, to: number, runs: number[]): void => {
    box.k0 = from;
    box.k1 = to - 1;
    const tile = classify(box);
    if (tile === "skip") return;
    if (tile === "full") addRun(runs, from, to);
    else if (to - from <= SHORT) {
      for (cell.k = from; cell.k < to; cell.k++) if (allowed(cell)) addRun(runs, cell.k, cell.k + 1);
    } else {
      const middle = (from + to) >> 1;
      visit(from, middle, runs);
      visit(middle, to, runs);
    }
  };
  return (i, runs) => {
    runs.length = 0;
    cell.i = box.i0 = box.i1 = i;
    cell.q = i + offset;
    if (Nk > 0) visit(0, Nk, runs);
  };
}

/** Number of keys in runs. */
export function keysIn(runs: readonly number[]): number {
  let count = 0;
  for (let n = 0; n < runs.length; n += 2) count += runs[n + 1] - runs[n];
  return count;
}

/** Appends a run, or extends the last one. */
export function addRun(runs: number[], from: number, to: number): void {
  if (runs.length > 0 && runs[runs.length - 1] === from) runs[runs.length - 1] = to;
  else runs.push(from, to);
}

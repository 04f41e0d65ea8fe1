/**
 * The keys that a query may attend to, from a mask of `src/masks`. The mask's bounds classify a range of keys as all visible, all
 * masked or mixed; a mixed range is halved. A causal row takes a few evaluations, not one per key.
 */
import { compileTileClassifier } from "../../masks/expression/bounds.ts";
import type { BoolExpression } from "../../masks/expression/expr.ts";
import { type Cell, compile } from "../../masks/expression/js.ts";

/** A compiled mask of one head. */
export class Visibility {
  private readonly cell: Cell = { b: 0, h: 0, i: 0, q: 0, k: 0, score: 0 };
  private readonly box = { b0: 0, b1: 0, h0: 0, h1: 0, i0: 0, i1: 0, k0: 0, k1: 0, offset0: 0, offset1: 0 };
  private readonly allowed: ((cell: Cell) => number) | undefined;
  private readonly classify: ReturnType<typeof compileTileClassifier> | undefined;
  private readonly queryOffset: number;

  /** Without a mask, every key is visible. */
  constructor(mask: BoolExpression | undefined, queryOffset: number) {
    this.queryOffset = queryOffset;
    this.allowed = mask && compile(mask);
    this.classify = mask && compileTileClassifier(mask);
    this.box.offset0 = this.box.offset1 = queryOffset;
  }

  /** True if query i may attend to key j. */
  sees(i: number, j: number): boolean {
    if (!this.allowed) return true;
    const { cell } = this;
    cell.i = i;
    cell.q = i + this.queryOffset;
    cell.k = j;
    return this.allowed(cell) !== 0;
  }

  /** Fills `runs` with the keys from 0 to Nk that query i may attend to: from, to, from, to … ascending, with gaps in between. */
  runs(i: number, Nk: number, runs: number[]): void {
    runs.length = 0;
    if (Nk === 0) return;
    if (!this.allowed) runs.push(0, Nk);
    else this.visit(i, 0, Nk, runs);
  }

  private visit(i: number, from: number, to: number, runs: number[]): void {
    const { box } = this;
    box.i0 = box.i1 = i;
    box.k0 = from;
    box.k1 = to - 1;
    const found = this.classify!(box);
    if (found === "skip") return;
    if (found === "full") addRun(runs, from, to);
    else if (to === from + 1) {
      if (this.sees(i, from)) addRun(runs, from, to);
    } else {
      const middle = (from + to) >> 1;
      this.visit(i, from, middle, runs);
      this.visit(i, middle, to, runs);
    }
  }
}

/** Number of keys in runs (from, to, from, to …). */
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

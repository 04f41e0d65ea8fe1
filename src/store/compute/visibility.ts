/**
 * Which keys a query may see, from a mask of `src/masks`: the mask's bounds over a range of keys tell ranges that are all
 * seen or all hidden, and only what is left is asked cell by cell. So a causal row costs a few questions, not one a key.
 */
import { compileTileClassifier } from "../../masks/expression/bounds.ts";
import type { BoolExpression } from "../../masks/expression/expr.ts";
import { type Cell, compile } from "../../masks/expression/js.ts";

/** Ranges of at most so many keys are asked cell by cell. */
const SMALL = 8;

/** A mask ready to answer for one head. */
export class Visibility {
  private readonly cell: Cell = { b: 0, h: 0, i: 0, q: 0, k: 0, score: 0 };
  private readonly box = { b0: 0, b1: 0, h0: 0, h1: 0, i0: 0, i1: 0, k0: 0, k1: 0, offset0: 0, offset1: 0 };
  private readonly allowed: ((cell: Cell) => number) | undefined;
  private readonly classify: ReturnType<typeof compileTileClassifier> | undefined;
  private readonly queryOffset: number;

  /** Without a mask every key is seen. */
  constructor(mask: BoolExpression | undefined, queryOffset: number) {
    this.queryOffset = queryOffset;
    this.allowed = mask && compile(mask);
    this.classify = mask && compileTileClassifier(mask);
    this.box.offset0 = this.box.offset1 = queryOffset;
  }

  /** True where query i may see key j. */
  sees(i: number, j: number): boolean {
    if (!this.allowed) return true;
    const { cell } = this;
    cell.i = i;
    cell.q = i + this.queryOffset;
    cell.k = j;
    return this.allowed(cell) !== 0;
  }

  /** Fills `runs` with the keys from 0 to Nk that query i may see: from, to, from, to … ascending, apart from each other. */
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
    if (found === "full") add(runs, from, to);
    else if (to - from <= SMALL) {
      for (let j = from; j < to; j++) if (this.sees(i, j)) add(runs, j, j + 1);
    } else {
      const middle = (from + to) >> 1;
      this.visit(i, from, middle, runs);
      this.visit(i, middle, to, runs);
    }
  }
}

/** Adds a run after the others, or makes the last one longer. */
function add(runs: number[], from: number, to: number): void {
  if (runs.length > 0 && runs[runs.length - 1] === from) runs[runs.length - 1] = to;
  else runs.push(from, to);
}

/**
 * A head made smaller without losing what is thin: each range of queries × keys keeps its largest value (of signed
 * scores the one farthest from 0) and its mean. A pattern one cell wide, such as attention to the previous token, is
 * as dark in a thumbnail as it is in full; taking every n-th cell would lose it.
 */
import type { Floats } from "../compute/head.ts";
import type { Overview } from "../types.ts";

/** How a head is cut: ranges of equal size, or of a power of two. */
export type Cut = { readonly size: number } | { readonly level: number };

/** Collects rows in any order. */
export class Pool {
  readonly rows: number;
  readonly columns: number;
  /** Largest value of each range, row-major; 0 where nothing was seen. */
  readonly peak: Float64Array;
  private readonly sum: Float64Array;
  /** Cells seen. */
  private readonly seen: Uint32Array;
  /** 1 where something was not a number, or a given weight was negative. */
  private readonly odd: Uint8Array;
  /** One past the last key of each column. */
  private readonly ends: Uint32Array;
  private readonly cut: Cut;
  private readonly Nq: number;
  private readonly signed: boolean;
  private readonly given: boolean;
  private done = 0;

  /** `given`: weights out of a file, where a negative one is marked, because it is no weight. */
  constructor(Nq: number, Nk: number, cut: Cut, signed = false, given = false) {
    const count = (n: number) => ("size" in cut ? Math.min(n, cut.size) : Math.ceil(n / 2 ** cut.level));
    this.rows = count(Nq);
    this.columns = count(Nk);
    this.Nq = Nq;
    this.cut = cut;
    this.signed = signed;
    this.given = given && !signed;
    const { columns } = this;
    // Column c holds the keys j with ⌊j·columns / Nk⌋ = c, or with ⌊j / 2^level⌋ = c.
    this.ends = Uint32Array.from({ length: columns }, (_, c) =>
      "size" in cut ? Math.ceil(((c + 1) * Nk) / columns) : Math.min(Nk, (c + 1) * 2 ** cut.level),
    );
    const cells = this.rows * columns;
    this.peak = new Float64Array(cells);
    this.sum = new Float64Array(cells);
    this.seen = new Uint32Array(cells);
    this.odd = new Uint8Array(cells);
  }

  /** The pooled row of query i. */
  rowOf(i: number): number {
    return "size" in this.cut ? Math.floor((i * this.rows) / this.Nq) : Math.floor(i / 2 ** this.cut.level);
  }

  /** Adds row i: its values [Nk], of which those in `runs` (from, to, from, to …) count. */
  add(i: number, values: Floats, runs: readonly number[]): void {
    this.done++;
    const base = this.rowOf(i) * this.columns;
    let c = 0;
    for (let n = 0; n < runs.length; n += 2) {
      let j = runs[n];
      const to = runs[n + 1];
      while (j < to) {
        while (this.ends[c] <= j) c++;
        const end = Math.min(to, this.ends[c]);
        const at = base + c;
        this.seen[at] += end - j;
        const sum = addRange(values, j, end);
        // Only what holds NaN or an infinity adds up to one.
        if (sum - sum === 0) this.sum[at] += sum;
        else {
          this.odd[at] = 1;
          for (let n = j; n < end; n++) if (values[n] - values[n] === 0) this.sum[at] += values[n];
        }
        if (this.given && hasNegative(values, j, end)) this.odd[at] = 1;
        this.peak[at] = this.signed
          ? farthest(values, j, end, this.peak[at])
          : largest(values, j, end, this.peak[at]);
        j = end;
      }
    }
  }

  /** 0 a value, 1 nothing seen, 2 something that is not a number, or no weight because it is negative. */
  mark(at: number): number {
    return this.odd[at] ? 2 : this.seen[at] === 0 ? 1 : 0;
  }

  /** The weights collected so far, as codes. */
  overview(): Overview {
    const cells = this.peak.length;
    const [max, mean, marks] = [new Uint8Array(cells), new Uint8Array(cells), new Uint8Array(cells)];
    const code = (w: number) => Math.round(255 * Math.sqrt(Math.min(1, w)));
    for (let at = 0; at < cells; at++) {
      max[at] = code(this.peak[at]);
      if (this.seen[at] > 0) mean[at] = code(Math.max(0, this.sum[at] / this.seen[at]));
      marks[at] = this.mark(at);
    }
    return {
      rows: this.rows,
      columns: this.columns,
      max,
      mean,
      marks,
      done: this.Nq === 0 ? 1 : this.done / this.Nq,
    };
  }
}

function addRange(values: Floats, from: number, to: number): number {
  let sum = 0;
  for (let j = from; j < to; j++) sum += values[j];
  return sum;
}

function hasNegative(values: Floats, from: number, to: number): boolean {
  for (let j = from; j < to; j++) if (values[j] < 0) return true;
  return false;
}

/** The largest finite value, `least` at least. */
function largest(values: Floats, from: number, to: number, least: number): number {
  let peak = least;
  for (let j = from; j < to; j++) if (values[j] > peak && values[j] < Infinity) peak = values[j];
  return peak;
}

/** The finite value farthest from 0. */
function farthest(values: Floats, from: number, to: number, least: number): number {
  let peak = least;
  let size = Math.abs(least);
  for (let j = from; j < to; j++) {
    const x = Math.abs(values[j]);
    if (x > size && x < Infinity) {
      size = x;
      peak = values[j];
    }
  }
  return peak;
}

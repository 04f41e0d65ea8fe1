/**
 * Pools a head to a smaller size: each range of queries × keys keeps its largest value (of signed scores, the one farthest
 * from 0) and its mean. Patterns one cell wide, such as attention to the previous token, stay visible in a thumbnail; with
 * every n-th cell they would be lost.
 */
import type { FloatArray } from "../../rows/head-rows.ts";

/** A thumbnail of a head: cells pooled over ranges of queries and keys. Codes are 255·√w. */
export interface Overview {
  /** Pooled rows and columns: at most the requested size, and no more than there are tokens. */
  readonly rows: number;
  readonly columns: number;
  /** Largest and mean weight of each range, row-major. */
  readonly max: Uint8Array;
  readonly mean: Uint8Array;
  /** As in a tile: 1 if the range is fully masked, 2 if it contains NaN, an infinity or a given weight below 0, else 0. */
  readonly marks: Uint8Array;
  /** Share of the rows that have been computed, 0 to 1. */
  readonly done: number;
}

/** How a head is cut: ranges of equal size, or of a power of two. */
export type PoolCut = { readonly size: number } | { readonly level: number };

/** Collects rows in any order. */
export class CellPool {
  readonly rows: number;
  readonly columns: number;
  /** Largest value of each range, row-major; 0 if the range is fully masked. */
  readonly peak: Float64Array;
  /** Sum of each range. */
  readonly sum: Float64Array;
  /** Number of unmasked cells of each range. */
  readonly unmasked: Uint32Array;
  /** 1 for ranges with NaN, an infinity or a negative given weight. */
  readonly odd: Uint8Array;
  /** One past the last key of each column. */
  readonly ends: Uint32Array;
  private readonly cut: PoolCut;
  readonly Nq: number;
  private readonly signed: boolean;
  private readonly fromFile: boolean;
  /** Number of rows that were added. */
  done = 0;

  /** `fromFile`: weights from a file, whose negative values are marked as invalid. */
  constructor(Nq: number, Nk: number, cut: PoolCut, signed = false, fromFile = false) {
    const count = (n: number) => ("size" in cut ? Math.min(n, cut.size) : Math.ceil(n / 2 ** cut.level));
    this.rows = count(Nq);
    this.columns = count(Nk);
    this.Nq = Nq;
    this.cut = cut;
    this.signed = signed;
    this.fromFile = fromFile && !signed;
    const { columns } = this;
    // Column c pools the keys j with ⌊j·columns / Nk⌋ = c, or with ⌊j / 2^level⌋ = c.
    this.ends = Uint32Array.from({ length: columns }, (_, c) =>
      "size" in cut ? Math.ceil(((c + 1) * Nk) / columns) : Math.min(Nk, (c + 1) * 2 ** cut.level),
    );
    const cells = this.rows * columns;
    this.peak = new Float64Array(cells);
    this.sum = new Float64Array(cells);
    this.unmasked = new Uint32Array(cells);
    this.odd = new Uint8Array(cells);
  }

  /** The pooled row of query i. */
  rowOf(i: number): number {
    return "size" in this.cut ? Math.floor((i * this.rows) / this.Nq) : Math.floor(i / 2 ** this.cut.level);
  }

  /** Adds row i: its values [Nk], of which those in `runs` (from, to, from, to …) count. */
  add(i: number, values: FloatArray, runs: readonly number[]): void {
    this.done++;
    const { ends, unmasked, sum, peak, odd, signed, fromFile } = this;
    const base = this.rowOf(i) * this.columns;
    let c = 0;
    for (let n = 0; n < runs.length; n += 2) {
      let j = runs[n];
      const to = runs[n + 1];
      while (j < to) {
        while (ends[c] <= j) c++;
        const end = ends[c] < to ? ends[c] : to;
        const at = base + c;
        unmasked[at] += end - j;
        // The sum, and the values farthest from 0 on either side. Computed weights are not negative.
        const before = peak[at];
        let total = 0;
        let high = before > 0 ? before : 0;
        let low = before < 0 ? before : 0;
        for (let n = j; n < end; n++) {
          const x = values[n];
          total += x;
          if (x > high) high = x;
        }
        if (signed || fromFile) for (let n = j; n < end; n++) if (values[n] < low) low = values[n];
        // The sum is NaN or infinite if and only if a value is.
        if (total - total !== 0) {
          odd[at] = 1;
          [total, high, low] = finiteOnly(values, j, end, before);
        }
        if (low < 0 && fromFile) odd[at] = 1;
        sum[at] += total;
        peak[at] = signed && -low > high ? low : high;
        j = end;
      }
    }
  }

  /** 0 for a value, 1 for a fully masked range, 2 for a range with NaN, an infinity or a negative given weight. */
  mark(at: number): number {
    return this.odd[at] ? 2 : this.unmasked[at] === 0 ? 1 : 0;
  }

  /** The weights collected so far, as codes. */
  overview(): Overview {
    const cells = this.peak.length;
    const { peak, sum, unmasked } = this;
    const [max, mean, marks] = [new Uint8Array(cells), new Uint8Array(cells), new Uint8Array(cells)];
    for (let at = 0; at < cells; at++) {
      max[at] = rootCode(peak[at]);
      if (unmasked[at] > 0) mean[at] = rootCode(sum[at] / unmasked[at]);
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

/** The code of a weight: 255·√w, rounded; 0 below 0, 255 above 1. */
const rootCode = (w: number): number => (w > 0 ? (255 * Math.sqrt(w < 1 ? w : 1) + 0.5) | 0 : 0);

/** Sum, largest value above 0 and smallest below 0 of the finite values of a range, and of `before`. */
function finiteOnly(
  values: FloatArray,
  from: number,
  to: number,
  before: number,
): [sum: number, high: number, low: number] {
  const finite = Array.from(values.subarray(from, to)).filter(Number.isFinite);
  return [
    finite.reduce((sum, x) => sum + x, 0),
    finite.reduce((high, x) => Math.max(high, x), Math.max(0, before)),
    finite.reduce((low, x) => Math.min(low, x), Math.min(0, before)),
  ];
}

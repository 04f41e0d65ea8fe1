/**
 * The row engine: rows of one head of attention in float64, each number in the same order of operations wherever it is asked for.
 *
 *   s = scale·q·k → score mods → + float masks → −∞ where masked      m = max(s, sink)      p = exp(s − m)      weight = p / l
 *
 * `heed/reference` (`problem-rows.ts`), `attentionWeights` in float64 and every picture (`store/compute/head.ts`) compute their
 * rows here. Masked keys are not read, and memory is one row. Two parts have a faster version with the same bits: `products.ts` for
 * q·k of dense float keys, and in pictures `runs.ts` for the visible keys. `reference/forward.ts` is the same formula in plain loops over
 * all cells: the obvious version, with which this one is tested. `softmax.ts` turns scores into weights, `steps.ts` shows every step of a row and of one weight.
 */
import type { Cell } from "../masks/expression/js.ts";
import { addRun, type RunFinder } from "./runs.ts";

/** An array of floats in memory. */
export type FloatArray = Float32Array | Float64Array;

/** Where a tensor of two axes is stored: element (row, column) is `read(start + row·rowStride + column·columnStride)`. */
export interface Elements {
  readonly read: (at: number) => number;
  readonly start: number;
  readonly rowStride: number;
  readonly columnStride: number;
}

/** The keys of one head. */
export interface Keys extends Elements {
  /** A faster way to `HeadRows.products` with the same bits, such as `floatProducts`. */
  readonly products?: HeadRows["products"];
}

/** A mask tensor [Nq, Nk]: keys are visible where it is nonzero (`keep`) or zero (`drop`), or it is added to the score (`add`; −∞ masks). */
export interface MaskElements extends Elements {
  readonly kind: "keep" | "drop" | "add";
}

/** One head, as the engine reads it. */
export interface HeadInputs {
  /** Batch entry and head, which masks and score mods read. */
  readonly b: number;
  readonly h: number;
  /** Query i has the position i + offset. */
  readonly offset: number;
  readonly Nk: number;
  /** Length of a query and a key. */
  readonly d: number;
  readonly scale: number;
  readonly query: Elements;
  readonly key: Keys;
  /** Nonzero where a query may attend to a key. Default: everywhere. */
  readonly mask?: (cell: Cell) => number;
  /** A faster way to the runs of the mask, such as `runFinder`. */
  readonly findRuns?: RunFinder;
  /** Score mods, in order. */
  readonly mods: readonly ((cell: Cell) => number)[];
  readonly tensors: readonly MaskElements[];
  /** One more logit in the sum of a row, without a key. */
  readonly sink?: number;
}

/** Computes rows of one head. Rows are i, keys j. */
export class HeadRows {
  readonly inputs: HeadInputs;
  private readonly cell: Cell;
  /** The query of the row whose scores are computed. */
  private readonly q: Float64Array;
  /** The tensors that are added to scores. */
  private readonly added: readonly MaskElements[];
  private readonly visible: number[] = [];
  private readonly open: number[] = [];
  /** The last row of `runs`. */
  private runsRow = -1;

  constructor(inputs: HeadInputs) {
    this.inputs = inputs;
    this.cell = { b: inputs.b, h: inputs.h, i: 0, q: 0, k: 0, score: 0 };
    this.q = new Float64Array(inputs.d);
    this.added = inputs.tensors.filter(({ kind }) => kind === "add");
  }

  /** Keys that query i may attend to, as from, to, from, to … A call for another row reuses the array. */
  runs(i: number): readonly number[] {
    const { visible, open } = this;
    const { Nk, mask, findRuns, tensors } = this.inputs;
    const runs = tensors.length > 0 ? open : visible;
    if (i === this.runsRow) return runs;
    this.runsRow = i;
    if (findRuns) findRuns(i, visible);
    else {
      visible.length = 0;
      if (mask) for (let j = 0; j < Nk; j++) if (mask(this.cellAt(i, j))) addRun(visible, j, j + 1);
      if (!mask && Nk > 0) visible.push(0, Nk);
    }
    open.length = 0;
    if (runs === open)
      for (let n = 0; n < visible.length; n += 2)
        for (let j = visible[n]; j < visible[n + 1]; j++) if (this.isOpen(i, j)) addRun(open, j, j + 1);
    return runs;
  }

  /** The cell of query i and key j. A call for another cell reuses the object. */
  protected cellAt(i: number, j: number): Cell {
    const { cell } = this;
    cell.i = i;
    cell.q = i + this.inputs.offset;
    cell.k = j;
    return cell;
  }

  /** True if the mask tensors allow a cell. */
  protected isOpen(i: number, j: number): boolean {
    for (const t of this.inputs.tensors) {
      const x = element(t, i, j);
      if (t.kind === "add" ? x === -Infinity : (x !== 0) !== (t.kind === "keep")) return false;
    }
    return true;
  }

  /** Fills out [d] with the query of a row. */
  query(i: number, out: Float64Array = new Float64Array(this.inputs.d)): Float64Array {
    for (let n = 0; n < out.length; n++) out[n] = element(this.inputs.query, i, n);
    return out;
  }

  /** Fills out[j − first] with q·k × scale of a query and the keys from … to, masked or not. */
  products(q: Float64Array, scale: number, out: Float64Array, first: number, from: number, to: number): void {
    const { key } = this.inputs;
    if (key.products) key.products(q, scale, out, first, from, to);
    else for (let j = from; j < to; j++) out[j - first] = dot(q, key, j) * scale;
  }

  /** The sum of what float masks add to the score of a cell. */
  bias(i: number, j: number): number {
    let sum = 0;
    for (const t of this.added) sum += element(t, i, j);
    return sum;
  }

  /** The score after all score mods, from a scaled score. `visit` receives the score after each. */
  modified(scaled: number, i: number, j: number, visit?: (score: number) => void): number {
    const cell = this.cellAt(i, j);
    cell.score = scaled;
    for (const mod of this.inputs.mods) {
      cell.score = mod(cell);
      visit?.(cell.score);
    }
    return cell.score;
  }

  /**
   * Fills out[j − from] with the scores of query i and the keys from … to; −∞ where masked. Returns the largest. `scaled` is
   * filled with the scores of visible keys before all score mods: scale·q·k.
   */
  scores(i: number, out: Float64Array, from = 0, to = this.inputs.Nk, scaled?: Float64Array): number {
    const { mods, scale } = this.inputs;
    const isPlain = mods.length + this.added.length === 0;
    const q = this.query(i, this.q);
    const runs = this.runs(i);
    out.fill(-Infinity, 0, to - from);
    let m = -Infinity;
    for (let n = 0; n < runs.length; n += 2) {
      const [start, end] = [Math.max(from, runs[n]), Math.min(to, runs[n + 1])];
      if (start >= end) continue;
      this.products(q, scale, out, from, start, end);
      scaled?.set(out.subarray(start - from, end - from), start - from);
      for (let at = start - from; at < end - from; at++) {
        if (!isPlain) out[at] = this.modified(out[at], i, from + at) + this.bias(i, from + at);
        // NaN in visible data must reach the result: the maximum ignores it, and exp propagates it.
        if (out[at] > m) m = out[at];
      }
    }
    return m;
  }
}

/** Element (row, column) of a tensor. */
function element({ read, start, rowStride, columnStride }: Elements, row: number, column: number): number {
  return read(start + row * rowStride + column * columnStride);
}

/** q·k of key j, summed from the first product to the last. `floatProducts` sums in the same order, so both give the same bits. */
function dot(q: Float64Array, key: Elements, j: number): number {
  let sum = 0;
  for (let n = 0; n < q.length; n++) sum += q[n] * element(key, j, n);
  return sum;
}

/**
 * One head, exactly: scores, weights and outputs of single rows in float64, computed from q, k and the recipe. Masks and score
 * mods are the expressions of `masks/`, compiled as for the reference; softmax is that of `heed/reference`. The order is heed's:
 * scale, score mods, additive bias, mask, sink. Memory is one row at most; masked keys are not read. If a file has weights, the
 * rows are those weights. `row-source.ts` computes many rows, `ledger.ts` explains one weight.
 */
import { readerOf, type TypedData } from "../../core/dtype.ts";
import { type Cell, compile } from "../../masks/expression/js.ts";
import { type RowSum, softmaxRow } from "../../reference/row.ts";
import { type HeadRecipe, maskOf, type NamedMod, namedMods } from "../recipe/head-recipe.ts";
import type { Edits, Stage } from "../types.ts";
import { addRun, Visibility } from "./visibility.ts";

/** An array of floats in memory. */
export type Floats = Float32Array | Float64Array;

/** The data of one head. Plain data, which can be posted to a worker. */
export interface HeadData {
  readonly Nq: number;
  readonly Nk: number;
  readonly d: number;
  readonly dv: number;
  /** [Nq, d] and [Nk, d]; both or neither. */
  readonly query?: Floats;
  readonly key?: Floats;
  /** [Nq, Nk] as stored in the file; uint8 means n/255. */
  readonly weights?: { readonly data: TypedData; readonly dtype: WeightDType };
  /** [Nk, dv] */
  readonly value?: Floats;
  /** `[Nk]`: ‖v‖, or ‖v·W_O‖ where the file has W_O. */
  readonly valueNorm?: Float64Array;
  readonly recipe: HeadRecipe;
  /** `[Nq, Nk]`: nonzero elements mark cells that are attended ("keep"), or masked ("drop"). */
  readonly keep?: { readonly data: ArrayLike<number>; readonly polarity: "keep" | "drop" };
  /** [Nq, Nk], added to the score; −∞ masks. */
  readonly bias?: Floats;
  /** `[Nq]`: the model's own log-sum-exp. */
  readonly lse?: Float64Array;
}

export type WeightDType = "float32" | "float64" | "float16" | "bfloat16" | "uint8";

/** Computes rows of one head. Rows are i, keys j. */
export class Head {
  readonly data: HeadData;
  private readonly visibility: Visibility;
  private readonly mods: readonly { step: NamedMod["step"]; apply: (cell: Cell) => number }[];
  private readonly at: Cell = { b: 0, h: 0, i: 0, q: 0, k: 0, score: 0 };
  /** The query of the row whose scores are computed. */
  private readonly q: Float64Array;
  private readonly visible: number[] = [];
  /** The last row of `runs`, and its runs. */
  private runsRow = -1;
  private rowRuns: readonly number[] = this.visible;
  private readonly read: ((at: number) => number) | undefined;

  constructor(data: HeadData) {
    this.data = data;
    this.q = new Float64Array(data.d);
    this.visibility = new Visibility(maskOf(data.recipe), data.recipe.queryOffset);
    this.mods = namedMods(data.recipe).map(({ step, mod }) => ({ step, apply: compile(mod.expr) }));
    if (data.weights) {
      const { data: array, dtype } = data.weights;
      const read =
        dtype === "uint8" ? (at: number) => (array as Uint8Array)[at] / 255 : readerOf(dtype, array);
      this.read = read;
    }
  }

  /** True if the head has q and k, so that scores can be computed. */
  get scored(): boolean {
    return this.data.query !== undefined;
  }

  /** Keys that query i may attend to, as from, to, from, to … A call for another row reuses the array. */
  runs(i: number): readonly number[] {
    const { Nk, keep, bias } = this.data;
    const { visible } = this;
    if (i === this.runsRow) return this.rowRuns;
    this.runsRow = i;
    this.visibility.runs(i, Nk, visible);
    if (!keep && !bias) return (this.rowRuns = visible);
    const runs: number[] = [];
    for (let n = 0; n < visible.length; n += 2)
      for (let j = visible[n]; j < visible[n + 1]; j++)
        if (this.open(i, j)) {
          addRun(runs, j, j + 1);
        }
    return (this.rowRuns = runs);
  }

  /** True if query i may attend to key j. */
  sees(i: number, j: number): boolean {
    return this.visibility.sees(i, j) && this.open(i, j);
  }

  /** True if the head's mask tensor and bias allow a cell. */
  private open(i: number, j: number): boolean {
    const { Nk, keep, bias } = this.data;
    if (keep && (keep.data[i * Nk + j] !== 0) !== (keep.polarity === "keep")) return false;
    return !bias || bias[i * Nk + j] !== -Infinity;
  }

  /** The query of a row in float64, edits applied. */
  query(i: number, edits: Edits = {}, out: Float64Array = new Float64Array(this.data.d)): Float64Array {
    const { query, d } = this.data;
    out.set(edits.query ?? query!.subarray(i * d, (i + 1) * d));
    return out;
  }

  /** q·k of a query and a key, masked or not. */
  dot(q: Float64Array, j: number, edits: Edits = {}): number {
    const { key, d } = this.data;
    return edits.key?.index === j
      ? dot(q, Float64Array.from(edits.key.values), 0, d)
      : dot(q, key!, j * d, d);
  }

  /** Fills out[j − from] with q·k × scale of query i and the keys from … to, masked or not. */
  products(i: number, scale: number, out: Float64Array, from: number, to: number, edits: Edits = {}): void {
    this.fill(this.query(i, edits), scale, out, from, from, to, edits);
  }

  /** Fills out[j − first] with q·k × scale of a query and the keys from … to. */
  private fill(
    q: Float64Array,
    scale: number,
    out: Float64Array,
    first: number,
    from: number,
    to: number,
    edits: Edits,
  ): void {
    dots(q, this.data.key!, this.data.d, from, to, scale, out, first);
    const edited = edits.key?.index ?? -1;
    if (from <= edited && edited < to) out[edited - first] = this.dot(q, edited, edits) * scale;
  }

  /** A scaled score after all score mods and the bias. */
  private changed(scaled: number, i: number, j: number): number {
    const cell = this.place(i, j, scaled);
    for (const { apply } of this.mods) cell.score = apply(cell);
    const { bias, Nk } = this.data;
    return bias ? cell.score + bias[i * Nk + j] : cell.score;
  }

  private place(i: number, j: number, score: number): Cell {
    const cell = this.at;
    cell.i = i;
    cell.q = i + this.data.recipe.queryOffset;
    cell.k = j;
    cell.score = score;
    return cell;
  }

  /** The score after each score mod in turn, from a scaled score. */
  modified(scaled: number, i: number, j: number): { step: NamedMod["step"]; score: number }[] {
    const cell = this.place(i, j, scaled);
    return this.mods.map(({ step, apply }) => ({ step, score: (cell.score = apply(cell)) }));
  }

  /** Fills out[j − from] with the scores of query i and the keys from … to; −∞ where masked. Returns the largest. */
  scores(i: number, out: Float64Array, from = 0, to = this.data.Nk, edits: Edits = {}): number {
    const { recipe, bias } = this.data;
    const plain = this.mods.length === 0 && !bias;
    const q = this.query(i, edits, this.q);
    const scale = edits.scale ?? recipe.scale;
    const runs = this.runs(i);
    out.fill(-Infinity, 0, to - from);
    let m = -Infinity;
    for (let n = 0; n < runs.length; n += 2) {
      const [start, end] = [Math.max(from, runs[n]), Math.min(to, runs[n + 1])];
      if (start >= end) continue;
      this.fill(q, scale, out, from, start, end, edits);
      if (!plain) for (let j = start; j < end; j++) out[j - from] = this.changed(out[j - from], i, j);
      // NaN in visible data must reach the result: the maximum ignores it, and exp propagates it.
      for (let at = start - from; at < end - from; at++) if (out[at] > m) m = out[at];
    }
    return m;
  }

  /** Fills out [Nk] with the weights of row i, computed from q and k; returns the row's sums. */
  softmax(i: number, out: Float64Array, edits: Edits = {}): RowSum {
    // Softmax is computed from the first visible key to the last: a causal row is half as long on average.
    const runs = this.runs(i);
    const from = runs[0] ?? 0;
    const to = runs[runs.length - 1] ?? 0;
    const s = out.subarray(from, to);
    const sum = softmaxRow(s, this.scores(i, s, from, to, edits), this.data.recipe.sink);
    // 0, but as in the reference, a row with a NaN score is NaN on all keys.
    const masked = 0 * sum.l;
    out.fill(masked, 0, from).fill(masked, to);
    return sum;
  }

  /** Maximum and sum of one row. */
  rowSum(i: number, edits: Edits = {}): RowSum {
    return this.softmax(i, new Float64Array(this.data.Nk), edits);
  }

  /** The given weight of a cell. */
  given(i: number, j: number): number {
    return this.read!(i * this.data.Nk + j);
  }

  /** Weights of a row: computed, or read from the file's weights. */
  weights(i: number, edits: Edits = {}, out: Float64Array = new Float64Array(this.data.Nk)): Float64Array {
    if (this.read) for (let j = 0, at = i * out.length; j < out.length; j++, at++) out[j] = this.read(at);
    else this.softmax(i, out, edits);
    return out;
  }

  /** A row at a stage, [Nk]. */
  row(i: number, stage: Stage, edits: Edits = {}): Float64Array {
    const { Nk, recipe, valueNorm } = this.data;
    if (stage === "weights") return this.weights(i, edits);
    const out = new Float64Array(Nk);
    if (stage === "contribution") {
      const weights = this.weights(i, edits);
      this.eachRead(i, (j) => {
        out[j] = weights[j] * valueNorm![j];
      });
    } else if (stage === "masked") this.scores(i, out, 0, Nk, edits);
    else {
      this.products(i, stage === "scores" ? 1 : (edits.scale ?? recipe.scale), out, 0, Nk, edits);
    }
    return out;
  }

  /** Σ weight·v of a row, [dv]. */
  output(i: number, edits: Edits = {}): Float64Array {
    const { value, dv } = this.data;
    const weights = this.weights(i, edits);
    const o = new Float64Array(dv);
    this.eachRead(i, (j) => {
      for (let e = 0; e < dv; e++) o[e] += weights[j] * value![j * dv + e];
    });
    return o;
  }

  /** Visits the keys whose values a row reads: the unmasked ones, or all keys of given weights. */
  private eachRead(i: number, visit: (j: number) => void): void {
    if (this.read) for (let j = 0; j < this.data.Nk; j++) visit(j);
    else {
      const runs = this.runs(i);
      for (let n = 0; n < runs.length; n += 2) for (let j = runs[n]; j < runs[n + 1]; j++) visit(j);
    }
  }
}

/** q·k, summed from the first product to the last. `dots` sums in the same order, so both give the same bits. */
function dot(q: Float64Array, k: Floats, at: number, d: number): number {
  let sum = 0;
  for (let n = 0; n < d; n++) sum += q[n] * k[at + n];
  return sum;
}

/**
 * out[j − first] = q·k × scale of the keys from … to. Four keys at a time: each sum keeps its order, but four sums are
 * computed in parallel (43 ns for a dot product of 64 numbers; one key at a time takes 100 ns; Node 24, one busy core).
 */
function dots(
  q: Float64Array,
  k: Floats,
  d: number,
  from: number,
  to: number,
  scale: number,
  out: Float64Array,
  first: number,
): void {
  let j = from;
  for (; j + 4 <= to; j += 4) {
    const k0 = j * d;
    const [k1, k2, k3] = [k0 + d, k0 + 2 * d, k0 + 3 * d];
    let a = 0;
    let b = 0;
    let c = 0;
    let e = 0;
    for (let n = 0; n < d; n++) {
      const x = q[n];
      a += x * k[k0 + n];
      b += x * k[k1 + n];
      c += x * k[k2 + n];
      e += x * k[k3 + n];
    }
    const at = j - first;
    out[at] = a * scale;
    out[at + 1] = b * scale;
    out[at + 2] = c * scale;
    out[at + 3] = e * scale;
  }
  for (; j < to; j++) out[j - first] = dot(q, k, j * d, d) * scale;
}

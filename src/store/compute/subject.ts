/**
 * A head in use: its rows, its places, the log-sum-exp of each row once it is computed, and the numbers of a range of keys at a stage.
 * `work.ts` computes tiles, columns and passes from it.
 */
import { keysIn } from "../../rows/runs.ts";
import { weight } from "../../rows/softmax.ts";
import type { Stage } from "../block.ts";
import { ComparedRows, comparedStep, KeySums } from "../measures/key-sums.ts";
import type { Places } from "../measures/measures.ts";
import type { CellPool } from "../measures/pool.ts";
import { type HeadArrays, StoreHead } from "./head.ts";

/** A head with the sums, ranges and maps that earlier requests computed. */
export class Subject {
  readonly head: StoreHead;
  readonly places: Places;
  /** `[Nq]`: exact log-sum-exp; NaN for rows that were not computed. */
  readonly lse: Float64Array;
  readonly ranges = new Map<Stage, readonly [number, number]>();
  /** Pooled stages, which coarse tiles are cut from. */
  readonly maps = new Map<Stage, CellPool>();
  #counts: Int32Array | undefined;

  constructor(data: HeadArrays, places: Places, head = new StoreHead(data)) {
    this.head = head;
    this.places = places;
    this.lse = new Float64Array(data.Nq).fill(Number.NaN);
  }

  /** The exact log-sum-exp of a row. */
  sum(i: number): number {
    if (this.lse[i] !== this.lse[i]) this.lse[i] = this.head.rowSum(i).lse;
    return this.lse[i];
  }

  /** `[Nq]`: the number of keys that each query may attend to. */
  get counts(): Int32Array {
    this.#counts ??= Int32Array.from({ length: this.head.data.Nq }, (_, i) => keysIn(this.head.runs(i)));
    return this.#counts;
  }

  /** True for a long head whose map, which coarse tiles are cut from, is not made yet. */
  get wantsMap(): boolean {
    const { Nq, Nk } = this.head.data;
    return Math.max(Nq, Nk) > 1024 && !this.maps.has("weights");
  }

  /** Level of the maps: at most 1024 rows and columns, at least 8 cells wide. */
  get mapLevel(): number {
    const { Nq, Nk } = this.head.data;
    return Math.max(3, Math.ceil(Math.log2(Math.max(Nq, Nk, 1) / 1024)));
  }
}

/** Computes keys j0 … j1 of row i at a stage, in float64, and passes them to `visit`; j0 and j1 are the same in every call. */
export type CellReader = (i: number, j0: number, j1: number, visit: (values: Float64Array) => void) => void;

/** A reader of the cells of a stage. */
export function cellsOf(subject: Subject, stage: Stage): CellReader {
  if (stage === "contrast") return contrastCells(subject);
  const { head } = subject;
  const { Nk, d, recipe, valueNorm, weights } = head.data;
  const sums = new Float64Array(Nk);
  const q = new Float64Array(d);
  return (i, j0, j1, visit) => {
    const out = sums.subarray(0, j1 - j0);
    if (stage === "scores" || stage === "scaled")
      head.products(head.query(i, q), stage === "scores" ? 1 : recipe.scale, out, j0, j0, j1);
    else if (weights) for (let j = j0; j < j1; j++) out[j - j0] = head.fileWeight(i, j);
    else {
      const lse = stage === "masked" ? 0 : subject.sum(i);
      head.scores(i, out, j0, j1);
      if (stage !== "masked") for (let n = 0; n < out.length; n++) out[n] = weight(out[n], lse);
    }
    if (stage === "contribution")
      for (let n = 0; n < out.length; n++)
        if (out[n] !== 0 || weights || head.sees(i, j0 + n)) out[n] *= valueNorm![j0 + n];
    visit(out);
  };
}

/** The weights minus what the other rows give the same keys: sums over the rows of the head, for the keys that are read. */
function contrastCells(subject: Subject): CellReader {
  const others = new Others(subject);
  const weights = cellsOf(subject, "weights");
  return (i, j0, j1, visit) => {
    const means = others.of(i, j0, j1);
    weights(i, j0, j1, (row) => {
      for (let n = 0; n < row.length; n++) row[n] = means[n] === means[n] ? row[n] - means[n] : 0;
      visit(row);
    });
  };
}

/**
 * What the other rows give each key of a range (`others` of `measures/contrast.ts`). Keeps two numbers a key. Rows enter and leave the
 * sums as the number of visible keys of the row in question changes, so rows are best requested in their order.
 */
export class Others {
  readonly #subject: Subject;
  readonly #read: CellReader;
  readonly #step: number;
  #rows: ComparedRows | undefined;
  #sums = new KeySums(0);
  #range: readonly [number, number] = [0, 0];

  constructor(subject: Subject) {
    this.#subject = subject;
    this.#read = cellsOf(subject, "weights");
    this.#step = comparedStep(subject.head.data);
  }

  /** The mean weight that the other rows give keys j0 … j1; NaN where none may attend to the key, or row i may not. */
  of(i: number, j0: number, j1: number): Float64Array {
    const { counts } = this.#subject;
    if (this.#rows === undefined || this.#range[0] !== j0 || this.#range[1] !== j1) {
      this.#rows = new ComparedRows(counts);
      this.#sums = new KeySums(j1 - j0);
      this.#range = [j0, j1];
    }
    for (const [row, sign] of this.#rows.moves(counts[i]))
      if (this.#isCompared(row))
        this.#read(row, j0, j1, (w) => this.#sums.add(w, this.#visible(row, j0, j1), 0, sign));
    const out = new Float64Array(j1 - j0).fill(Number.NaN);
    const visible = this.#visible(i, j0, j1);
    const isInside = this.#isCompared(i);
    this.#read(i, j0, j1, (w) => {
      for (let n = 0; n < out.length; n++)
        if (visible[n]) out[n] = this.#sums.without(n, isInside ? w[n] : undefined);
    });
    return out;
  }

  #visible(i: number, j0: number, j1: number): Uint8Array {
    const out = new Uint8Array(j1 - j0);
    const runs = this.#subject.head.runs(i);
    for (let n = 0; n < runs.length; n += 2)
      if (runs[n + 1] > j0 && runs[n] < j1) out.fill(1, Math.max(0, runs[n] - j0), runs[n + 1] - j0);
    return out;
  }

  /** Whether a row is compared with others: no special token, and all its weights are numbers. */
  #isCompared(i: number): boolean {
    const { head, places, counts } = this.#subject;
    if (i % this.#step !== 0 || counts[i] === 0 || places.querySpecial[i] !== 0) return false;
    if (head.data.weights) {
      for (let j = 0; j < head.data.Nk; j++) if (!Number.isFinite(head.fileWeight(i, j))) return false;
      return true;
    }
    const sum = this.#subject.sum(i);
    return sum === sum && sum !== Infinity;
  }
}

/**
 * The links of a head that are drawn as lines. Each row is read once and keeps its strongest keys; how many of them are
 * shown (so many, or as many as hold a share of the row) is then a matter of counting, and what is left out is known.
 * Rows are read one at a time and at most 64 keys of each are kept: nothing of N × N is ever there.
 */
import { largestKeys } from "../../../src/store/measures/aggregate.ts";
import type { Stage } from "../../../src/store/types.ts";
import { type Axis, indexAt, placeOf } from "../../canvas/axis.ts";
import type { State } from "../../state/state.ts";

/** Keys of a row that are kept, at most. A share of a row that takes more is cut, and said to be. */
export const MOST_KEYS = 64;

/** Lines show shares; a score is none. */
export const stageOf = ({ stage }: State): Stage => (stage === "contribution" ? stage : "weights");

/** The strongest keys of one row. */
export interface RowLinks {
  /** Places along the keys shown, the strongest first. */
  readonly places: Int32Array;
  readonly weights: Float64Array;
  /** Mass of all keys that could be kept, and how many those are. */
  readonly sum: number;
  readonly count: number;
  /** Mass of the whole row, and how many of its keys have any. */
  readonly mass: number;
  readonly of: number;
  /** What hidden keys take of it. */
  readonly hidden: number;
  /** Values that are not numbers. */
  readonly strange: number;
}

/** What is kept of each row: its `top` strongest keys, or as many as hold a share of its `mass`. */
export interface Keep {
  readonly keep: "top" | "mass";
  readonly top: number;
  readonly mass: number;
}

/** A row whose links are not asked for. */
export const NO_LINKS: RowLinks = {
  places: new Int32Array(0),
  weights: new Float64Array(0),
  sum: 0,
  count: 0,
  mass: 0,
  of: 0,
  hidden: 0,
  strange: 0,
};

/**
 * Reads a row of weights. Renormalized, hidden keys are as if they were not there; else they leave their mass open. Only
 * keys that are also on the axis `only` are kept: by default all of the columns.
 */
export function linksOf(
  row: ArrayLike<number>,
  columns: Axis,
  hidden: readonly number[],
  renormalize: boolean,
  only: Axis = columns,
): RowLinks {
  let [mass, of, nonFinite, gone, goneOf] = [0, 0, 0, 0, 0];
  for (let j = 0; j < row.length; j++)
    if (!Number.isFinite(row[j])) nonFinite++;
    else if (row[j] > 0) {
      mass += row[j];
      of++;
    }
  const open = new Float64Array(columns.count);
  for (const { start, end } of only.runs) {
    const at = placeOf(columns, start) ?? 0;
    for (let j = start; j < end; j++) if (Number.isFinite(row[j])) open[at + j - start] = row[j];
  }
  for (const key of hidden)
    if (Number.isFinite(row[key]) && row[key] > 0) {
      gone += row[key];
      goneOf++;
      const place = placeOf(columns, key);
      if (place !== undefined) open[place] = 0;
    }
  const by = renormalize && gone > 0 && gone < mass ? mass / (mass - gone) : 1;
  let [sum, count] = [0, 0];
  for (let place = 0; place < open.length; place++)
    if (open[place] > 0) {
      open[place] *= by;
      sum += open[place];
      count++;
    }
  const places = Int32Array.from(largestKeys(open, MOST_KEYS));
  return {
    places,
    weights: Float64Array.from(places, (place) => open[place]),
    sum,
    count,
    mass,
    of: renormalize ? of - goneOf : of,
    hidden: gone,
    strange: nonFinite,
  };
}

/** How many of a row's strongest keys are shown. */
export function keptOf({ weights, sum }: RowLinks, { keep, top, mass }: Keep): number {
  if (keep === "top") return Math.min(top, weights.length);
  let [count, total] = [0, 0];
  // A hair of tolerance: 0.9 of ten equal keys is nine of them.
  while (count < weights.length && total < mass * sum * (1 - 1e-12)) total += weights[count++];
  return count;
}

/** What is shown of all, over the rows read so far. */
export interface Kept {
  readonly edges: number;
  /** Links that have any weight. */
  readonly of: number;
  /** Their mass, and that of the rows. */
  readonly shown: number;
  readonly mass: number;
  /** Rows whose share of mass would take more than the 64 keys that are kept. */
  readonly cut: number;
  readonly rows: number;
  /** Largest weight, and values that are not numbers. */
  readonly max: number;
  readonly strange: number;
}

/** One line: its ends' places, and its weight. */
export interface Link {
  readonly row: number;
  readonly column: number;
  readonly weight: number;
}

/** The links of all rows shown, read a row at a time: those asked for first, then the rest in order. */
export class Links {
  readonly #read: (query: number) => RowLinks;
  readonly #axis: Axis;
  readonly #columns: number;
  readonly #rows: (RowLinks | undefined)[];
  #next = 0;
  #first: readonly [from: number, to: number] = [0, 0];
  /** Rows read so far. */
  done = 0;
  #kept: { key: string; kept: Kept } | undefined;
  #incoming: { key: string; start: Int32Array; links: Link[] } | undefined;

  constructor(rows: Axis, columns: Axis, read: (query: number) => RowLinks) {
    this.#read = read;
    this.#axis = rows;
    this.#columns = columns.count;
    this.#rows = new Array(rows.count).fill(undefined);
  }

  get whole(): boolean {
    return this.done === this.#rows.length;
  }

  /** Rows that are on screen are read first. */
  prefer(from: number, to: number): void {
    this.#first = [Math.max(0, Math.floor(from)), Math.min(this.#rows.length, Math.ceil(to))];
  }

  /** Whether any of those is still to be read. */
  get preferring(): boolean {
    let [place, to] = this.#first;
    while (place < to && this.#rows[place] !== undefined) place++;
    this.#first = [place, to];
    return place < to;
  }

  /** Reads one more row; false once all are read. */
  step(): boolean {
    let place: number;
    if (this.preferring) [place] = this.#first;
    else {
      while (this.#next < this.#rows.length && this.#rows[this.#next] !== undefined) this.#next++;
      place = this.#next;
    }
    if (place >= this.#rows.length) return false;
    this.row(place);
    return !this.whole;
  }

  /** The row at a place, read now where it has not been. */
  row(place: number): RowLinks {
    let found = this.#rows[place];
    if (found === undefined) {
      found = this.#read(indexAt(this.#axis, place) ?? 0);
      this.#rows[place] = found;
      this.done++;
    }
    return found;
  }

  /** The row at a place where it has been read. */
  known(place: number): RowLinks | undefined {
    return this.#rows[place];
  }

  /** The links of one row that are shown, the strongest first. */
  outgoing(place: number, keep: Keep): Link[] {
    const row = this.row(place);
    return Array.from({ length: keptOf(row, keep) }, (_, n) => ({
      row: place,
      column: row.places[n],
      weight: row.weights[n],
    }));
  }

  /** The links shown that end at one key, of the rows read so far, the strongest first. */
  incoming(place: number, keep: Keep): Link[] {
    const key = `${this.done} ${keep.keep} ${keep.top} ${keep.mass}`;
    if (this.#incoming?.key !== key) this.#incoming = { key, ...this.#byKey(keep) };
    const { start, links } = this.#incoming;
    return links.slice(start[place], start[place + 1]).sort((a, b) => b.weight - a.weight || a.row - b.row);
  }

  /** Links by the key they end at: those of place p from start[p] up to start[p + 1]. */
  #byKey(keep: Keep): { start: Int32Array; links: Link[] } {
    const start = new Int32Array(this.#columns + 1);
    const counts = this.#rows.map((row) => (row === undefined ? 0 : keptOf(row, keep)));
    this.#rows.forEach((row, place) => {
      for (let n = 0; n < counts[place]; n++) start[row!.places[n] + 1]++;
    });
    for (let place = 0; place < this.#columns; place++) start[place + 1] += start[place];
    const links: Link[] = new Array(start[this.#columns]);
    const next = start.slice();
    this.#rows.forEach((row, place) => {
      for (let n = 0; n < counts[place]; n++) {
        const column = row!.places[n];
        links[next[column]++] = { row: place, column, weight: row!.weights[n] };
      }
    });
    return { start, links };
  }

  kept(keep: Keep): Kept {
    const key = `${this.done} ${keep.keep} ${keep.top} ${keep.mass}`;
    if (this.#kept?.key !== key) this.#kept = { key, kept: this.#count(keep) };
    return this.#kept.kept;
  }

  #count(keep: Keep): Kept {
    let [edges, of, shown, mass, cut, max, nonFinite] = [0, 0, 0, 0, 0, 0, 0];
    for (const row of this.#rows) {
      if (row === undefined) continue;
      const count = keptOf(row, keep);
      let total = 0;
      for (let n = 0; n < count; n++) total += row.weights[n];
      edges += count;
      shown += total;
      of += row.of;
      mass += row.mass;
      nonFinite += row.strange;
      if (keep.keep === "mass" && count === MOST_KEYS && total < keep.mass * row.sum * (1 - 1e-12)) cut++;
      max = Math.max(max, row.weights[0] ?? 0);
    }
    return { edges, of, shown, mass, cut, rows: this.done, max, strange: nonFinite };
  }
}

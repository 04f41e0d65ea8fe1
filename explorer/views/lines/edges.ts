/**
 * The links of a head that are drawn as lines. Each row is read once, and its 64 strongest keys are stored. The user chooses how
 * many of them are drawn: a fixed number, or as many as contain a share of the row. Rows are read one at a time, so no N × N
 * array is ever allocated.
 */

import type { Stage } from "../../../src/store/block.ts";
import { largestKeys } from "../../../src/store/measures/aggregate.ts";
import { type Axis, indexAt, placeOf } from "../../canvas/axis.ts";
import type { State } from "../../state/state.ts";

/** The maximum number of stored keys of a row. A share that needs more keys is cut, and the page says so. */
export const MAX_KEYS = 64;

/** Lines show weights instead of scores. */
export const stageOf = ({ stage }: State): Stage => (stage === "contribution" ? stage : "weights");

/** The strongest keys of one row. */
export interface RowLinks {
  /** The places of the keys, the strongest first. */
  readonly places: Int32Array;
  readonly weights: Float64Array;
  /** The total weight of all keys that could be drawn, and their number. */
  readonly sum: number;
  readonly count: number;
  /** The total weight of the whole row, and the number of its keys with any weight. */
  readonly mass: number;
  readonly of: number;
  /** The part of it that belongs to hidden keys. */
  readonly hidden: number;
  /** How many values are NaN or infinite. */
  readonly nonFinite: number;
}

/** Which keys of each row are drawn: the `top` strongest ones, or as many as contain a share `mass` of its weight. */
export interface Keep {
  readonly keep: "top" | "mass";
  readonly top: number;
  readonly mass: number;
}

/** A row without links. */
export const NO_LINKS: RowLinks = {
  places: new Int32Array(0),
  weights: new Float64Array(0),
  sum: 0,
  count: 0,
  mass: 0,
  of: 0,
  hidden: 0,
  nonFinite: 0,
};

/**
 * The links of a row of weights. With `renormalize`, the other keys share the weight of hidden keys; else that weight is
 * missing. Only keys on the axis `only` can have links: by default, all of the columns.
 */
export function linksOf(
  row: ArrayLike<number>,
  columns: Axis,
  hidden: readonly number[],
  renormalize: boolean,
  only: Axis = columns,
): RowLinks {
  let [mass, of, nonFinite, hiddenMass, hiddenCount] = [0, 0, 0, 0, 0];
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
      hiddenMass += row[key];
      hiddenCount++;
      const place = placeOf(columns, key);
      if (place !== undefined) open[place] = 0;
    }
  const by = renormalize && hiddenMass > 0 && hiddenMass < mass ? mass / (mass - hiddenMass) : 1;
  let [sum, count] = [0, 0];
  for (let place = 0; place < open.length; place++)
    if (open[place] > 0) {
      open[place] *= by;
      sum += open[place];
      count++;
    }
  const places = Int32Array.from(largestKeys(open, MAX_KEYS));
  return {
    places,
    weights: Float64Array.from(places, (place) => open[place]),
    sum,
    count,
    mass,
    of: renormalize ? of - hiddenCount : of,
    hidden: hiddenMass,
    nonFinite,
  };
}

/** How many of a row's strongest keys are drawn. */
export function countOf({ weights, sum }: RowLinks, { keep, top, mass }: Keep): number {
  if (keep === "top") return Math.min(top, weights.length);
  let [count, total] = [0, 0];
  // A small tolerance: 0.9 of ten equal keys is nine of them.
  while (count < weights.length && total < mass * sum * (1 - 1e-12)) total += weights[count++];
  return count;
}

/** Totals over the rows read so far: the links that are drawn, and all links. */
export interface LinkTotals {
  readonly edges: number;
  /** The number of links with any weight. */
  readonly of: number;
  /** The total weight of the drawn links, and of the rows. */
  readonly shown: number;
  readonly mass: number;
  /** The number of rows whose share needs more than the 64 stored keys. */
  readonly cut: number;
  readonly rows: number;
  /** The largest weight. */
  readonly max: number;
  /** How many values are NaN or infinite. */
  readonly nonFinite: number;
}

/** One line: the places of its ends, and its weight. */
export interface WeightedLink {
  readonly row: number;
  readonly column: number;
  readonly weight: number;
}

/** The links of all shown rows, read one row at a time: preferred rows first, then the rest in order. */
export class Links {
  readonly #read: (query: number) => RowLinks;
  readonly #axis: Axis;
  readonly #columns: number;
  readonly #rows: (RowLinks | undefined)[];
  #next = 0;
  #first: readonly [from: number, to: number] = [0, 0];
  /** How many rows have been read. */
  done = 0;
  #totals: { key: string; totals: LinkTotals } | undefined;
  #incoming: { key: string; start: Int32Array; links: WeightedLink[] } | undefined;

  constructor(rows: Axis, columns: Axis, read: (query: number) => RowLinks) {
    this.#read = read;
    this.#axis = rows;
    this.#columns = columns.count;
    this.#rows = new Array(rows.count).fill(undefined);
  }

  get isComplete(): boolean {
    return this.done === this.#rows.length;
  }

  /** Sets the rows that are read first. */
  prefer(from: number, to: number): void {
    this.#first = [Math.max(0, Math.floor(from)), Math.min(this.#rows.length, Math.ceil(to))];
  }

  /** Whether any of these rows has not been read. */
  get preferring(): boolean {
    let [place, to] = this.#first;
    while (place < to && this.#rows[place] !== undefined) place++;
    this.#first = [place, to];
    return place < to;
  }

  /** Reads one more row; false once all have been read. */
  step(): boolean {
    let place: number;
    if (this.preferring) [place] = this.#first;
    else {
      while (this.#next < this.#rows.length && this.#rows[this.#next] !== undefined) this.#next++;
      place = this.#next;
    }
    if (place >= this.#rows.length) return false;
    this.row(place);
    return !this.isComplete;
  }

  /** The row at a place; it is read if it has not been. */
  row(place: number): RowLinks {
    let links = this.#rows[place];
    if (links === undefined) {
      links = this.#read(indexAt(this.#axis, place) ?? 0);
      this.#rows[place] = links;
      this.done++;
    }
    return links;
  }

  /** The row at a place if it has been read. */
  peek(place: number): RowLinks | undefined {
    return this.#rows[place];
  }

  /** The drawn links of one row, the strongest first. */
  outgoing(place: number, keep: Keep): WeightedLink[] {
    const row = this.row(place);
    return Array.from({ length: countOf(row, keep) }, (_, n) => ({
      row: place,
      column: row.places[n],
      weight: row.weights[n],
    }));
  }

  /** The drawn links to one key from the rows read so far, the strongest first. */
  incoming(place: number, keep: Keep): WeightedLink[] {
    const key = `${this.done} ${keep.keep} ${keep.top} ${keep.mass}`;
    if (this.#incoming?.key !== key) this.#incoming = { key, ...this.#byKey(keep) };
    const { start, links } = this.#incoming;
    return links.slice(start[place], start[place + 1]).sort((a, b) => b.weight - a.weight || a.row - b.row);
  }

  /** The links sorted by key: those to place p have the indices from start[p] to start[p + 1], exclusive. */
  #byKey(keep: Keep): { start: Int32Array; links: WeightedLink[] } {
    const start = new Int32Array(this.#columns + 1);
    const counts = this.#rows.map((row) => (row === undefined ? 0 : countOf(row, keep)));
    this.#rows.forEach((row, place) => {
      for (let n = 0; n < counts[place]; n++) start[row!.places[n] + 1]++;
    });
    for (let place = 0; place < this.#columns; place++) start[place + 1] += start[place];
    const links: WeightedLink[] = new Array(start[this.#columns]);
    const next = start.slice();
    this.#rows.forEach((row, place) => {
      for (let n = 0; n < counts[place]; n++) {
        const column = row!.places[n];
        links[next[column]++] = { row: place, column, weight: row!.weights[n] };
      }
    });
    return { start, links };
  }

  totals(keep: Keep): LinkTotals {
    const key = `${this.done} ${keep.keep} ${keep.top} ${keep.mass}`;
    if (this.#totals?.key !== key) this.#totals = { key, totals: this.#count(keep) };
    return this.#totals.totals;
  }

  #count(keep: Keep): LinkTotals {
    let [edges, of, shown, mass, cut, max, nonFinite] = [0, 0, 0, 0, 0, 0, 0];
    for (const row of this.#rows) {
      if (row === undefined) continue;
      const count = countOf(row, keep);
      let total = 0;
      for (let n = 0; n < count; n++) total += row.weights[n];
      edges += count;
      shown += total;
      of += row.of;
      mass += row.mass;
      nonFinite += row.nonFinite;
      if (keep.keep === "mass" && count === MAX_KEYS && total < keep.mass * row.sum * (1 - 1e-12)) cut++;
      max = Math.max(max, row.weights[0] ?? 0);
    }
    return { edges, of, shown, mass, cut, rows: this.done, max, nonFinite };
  }
}

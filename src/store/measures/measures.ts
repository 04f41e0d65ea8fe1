/**
 * The measures of a head, collected row by row in one pass. Means are over the rows that are not fully masked; means about a
 * neighbor or an earlier copy of the token are over the rows that have one.
 *
 *     entropy = −Σ w·ln w  (nat)      effective keys = e^(mean entropy)      induction: Olsson et al. 2022
 */

import type { FloatArray } from "../../rows/head-rows.ts";
import { type Claim, Claims } from "./claims.ts";

/** The measures that have a value under even attention. */
export const EVEN = [
  "diagonal",
  "previous",
  "next",
  "within",
  "first",
  "special",
  "sameToken",
  "induction",
] as const;
export type EvenMeasure = (typeof EVEN)[number];

/**
 * Measures of one head: means over the rows that are not fully masked. Shares are between 0 and 1. A mean over no rows is NaN, or
 * undefined if the measure does not apply to the head.
 */
export interface HeadMeasures {
  /** Number of rows that are not fully masked. */
  readonly rows: number;
  /** Mean entropy of a row in nats. */
  readonly entropy: number;
  /** e^entropy: a row's attention is as spread out as if it were equal over this many keys. */
  readonly effectiveKeys: number;
  /** Mean |query position − key position| in tokens. Undefined in cross-attention, as are the next four. */
  readonly distance?: number;
  readonly diagonal?: number;
  readonly previous?: number;
  readonly next?: number;
  /** Share of keys at most `near` positions away, the query's own position included. */
  readonly within?: number;
  readonly near: number;
  readonly first: number;
  readonly special: number;
  /** Share of other copies of the query's token, over rows that have one; undefined if no row has one. */
  readonly sameToken?: number;
  /** Share of the tokens after earlier copies of the query's token, over rows that have one; undefined if no row has one. */
  readonly induction?: number;
  /** Number of rows in each of the two means above. */
  readonly sameTokenRows: number;
  readonly inductionRows: number;
  /** Largest weight of the head. */
  readonly maxWeight: number;
  /** Largest sum of a row's weights on masked keys: must be 0. */
  readonly leak: number;
  /** Worst |row sum (with its sink) − 1|. */
  readonly rowSum: number;
  /** Largest row sum (with its sink): above 1, the numbers are not shares of attention. */
  readonly largestSum: number;
  /** Number of unmasked weights or scores that are NaN or infinite. */
  readonly notNumbers: number;
  /** Number of given weights below 0. Rows with one are left out of all means. */
  readonly negative: number;
  /** Mean number of unmasked keys per row. */
  readonly visibleKeys: number;
  /** The shares above under even attention, if they are defined. */
  readonly even: Readonly<Partial<Record<EvenMeasure, number>>>;
  /** At most two disjoint shares of the head's attention, the larger first; see `Claim`. */
  readonly claims: readonly Claim[];
  /** Worst |lse − the model's own lse|, if the file has it. */
  readonly lseDelta?: number;
}

/** Positions of the tokens, which tokens are equal and which are special. Plain data. */
export interface Places {
  /** False for cross-attention, where distances have no meaning. */
  readonly self: boolean;
  readonly queryOffset: number;
  /** Equal numbers are equal tokens: [Nq] and [Nk]. */
  readonly queryIds: Int32Array;
  readonly keyIds: Int32Array;
  /** Nonzero for special tokens: [Nq] and [Nk]. */
  readonly querySpecial: Uint8Array;
  readonly keySpecial: Uint8Array;
}

/** Keys at most this many positions away are near; the query's position is included. */
const NEAR = 4;

/** A mean with its count, and the same mean under even attention. */
class Mean {
  private total = 0;
  private evens = 0;
  count = 0;
  add(x: number, even = 0): void {
    this.total += x;
    this.evens += even;
    this.count++;
  }
  get value(): number | undefined {
    return this.count === 0 ? undefined : this.total / this.count;
  }
  get even(): number | undefined {
    return this.count === 0 ? undefined : this.evens / this.count;
  }
}

/** One row to measure. */
export interface MeasuredRow {
  readonly i: number;
  /** [Nk], 0 where masked. */
  readonly weights: FloatArray;
  /** Keys that the row may attend to: from, to, from, to … */
  readonly runs: readonly number[];
  /** The sink's share of the row. */
  readonly sink?: number;
  /** −Σ w·ln w, if the kernel computed it. */
  readonly entropy?: number;
  /** True for a file's weights, which can be nonzero on masked keys. */
  readonly fromFile?: boolean;
}

/** Collects rows in any order. */
export class Measurer {
  private readonly places: Places;
  /** Positions of the keys of each token, ascending. */
  private readonly copies: ReadonlyMap<number, readonly number[]>;
  /** Positions of special tokens among the keys. */
  private readonly specials: readonly number[];
  private readonly entropy = new Mean();
  private readonly distance = new Mean();
  private readonly diagonal = new Mean();
  private readonly previous = new Mean();
  private readonly next = new Mean();
  private readonly within = new Mean();
  private readonly first = new Mean();
  private readonly special = new Mean();
  private readonly sameToken = new Mean();
  private readonly induction = new Mean();
  private readonly claims: Claims;
  private rows = 0;
  private maxWeight = 0;
  private leak = 0;
  private rowSum = 0;
  private largestSum = 0;
  private notNumbers = 0;
  private negative = 0;

  constructor(places: Places) {
    this.places = places;
    const copies = new Map<number, number[]>();
    places.keyIds.forEach((id, j) => {
      const positions = copies.get(id);
      if (positions) positions.push(j);
      else copies.set(id, [j]);
    });
    this.copies = copies;
    this.specials = [...places.keySpecial.keys()].filter((j) => places.keySpecial[j]);
    this.claims = new Claims(places.keyIds.length);
  }

  add(row: MeasuredRow): void {
    const { i, weights: w, runs, sink = 0 } = row;
    const { places } = this;
    const Nk = w.length;
    const p = i + places.queryOffset;
    const leak = row.fromFile ? outside(w, runs) : 0;
    if (leak > this.leak || leak !== leak) this.leak = leak;
    let total = 0;
    let distance = 0;
    let max = 0;
    let min = 0;
    let visible = 0;
    for (let n = 0; n < runs.length; n += 2) {
      const end = runs[n + 1];
      visible += end - runs[n];
      for (let j = runs[n]; j < end; j++) {
        const x = w[j];
        total += x;
        distance += x * Math.abs(j - p);
        if (x > max) max = x;
        if (x < min) min = x;
      }
    }
    // The sum is NaN or infinite if and only if a weight is.
    if (total + leak - (total + leak) !== 0) {
      this.notNumbers += countNotFinite(w, runs);
      return;
    }
    // Only a file can have negative weights.
    if (min < 0) {
      this.negative += countNegative(w, runs);
      return;
    }
    if (!(total > 0)) return;
    this.rows++;
    if (max > this.maxWeight) this.maxWeight = max;
    const sum = total + leak + sink;
    this.rowSum = Math.max(this.rowSum, Math.abs(sum - 1));
    this.largestSum = Math.max(this.largestSum, sum);
    this.entropy.add(row.entropy ?? entropyOf(w, runs));
    const even = 1 / visible;
    const evenAt = (j: number) => (isIn(runs, j) ? even : 0);
    this.first.add(w[0], evenAt(0));
    this.addSpecial(w, runs, even);
    if (places.self) {
      this.distance.add(distance);
      let within = 0;
      let evenWithin = 0;
      const last = Math.min(Nk - 1, p + NEAR);
      for (let j = Math.max(0, p - NEAR); j <= last; j++) {
        within += w[j];
        evenWithin += evenAt(j);
      }
      this.within.add(within, evenWithin);
      this.claims.addNear(within, evenWithin);
      if (p >= 0 && p < Nk) this.diagonal.add(w[p], evenAt(p));
      if (p >= 1 && p <= Nk) this.previous.add(w[p - 1], evenAt(p - 1));
      if (p >= -1 && p + 1 < Nk) this.next.add(w[p + 1], evenAt(p + 1));
      if (isIn(runs, p)) this.claims.note(p, "diagonal");
      if (isIn(runs, p - 1)) this.claims.note(p - 1, "previous");
      if (isIn(runs, p + 1)) this.claims.note(p + 1, "next");
      if (!places.querySpecial[i]) this.addCopies(i, p, w, runs, even);
    } else this.addAligned(i, w, evenAt);
    this.claims.add(w, runs, visible);
  }

  /** Adds a row's weight on the keys at the query's relative position, from the start and from the end (cross-attention). */
  private addAligned(i: number, w: FloatArray, evenAt: (j: number) => number): void {
    const [Nq, Nk] = [this.places.queryIds.length, w.length];
    const center = ((i + 0.5) * Nk) / Nq - 0.5;
    const band = Math.max(1, Nk / (2 * Nq));
    const around = (at: number) => {
      const shares = { weight: 0, even: 0 };
      for (let j = Math.max(0, Math.ceil(at - band)); j <= Math.min(Nk - 1, Math.floor(at + band)); j++) {
        shares.weight += w[j];
        shares.even += evenAt(j);
      }
      return shares;
    };
    this.claims.addAligned(around(center), around(Nk - 1 - center));
  }

  /** Adds a row's weight and even weight on the visible special tokens. */
  private addSpecial(w: FloatArray, runs: readonly number[], even: number): void {
    let [mass, count] = [0, 0];
    const isVisible = walker(runs);
    for (const j of this.specials)
      if (isVisible(j)) {
        mass += w[j];
        count++;
      }
    this.special.add(mass, count * even);
  }

  /** Adds a row's weight on visible copies of its token, and on the tokens after earlier copies. */
  private addCopies(i: number, p: number, w: FloatArray, runs: readonly number[], even: number): void {
    const copies = this.copies.get(this.places.queryIds[i]);
    if (!copies) return;
    let [same, after, others, earlier] = [0, 0, 0, 0];
    const isVisible = walker(runs);
    for (const j of copies) {
      if (j !== p && isVisible(j)) {
        others++;
        same += w[j];
        this.claims.note(j, "sameToken");
      }
      if (j < p && j + 1 < w.length && isVisible(j + 1)) {
        earlier++;
        after += w[j + 1];
        this.claims.note(j + 1, "induction");
      }
    }
    if (others > 0) this.sameToken.add(same, others * even);
    if (earlier > 0) this.induction.add(after, earlier * even);
  }

  result(): HeadMeasures {
    const none = Number.NaN;
    const entropy = this.entropy.value ?? none;
    const even: Partial<Record<EvenMeasure, number>> = {};
    for (const name of EVEN) {
      const value = this[name].even;
      if (value !== undefined) even[name] = value;
    }
    const some = this.rows > 0;
    return {
      rows: this.rows,
      entropy,
      effectiveKeys: Math.exp(entropy),
      distance: this.distance.value,
      diagonal: this.diagonal.value,
      previous: this.previous.value,
      next: this.next.value,
      within: this.within.value,
      near: NEAR,
      first: this.first.value ?? none,
      special: this.special.value ?? none,
      sameToken: this.sameToken.value,
      induction: this.induction.value,
      sameTokenRows: this.sameToken.count,
      inductionRows: this.induction.count,
      maxWeight: some ? this.maxWeight : none,
      leak: this.leak,
      rowSum: some ? this.rowSum : none,
      largestSum: some ? this.largestSum : none,
      notNumbers: this.notNumbers,
      negative: this.negative,
      visibleKeys: this.claims.visibleKeys,
      even,
      claims: this.claims.result(this.places.keySpecial),
    };
  }
}

/** True if a key is in the runs. */
function isIn(runs: readonly number[], j: number): boolean {
  for (let n = 0; n < runs.length; n += 2)
    if (runs[n] <= j) {
      if (j < runs[n + 1]) return true;
    } else return false;
  return false;
}

/** −Σ w·ln w in nats over the runs; 0·ln 0 is 0. */
export function entropyOf(w: ArrayLike<number>, runs: readonly number[] = [0, w.length]): number {
  let nats = 0;
  for (let n = 0; n < runs.length; n += 2)
    for (let j = runs[n]; j < runs[n + 1]; j++) if (w[j] > 0) nats -= w[j] * Math.log(w[j]);
  return nats > 0 ? nats : 0;
}

/** Returns a test for keys in the runs. It must be called with ascending keys: it walks the runs once. */
function walker(runs: readonly number[]): (j: number) => boolean {
  let run = 0;
  return (j) => {
    while (run < runs.length && runs[run + 1] <= j) run += 2;
    return run < runs.length && runs[run] <= j;
  };
}

/** Number of NaN and infinite weights in the runs. */
function countNotFinite(w: FloatArray, runs: readonly number[]): number {
  let count = 0;
  for (let n = 0; n < runs.length; n += 2)
    for (let j = runs[n]; j < runs[n + 1]; j++) if (w[j] - w[j] !== 0) count++;
  return count;
}

/** Number of negative weights in the runs. */
function countNegative(w: FloatArray, runs: readonly number[]): number {
  let negative = 0;
  for (let n = 0; n < runs.length; n += 2)
    for (let j = runs[n]; j < runs[n + 1]; j++) if (w[j] < 0) negative++;
  return negative;
}

/** Sum of |weight| outside the runs. */
export function outside(w: FloatArray, runs: readonly number[]): number {
  let mass = 0;
  let from = 0;
  for (let n = 0; n <= runs.length; n += 2) {
    const to = n < runs.length ? runs[n] : w.length;
    for (let j = from; j < to; j++) mass += Math.abs(w[j]);
    from = runs[n + 1];
  }
  return mass;
}

/** The places of a block, computed when they are first needed: of a million tokens they take longer than a row. */
export function laterPlacesOf(block: Parameters<typeof placesOf>[0]): () => Places {
  let places: Places | undefined;
  return () => (places ??= placesOf(block));
}

/** The places of a block. */
export function placesOf(block: {
  readonly kind: "self" | "cross";
  readonly queryOffset: number;
  readonly queryTokens: readonly string[];
  readonly keyTokens: readonly string[];
  readonly special: { readonly query: readonly boolean[]; readonly key: readonly boolean[] };
}): Places {
  const ids = new Map<string, number>();
  const idOf = (token: string) => {
    const id = ids.get(token);
    if (id !== undefined) return id;
    ids.set(token, ids.size);
    return ids.size - 1;
  };
  const keyIds = Int32Array.from(block.keyTokens, idOf);
  return {
    self: block.kind === "self",
    queryOffset: block.queryOffset,
    queryIds: block.queryTokens === block.keyTokens ? keyIds : Int32Array.from(block.queryTokens, idOf),
    keyIds,
    querySpecial: Uint8Array.from(block.special.query, Number),
    keySpecial: Uint8Array.from(block.special.key, Number),
  };
}

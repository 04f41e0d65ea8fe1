/**
 * Facts of the rows of a head: entropy, largest weight, the share of hidden keys, and the total weight of each key. Rows are
 * requested from the store one at a time, so no N × N array is ever allocated.
 */

import type { Block, HeadRef } from "../../src/store/block.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
import { entropyOf } from "../../src/store/measures/measures.ts";

/** The facts of one row. */
export interface RowFacts {
  /** nats */
  readonly entropy: number;
  readonly max: number;
  readonly sum: number;
  /** The part of the sum that belongs to hidden keys. */
  readonly hidden: number;
  /** Values that are NaN or infinite. */
  readonly nonFinite: number;
}

/** The facts of a row of weights. */
export function factsOf(row: ArrayLike<number>, hidden: readonly number[] = []): RowFacts {
  let [max, sum, left, nonFinite] = [0, 0, 0, 0];
  for (let j = 0; j < row.length; j++) {
    const weight = row[j];
    if (!Number.isFinite(weight)) {
      nonFinite++;
      continue;
    }
    sum += weight;
    if (weight > max) max = weight;
  }
  for (const key of hidden) if (Number.isFinite(row[key])) left += row[key];
  const finite = nonFinite === 0 ? row : Array.from(row).filter(Number.isFinite);
  return { entropy: entropyOf(finite), max, sum, hidden: left, nonFinite };
}

/** Whether the facts of a head would take too long for its margins: of a million tokens, one row takes 0.1 s. */
export const isEndless = ({ Nq, Nk }: Pick<Block, "Nq" | "Nk">): boolean => Nq * Nk > 2 ** 34;

/** The facts of a head, collected row by row. */
export class HeadFacts {
  readonly entropy: Float64Array;
  readonly hidden: Float64Array;
  /** The total weight of each key over the rows read so far. */
  readonly totals: Float64Array;
  /** How many rows have been read. */
  rows = 0;
  /** How many of their values are NaN or infinite. */
  nonFinite = 0;
  readonly store: HeadStore;
  readonly #ref: HeadRef;
  readonly #hidden: readonly number[];
  readonly #renormalize: boolean;
  #next = 0;

  /** @param renormalize entropies and totals are of the rows without the hidden keys, rescaled to sum to 1 */
  constructor(store: HeadStore, ref: HeadRef, hidden: readonly number[], renormalize = false) {
    const { Nq, Nk } = store.blocks[ref.block];
    this.store = store;
    this.#ref = ref;
    this.#hidden = hidden;
    this.#renormalize = renormalize;
    this.entropy = new Float64Array(Nq).fill(Number.NaN);
    this.hidden = new Float64Array(Nq);
    this.totals = new Float64Array(Nk);
  }

  get isComplete(): boolean {
    return this.rows === this.entropy.length;
  }

  /** Reads one more row; false once all have been read. */
  step(): boolean {
    if (this.#next >= this.entropy.length) return false;
    const i = this.#next++;
    let row = this.store.row(this.#ref, i, "weights");
    let facts = factsOf(row, this.#hidden);
    if (this.#renormalize) {
      const left = Math.max(Number.MIN_VALUE, facts.sum - facts.hidden);
      row = row.map((weight) => weight / left);
      for (const key of this.#hidden) row[key] = 0;
      facts = factsOf(row);
    }
    this.entropy[i] = facts.nonFinite > 0 ? Number.NaN : facts.entropy;
    this.hidden[i] = facts.hidden;
    this.nonFinite += facts.nonFinite;
    for (let j = 0; j < row.length; j++) if (row[j] > 0) this.totals[j] += row[j];
    this.rows++;
    return this.#next < this.entropy.length;
  }
}

/** The indices of the `count` largest values, largest first; ties in order. */
export function largest(values: ArrayLike<number>, count: number): number[] {
  const best: number[] = [];
  for (let j = 0; j < values.length; j++) {
    const value = values[j];
    if (!(value > (best.length < count ? Number.NEGATIVE_INFINITY : values[best[best.length - 1]]))) continue;
    let at = best.length;
    while (at > 0 && values[best[at - 1]] < value) at--;
    best.splice(at, 0, j);
    if (best.length > count) best.pop();
  }
  return best;
}

/** The rank of a value, one plus the number of greater values, and how many values are compared: all, or those that `counts` marks. */
export function rankOf(
  values: ArrayLike<number>,
  at: number,
  counts?: Uint8Array,
): { readonly rank: number; readonly of: number } {
  const value = values[at];
  let [rank, of] = [1, 0];
  // Marks, not a callback: this runs at each move of the pointer, over all keys of a row.
  for (let j = 0; j < values.length; j++) {
    if (counts !== undefined && counts[j] === 0) continue;
    of++;
    if (values[j] > value) rank++;
  }
  return { rank, of };
}

/** Whether a row of weights holds shares of attention: numbers of at least 0 with a sum of at most 1. */
export function areShares(row: Float64Array): boolean {
  let sum = 0;
  for (let j = 0; j < row.length; j++) {
    if (!(row[j] >= 0)) return false;
    sum += row[j];
  }
  return sum < 1.05;
}

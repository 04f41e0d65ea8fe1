/**
 * Contrast: is a link from query i to key j more than what its head does anyway? For weights w and the inner rows R (queries that are
 * no special tokens):
 *
 *     even      1 / number of keys that row i may attend to
 *     others    mean of w(i′, j) over i′ ∈ R, i′ ≠ i, that may attend to j        stripes: every token attends to j
 *     offset    mean of w(i′, i′ + j − i) over i′ ∈ R, i′ ≠ i, where it exists     position heads: the previous token
 *     contrast  w(i, j) − max(others, offset), in [−1, 1]
 *
 * In causal heads early rows have large shares by necessity: only rows with at least half as many visible keys as row i enter *others*.
 * Cross-attention has no *offset*. One sweep over the rows, by their number of visible keys, keeps sums by key and by diagonal: memory is
 * linear in Nq + Nk, and no matrix is stored.
 */

import { checkCount, checkInteger } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import type { Block, HeadRef } from "../block.ts";
import { checkObject, checkPosition, checkRequest, checkStore } from "../check.ts";
import type { RequestOptions } from "../compute/request.ts";
import type { HeadStore } from "../head-store.ts";
import { ComparedRows, KeySums } from "./key-sums.ts";
import { TimeSlices } from "./time-slices.ts";

/** One row of a head with the baselines of each of its links. */
export interface ContrastRow {
  /** The query. */
  readonly i: number;
  /** `[Nk]`, 0 where masked. */
  readonly weights: Float64Array;
  /** `[Nk]`: 1 if the query may attend to the key. */
  readonly visible: Uint8Array;
  /** The weight of each visible key under even attention. */
  readonly even: number;
  /** `[Nk]`: what the other rows give the same key; NaN where no other row may attend to it. */
  readonly others: Float64Array;
  /** `[Nk]`: what the other rows give at the same offset; NaN where there is none, and in cross-attention. */
  readonly offset: Float64Array;
  /** `[Nk]`: w − max(others, offset); NaN where both are undefined. */
  readonly contrast: Float64Array;
  /** `[Nk]`: of the rows whose mean is the larger of others and offset, the share that give more than even attention there. */
  readonly common: Float64Array;
}

/** What may be said about a link, see `verdictOf`. */
export type Verdict = "link" | "stripe" | "offset" | "spread";

/** One link with its baselines. */
export interface LinkContrast {
  readonly weight: number;
  readonly even: number;
  readonly others: number;
  readonly offset: number;
  readonly contrast: number;
  /** Of the rows whose mean is the larger of others and offset, the share that give more than even attention there. */
  readonly common: number;
  readonly verdict: Verdict;
}

/** Which rows are visited. */
export interface ContrastOptions extends RequestOptions {
  /** Only this query. Default: all. */
  readonly query?: number;
  /** Maximum number of cells of one sweep; in larger heads only every n-th row enters the baselines, and is visited. Default 2²⁴. */
  readonly maxCells?: number;
}

/**
 * 99th percentile of w − max(even, others, offset) in heads of random queries and keys (normal numbers, scores of variance 1), by the
 * number of keys that the row may attend to; causal heads, which have the larger ones up to some 16 keys, and bidirectional ones.
 * contrast.test.ts draws such heads and checks that one link in a hundred is above it.
 */
const RANDOM: readonly (readonly [keys: number, contrast: number])[] = [
  [2, 0.45],
  [3, 0.52],
  [5, 0.56],
  [8, 0.475],
  [10, 0.42],
  [12, 0.36],
  [16, 0.29],
  [24, 0.195],
  [32, 0.145],
  [64, 0.08],
  [128, 0.04],
];

/** A baseline explains a weight if both are at least this multiple of even attention, and it is at least this share of the weight. */
export const CLEAR = 2.5;
const EXPLAINS = 0.6;

/** The contrast that one link in a hundred of a random head exceeds, for a row with this many visible keys. */
export function randomContrast(keys: number): number {
  if (!(keys > 1)) return 1;
  const last = RANDOM[RANDOM.length - 1];
  if (keys >= last[0]) return (last[0] * last[1]) / keys;
  const n = RANDOM.findIndex(([size]) => size >= keys);
  const [b, y] = RANDOM[n];
  if (b === keys || n === 0) return y;
  const [a, x] = RANDOM[n - 1];
  return x + ((y - x) * (keys - a)) / (b - a);
}

/**
 * What may be said about a link. `link`: "i attends to j" (its contrast, against even attention as well, is above `randomContrast`).
 * `stripe`: every token attends to j. `offset`: the head attends to that place relative to the query, whatever is there. `spread`: none of
 * these, or no other row to compare with; the weight may be read, and nothing is claimed.
 *
 * @param keys number of keys that the row may attend to
 *
 * @example
 * verdictOf({ weight: 0.8, even: 0.1, others: 0.04, offset: 0.15 }, 10); // "link"
 */
function verdictOf(link: Pick<LinkContrast, "weight" | "even" | "others" | "offset">, keys: number): Verdict {
  checkObject("verdictOf", "{ weight, even, others, offset }", link);
  const { weight, even, others, offset } = link;
  if (Number.isNaN(others) && Number.isNaN(offset)) return "spread";
  const baseline = Math.max(even, orZero(others), orZero(offset));
  const limit = randomContrast(keys);
  if (weight - baseline >= limit) return "link";
  if (Math.min(weight, baseline) < CLEAR * even || baseline < EXPLAINS * weight) return "spread";
  return orZero(others) >= orZero(offset) ? "stripe" : "offset";
}

const orZero = (x: number) => (x === x ? x : 0);

/**
 * Visits the rows of a head with the baselines of their links, those with the most visible keys first. Loads the head.
 *
 * @example
 * for await (const { i, contrast } of contrastRows(store, { block: 0, layer: 0, head: 4 })) console.log(i, Math.max(...contrast));
 */
export async function* contrastRows(
  store: HeadStore,
  ref: HeadRef,
  options: ContrastOptions = {},
): AsyncGenerator<ContrastRow> {
  checkStore("contrastRows", store);
  checkObject("contrastRows", "options", options);
  await store.load(ref);
  const block = store.blocks[ref.block];
  const { Nq, Nk } = block;
  const step = Math.max(1, Math.ceil((Nq * Nk) / (options.maxCells ?? 2 ** 24)));
  const slices = new TimeSlices(options.signal);
  const counts = new Int32Array(Nq);
  const isTarget = (i: number) => (options.query === undefined ? i % step === 0 : i === options.query);
  // The rows that are read: of a million tokens, all of them would take minutes.
  for (let i = 0; i < Nq; i++)
    if (i % step === 0 || isTarget(i)) {
      counts[i] = sum(store.visible(ref, i));
      if (slices.over) await slices.pause();
    }
  const compared = new ComparedRows(counts);
  // A row that is checked is added next, or visited: it is computed once.
  let [at, weights]: [number, Float64Array] = [-1, new Float64Array()];
  const rowOf = (i: number) => {
    if (i !== at) [at, weights] = [i, store.row(ref, i, "weights")];
    return weights;
  };
  const inner = (i: number) =>
    !block.special.query[i] && i % step === 0 && counts[i] > 0 && rowOf(i).every((w) => w - w === 0);
  const sweep = new Sweep(block);
  const add = (sums: KeySums, i: number, first: number) =>
    sums.add(rowOf(i), store.visible(ref, i), first, 1, 1 / counts[i]);
  const targets = compared.order.filter((i) => counts[i] > 0 && isTarget(i));
  for (const [done, i] of targets.entries()) {
    // Targets have fewer and fewer visible keys, so that rows only enter *others*.
    for (const [row] of compared.moves(counts[i])) {
      if (inner(row)) add(sweep.keys, row, 0);
      if (slices.over) await slices.pause();
    }
    // Every row enters *offset*; they are added before the first target.
    if (done === 0)
      for (let row = 0; row < Nq; row++) {
        if (inner(row)) add(sweep.diagonals, row, Nq - row);
        if (slices.over) await slices.pause();
      }
    yield sweep.row(i, counts[i], rowOf(i), store.visible(ref, i), inner(i));
    options.onProgress?.((done + 1) / targets.length);
    if (slices.over) await slices.pause();
  }
}

/**
 * The contrast of one link.
 *
 * @example
 * const { weight, others, contrast } = await contrastOf(store, { block: 0, layer: 5, head: 11 }, 8, 2); // 0.683, 0.641, 0.042: a stripe
 */
export async function contrastOf(
  store: HeadStore,
  ref: HeadRef,
  query: number,
  key: number,
  options: ContrastOptions = {},
): Promise<LinkContrast> {
  checkCount("contrastOf", arguments, 5);
  checkStore("contrastOf", store);
  checkObject("contrastOf", "a head, { block, layer, head }", ref);
  checkRequest("contrastOf", options, ["query", "maxCells"]);
  const { maxCells } = options;
  if (maxCells !== undefined) checkInteger("contrastOf", "maxCells", maxCells, 1);
  const block = store.blocks[checkKind("contrastOf", "block", "an integer ≥ 0", ref.block)];
  if (block) {
    checkPosition("contrastOf", "query", query, block.Nq);
    checkPosition("contrastOf", "key", key, block.Nk);
  }
  for await (const row of contrastRows(store, ref, { ...options, query })) return linkOf(row, key);
  const none = Number.NaN;
  return { weight: 0, even: 0, others: none, offset: none, contrast: none, common: none, verdict: "spread" };
}

/** One link of a row. */
export function linkOf(row: ContrastRow, key: number): LinkContrast {
  const baselines = {
    weight: row.weights[key],
    even: row.visible[key] ? row.even : 0,
    others: row.others[key],
    offset: row.offset[key],
  };
  // Not counted: for each key of a row that would be quadratic in the number of keys.
  const verdict = verdictOf(baselines, Math.round(1 / row.even));
  return { ...baselines, contrast: row.contrast[key], common: row.common[key], verdict };
}

/** Sums by key and by diagonal. */
class Sweep {
  readonly #block: Block;
  readonly keys: KeySums;
  readonly diagonals: KeySums;

  constructor(block: Block) {
    this.#block = block;
    this.keys = new KeySums(block.Nk);
    this.diagonals = new KeySums(block.Nq + block.Nk);
  }

  /** A row with its baselines; `isInside`: the row itself is in the sums, and is taken out. */
  row(
    i: number,
    visibleKeys: number,
    weights: Float64Array,
    visible: Uint8Array,
    isInside: boolean,
  ): ContrastRow {
    const isSelf = this.#block.kind === "self";
    const first = this.#block.Nq - i;
    const even = 1 / visibleKeys;
    const none = () => new Float64Array(weights.length).fill(Number.NaN);
    const [others, offset, contrast, common] = [none(), none(), none(), none()];
    // One loop, not a callback for each: this runs for every cell of a head before a first link is chosen.
    for (let j = 0; j < weights.length; j++) {
      if (!visible[j]) continue;
      const w = isInside ? weights[j] : undefined;
      const a = this.keys.without(j, w);
      const b = isSelf ? this.diagonals.without(first + j, w) : Number.NaN;
      others[j] = a;
      offset[j] = b;
      if (a !== a && b !== b) continue;
      const isStripe = a === a && !(b > a);
      common[j] = isStripe ? this.keys.shareAbove(j, w, even) : this.diagonals.shareAbove(first + j, w, even);
      contrast[j] = weights[j] - (isStripe ? a : b);
    }
    return { i, weights, visible, even, others, offset, contrast, common };
  }
}

/** Not `reduce`, which took half of the time of a link among 4,096 tokens: a callback for each cell. */
function sum(flags: Uint8Array): number {
  let total = 0;
  for (let j = 0; j < flags.length; j++) total += flags[j];
  return total;
}

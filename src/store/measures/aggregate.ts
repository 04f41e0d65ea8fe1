/**
 * What is done with rows once they are there: several queries taken together, keys hidden, pieces joined to words, the
 * few keys that matter picked out. Pure functions over numbers; NaN stays NaN, and what is left out is always reported.
 */
import { formatValue, OptionError } from "../../core/errors.ts";

/** Several rows as one: their mean, sum, or largest value at each key. Rows of one length; at least one. */
export function combineRows(
  rows: readonly ArrayLike<number>[],
  how: "mean" | "sum" | "max" = "mean",
): Float64Array {
  const [first, ...others] = rows;
  if (first === undefined || others.some((row) => row.length !== first.length))
    throw new OptionError(
      "rows",
      `combineRows: expected one or more rows of one length, got ${formatValue(rows.map((row) => row.length))}`,
    );
  const out = Float64Array.from(first);
  for (const row of others)
    for (let j = 0; j < out.length; j++)
      if (how !== "max") out[j] += row[j];
      else if (row[j] > out[j] || row[j] !== row[j]) out[j] = row[j];
  if (how === "mean") for (let j = 0; j < out.length; j++) out[j] /= rows.length;
  return out;
}

/** A row without some of its keys. */
export interface HiddenRow {
  /** 0 where hidden. */
  readonly row: Float64Array;
  /** Mass the hidden keys had: what a gap leaves open, or what was shared out. */
  readonly missing: number;
}

/**
 * Hides keys of a row of weights: with a gap (the rest stays as it is, and no longer sums to 1) or renormalized (the rest
 * grows to the sum it had). A row of which nothing is left is all zeros either way.
 */
export function hideKeys(
  row: ArrayLike<number>,
  hidden: (j: number) => boolean,
  how: "gap" | "renormalize" = "gap",
): HiddenRow {
  const out = Float64Array.from(row);
  let [missing, left] = [0, 0];
  for (let j = 0; j < out.length; j++)
    if (hidden(j)) {
      missing += out[j];
      out[j] = 0;
    } else left += out[j];
  if (how === "renormalize" && left !== 0)
    for (let j = 0; j < out.length; j++) out[j] *= (left + missing) / left;
  return { row: out, missing };
}

/** Keys of a row in order of their weight, the largest first; of equals the earlier one. What is not above 0 is left out. */
export function rankKeys(row: ArrayLike<number>): number[] {
  const keys: number[] = [];
  for (let j = 0; j < row.length; j++) if (row[j] > 0) keys.push(j);
  return keys.sort((a, b) => row[b] - row[a] || a - b);
}

/** Which edges are kept: the `top` of each row, or as many of each as hold a share of its `mass`. */
export type KeepEdges = { readonly top: number } | { readonly mass: number };

/** The keys of a row that are kept, the largest first. */
export function keptKeys(row: ArrayLike<number>, keep: KeepEdges): number[] {
  if ("top" in keep) return largestKeys(row, keep.top);
  const ranked = rankKeys(row);
  let total = 0;
  for (const j of ranked) total += row[j];
  let [count, sum] = [0, 0];
  // A hair of tolerance: 0.9 of ten equal keys is nine of them.
  while (count < ranked.length && sum < keep.mass * total * (1 - 1e-12)) sum += row[ranked[count++]];
  return ranked.slice(0, count);
}

/** The `count` largest keys in one walk: a row of 16,384 need not be sorted for its top 8. */
export function largestKeys(row: ArrayLike<number>, count: number): number[] {
  const best: number[] = [];
  for (let j = 0; j < row.length; j++) {
    const x = row[j];
    if (!(x > 0) || (best.length === count && x <= row[best[count - 1]])) continue;
    let at = Math.min(best.length, count - 1);
    if (at < 0) continue;
    while (at > 0 && row[best[at - 1]] < x) {
      best[at] = best[at - 1];
      at--;
    }
    best[at] = j;
  }
  return best;
}

/** One link of a query to a key. */
export interface Edge {
  readonly query: number;
  readonly key: number;
  readonly weight: number;
}

/** The edges kept, and what is left out. */
export interface Edges {
  readonly edges: readonly Edge[];
  /** Mass of the edges, and of all rows. */
  readonly shown: number;
  readonly mass: number;
  /** Weights above 0 in all rows. */
  readonly of: number;
}

/** The edges of some rows, asked for one at a time so that no matrix is ever there. */
export function edgesOf(
  rowOf: (i: number) => ArrayLike<number>,
  queries: Iterable<number>,
  keep: KeepEdges,
): Edges {
  const edges: Edge[] = [];
  let [shown, mass, of] = [0, 0, 0];
  for (const query of queries) {
    const row = rowOf(query);
    for (let j = 0; j < row.length; j++)
      if (row[j] > 0) {
        mass += row[j];
        of++;
      }
    for (const key of keptKeys(row, keep)) {
      edges.push({ query, key, weight: row[key] });
      shown += row[key];
    }
  }
  return { edges, shown, mass, of };
}

/** Positions `[start, end)` that belong together: the pieces of a word (`wordsOf` finds them), a segment. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A row over words: what its pieces get, added up. */
export function overWords(row: ArrayLike<number>, words: readonly Span[]): Float64Array {
  return Float64Array.from(words, ({ start, end }) => {
    let sum = 0;
    for (let j = start; j < end; j++) sum += row[j];
    return sum;
  });
}

/** The row of a word over words: the mean of its pieces' rows, each summed over the pieces of every word. */
export function wordRow(
  rowOf: (i: number) => ArrayLike<number>,
  word: Span,
  words: readonly Span[],
): Float64Array {
  const pieces = Array.from({ length: word.end - word.start }, (_, n) =>
    overWords(rowOf(word.start + n), words),
  );
  return combineRows(pieces, "mean");
}

/** Mass that some queries give to some keys, and its mean a query. */
export function massOf(
  rowOf: (i: number) => ArrayLike<number>,
  queries: Span,
  keys: Span,
): { readonly sum: number; readonly mean: number } {
  let sum = 0;
  for (let i = queries.start; i < queries.end; i++) {
    const row = rowOf(i);
    for (let j = keys.start; j < keys.end; j++) sum += row[j];
  }
  const count = queries.end - queries.start;
  return { sum, mean: count > 0 ? sum / count : 0 };
}

/**
 * Operations on rows of weights: combine several queries, hide keys, join the pieces of words, choose the largest keys. Pure
 * functions of numbers; NaN stays NaN, and the mass that is left out is always returned.
 */

import { checkArgument, refuseGot } from "../../core/errors.ts";
import { checkObject, checkRow } from "../check.ts";

/** Combines one or more rows of equal length: their mean, sum or maximum at each key. */
export function combineRows(
  rows: readonly ArrayLike<number>[],
  how: "mean" | "sum" | "max" = "mean",
): Float64Array {
  checkRow("combineRows", rows as never);
  const [first, ...others] = rows;
  if (first === undefined || others.some((row) => row.length !== first.length))
    refuseGot(
      "rows",
      "combineRows: expected one or more rows of one length",
      rows.map((row) => row.length),
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
  /** The mass of the hidden keys. */
  readonly missing: number;
}

/**
 * Hides keys of a row of weights: with a gap (the other weights are unchanged and no longer sum to 1) or renormalized (the other
 * weights are scaled to the row's original sum). A row whose keys are all hidden is zeros in both cases.
 */
export function hideKeys(
  row: ArrayLike<number>,
  hidden: (j: number) => boolean,
  how: "gap" | "renormalize" = "gap",
): HiddenRow {
  checkRow("hideKeys", row);
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

/** Keys of a row with a positive weight, the largest first; of equal weights, the earlier key first. */
export function rankKeys(row: ArrayLike<number>): number[] {
  checkRow("rankKeys", row);
  const keys: number[] = [];
  for (let j = 0; j < row.length; j++) if (row[j] > 0) keys.push(j);
  return keys.sort((a, b) => row[b] - row[a] || a - b);
}

/** The edges to keep: the `top` largest of each row, or the fewest that have the share `mass` of the row. */
export type KeepEdges = { readonly top: number } | { readonly mass: number };

/** The keys of a row that are kept, the largest first. */
export function keptKeys(row: ArrayLike<number>, keep: KeepEdges): number[] {
  checkObject("keptKeys", "{ top } or { mass }", keep);
  if ("top" in keep) return largestKeys(row, keep.top);
  const ranked = rankKeys(row);
  let total = 0;
  for (const j of ranked) total += row[j];
  let [count, sum] = [0, 0];
  // The tolerance makes 0.9 of ten equal keys nine keys.
  while (count < ranked.length && sum < keep.mass * total * (1 - 1e-12)) sum += row[ranked[count++]];
  return ranked.slice(0, count);
}

/** The `count` largest keys, in one pass: no need to sort a row of 16,384 keys for its largest 8. */
export function largestKeys(row: ArrayLike<number>, count: number): number[] {
  checkRow("largestKeys", row);
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

function checkRows(what: string, rowOf: (i: number) => ArrayLike<number>): void {
  checkArgument(typeof rowOf === "function", what, "a function that returns a row", rowOf);
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

/** The edges of some rows. The rows are requested one at a time, so no matrix is stored. */
export function edgesOf(
  rowOf: (i: number) => ArrayLike<number>,
  queries: Iterable<number>,
  keep: KeepEdges,
): Edges {
  checkRows("edgesOf", rowOf);
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

/** A range of positions `[start, end)`, such as the pieces of a word or a segment. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A row over words: the sum of each word's pieces. */
export function overWords(row: ArrayLike<number>, words: readonly Span[]): Float64Array {
  checkRow("overWords", row);
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
  checkRows("wordRow", rowOf);
  const pieces = Array.from({ length: word.end - word.start }, (_, n) =>
    overWords(rowOf(word.start + n), words),
  );
  return combineRows(pieces, "mean");
}

/**
 * The softmax of one row of scores in float64. The reference and every picture turn their scores into weights with these functions:
 *
 *   p = exp(s − m)      l = Σ p      weight = p / l      lse = m + log l
 *
 * m is the maximum of the row; masked scores are −∞. A sink is one more logit in m and l that has no key.
 */

import { checkArgument, checkCount, refuseValue } from "../core/errors.ts";

/** Properties of a row; its sink is included. For a fully masked row m and lse are −∞, l and entropy 0. */
export interface RowSum {
  /** The largest score. */
  readonly m: number;
  /** Σ exp(s − m). */
  readonly l: number;
  /** m + log l. */
  readonly lse: number;
  /** −Σ w·ln w of the row's weights w, in nats. */
  readonly entropy: number;
}

/**
 * Replaces the scores of a row, whose maximum is `highest`, by exp(s − m), and returns its sums. Masked scores become 0.
 *
 * @example
 * const s = Float64Array.of(1, 1, -Infinity);
 * exponentiateRow(s, 1).l; // 2; s is [1, 1, 0]
 */
export function exponentiateRow(s: Float64Array, highest: number, sink = -Infinity): RowSum {
  checkCount("exponentiateRow", arguments, 3);
  checkRow("exponentiateRow", s, highest, sink);
  return exponentiate(s, highest, sink);
}

/** Refuses what is no row of floats, and a maximum that is none: exp would overflow. */
function checkRow(what: string, s: Float64Array, highest: number, sink: number): void {
  const isRow = [Float64Array, Float32Array, Array].some((List) => (s as unknown) instanceof List);
  checkArgument(isRow, what, "a row of scores, a Float64Array", s);
  // NaN in the scores propagates, as in the formula.
  if (Array.isArray(s as unknown) && !s.every((x) => typeof x === "number"))
    refuseValue(what, "scores", "a list of numbers", s);
  const largest = s.reduce((a, b) => Math.max(a, b), -Infinity);
  const isHighest = typeof highest === "number" && (highest >= largest || largest !== largest);
  if (!isHighest) refuseValue(what, "highest", `the largest score, ${largest}`, highest);
  if (!(typeof sink === "number" && sink >= -Infinity)) refuseValue(what, "sink", "a number", sink);
}

/** `exponentiateRow` for loops. */
export function exponentiate(s: Float64Array, highest: number, sink = -Infinity): RowSum {
  const m = Math.max(highest, sink);
  const sunk = weight(sink, m);
  let l = sunk;
  let spread = 0;
  for (let j = 0; j < s.length; j++) {
    const x = s[j] - m;
    const p = weight(s[j], m);
    s[j] = p;
    l += p;
    // 0·ln 0 is 0.
    if (p > 0) spread += p * x;
  }
  // −Σ w·ln w with w = p/l and ln w = x − ln l.
  const entropy = l === 0 ? 0 : Math.max(0, ((l - sunk) * Math.log(l) - spread) / l);
  return { m, l, lse: m + Math.log(l), entropy };
}

/**
 * Replaces the scores of a row, whose maximum is `highest`, by its weights, and returns its sums. The weights of a fully masked
 * row are 0.
 *
 * @example
 * const s = Float64Array.of(1, 1, -Infinity);
 * softmaxRow(s, 1).entropy; // ln 2; s is [0.5, 0.5, 0]
 */
export function softmaxRow(s: Float64Array, highest: number, sink = -Infinity): RowSum {
  checkCount("softmaxRow", arguments, 3);
  checkRow("softmaxRow", s, highest, sink);
  return softmax(s, highest, sink);
}

/** `softmaxRow` for loops. */
export function softmax(s: Float64Array, highest: number, sink?: number): RowSum {
  const sum = exponentiate(s, highest, sink);
  if (sum.l !== 0) for (let j = 0; j < s.length; j++) s[j] /= sum.l;
  return sum;
}

/**
 * The weight of a score in a row of known log-sum-exp: exp(s − lse); 0 for a masked score, also in a fully masked row.
 *
 * @example
 * weightOf(0.5, 0.5 + Math.log(2)); // 0.5
 */
export function weightOf(s: number, lse: number): number {
  checkCount("weightOf", arguments, 2);
  checkArgument(
    typeof s === "number" && typeof lse === "number",
    "weightOf",
    "two numbers, a score and lse",
    [s, lse],
  );
  return weight(s, lse);
}

/** `weightOf` for loops. */
export const weight = (s: number, lse: number): number => (s === -Infinity ? 0 : Math.exp(s - lse));

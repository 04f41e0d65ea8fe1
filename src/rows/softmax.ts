/**
 * The softmax of one row of scores in float64. The reference and every picture turn their scores into weights with these functions:
 *
 *   p = exp(s − m)      l = Σ p      weight = p / l      lse = m + log l
 *
 * m is the maximum of the row; masked scores are −∞. A sink is one more logit in m and l that has no key.
 */

import { argumentError, checkCount, isList } from "../core/errors.ts";

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
  if (!isList(s)) throw argumentError("exponentiateRow", "a row of scores, a Float64Array", s);
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
  const sum = exponentiateRow(s, highest, sink);
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
  return weight(s, lse);
}

/** `weightOf` for loops. */
export const weight = (s: number, lse: number): number => (s === -Infinity ? 0 : Math.exp(s - lse));

/** Soft cap: maps scores into (−c, c) by c·tanh(score / c). Gemma 2 (2024), section 2. */
import { checkCount, refuseGot } from "../core/errors.ts";
import { type ScoreMod, scoreMod } from "./expression/expr.ts";

/**
 * c·tanh(score / c), with c > 0.
 *
 * @example
 * scaledDotProductAttention(q, k, v, { scoreMod: softcap(30) });
 */
export function softcap(c: number): ScoreMod {
  checkCount("softcap", arguments, 1);
  if (!(Number.isFinite(c) && c > 0)) refuseGot("softcap", "softcap: c must be > 0", c);
  return scoreMod(({ score }) => score.div(c).tanh().mul(c));
}

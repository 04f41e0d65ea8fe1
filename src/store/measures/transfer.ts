/**
 * From values to the 256 steps of a color scale. Weights and contributions run from 0 to a stated largest value, by
 * square root (small ones are seen, their order kept), as they are, or by decades; scores are signed around code 128.
 */
import type { Stage, TileTransfer } from "../types.ts";

/** Decades a logarithmic scale shows: values below domain·10^−6 share the first color with 0. */
export const LOG_DECADES = 6;

/** True for stages whose values have a sign. */
export function isSigned(stage: Stage): boolean {
  return stage === "scores" || stage === "scaled" || stage === "masked";
}

/** The code, 0 to 255, of a value from 0 to `domain`; what is not a number has none and gets 0. */
export function codeOf(value: number, transfer: TileTransfer, domain: number): number {
  const place = domain > 0 ? value / domain : 0;
  if (!(place > 0)) return 0;
  if (place >= 1) return 255;
  if (transfer === "linear") return Math.round(255 * place);
  if (transfer === "sqrt") return Math.round(255 * Math.sqrt(place));
  return Math.round(255 * Math.max(0, 1 + Math.log10(place) / LOG_DECADES));
}

/** The code of a signed value: 128 at 0, 1 at −domain, 255 at +domain. */
export function signedCodeOf(value: number, domain: number): number {
  const place = domain > 0 ? value / domain : 0;
  if (place !== place) return 128;
  return 128 + Math.round(127 * Math.max(-1, Math.min(1, place)));
}

/** The midpoint of the values that a code represents: a legend's label for its color. */
export function valueOfCode(code: number, transfer: TileTransfer, domain: number): number {
  const place = code / 255;
  if (transfer === "linear") return domain * place;
  if (transfer === "sqrt") return domain * place * place;
  return code === 0 ? 0 : domain * 10 ** ((place - 1) * LOG_DECADES);
}

/**
 * Maps values to the 256 codes of a color scale. Weights and contributions from 0 to `domain`, by square root (which shows small
 * values), linearly, or logarithmically; scores and contrast are signed, with 0 at code 128.
 */
import type { Stage } from "../block.ts";

/** How a value maps to one of 256 colors; see `transfer.ts`. Scores are signed and always linear. */
export type TileTransfer = "sqrt" | "linear" | "log";

/** Decades of a logarithmic scale: values below domain·10^−6 have the color of 0. */
export const LOG_DECADES = 6;

/** True for stages whose values have a sign. */
export function isSigned(stage: Stage): boolean {
  return stage !== "weights" && stage !== "contribution";
}

/** The code, 0 to 255, of a value from 0 to `domain`; 0 for NaN. */
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

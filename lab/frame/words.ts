/** Small texts that several pages use. */
import { formatNumber } from "../../src/store/text/number.ts";

/** A share as people say it: 49 %, 0.3 %, 0 only where it is exactly 0. */
export const percent = (share: number): string => formatNumber(share, { style: "percent" });

/** A number with three significant digits. */
export const number = (value: number, digits = 3): string => formatNumber(value, { digits });

/** A number as Python and JavaScript write it, for listings. */
export const literal = (value: number): string => String(Number(value.toFixed(4)));

/** The words of a sentence, at most `count` of them. */
export function wordsOf(sentence: string, count = 12): string[] {
  return sentence
    .split(/\s+/u)
    .filter((word) => word !== "")
    .slice(0, count);
}

/** A score as listings have it: three digits after the point. */
export const roundScore = (score: number): number => Math.round(score * 1000) / 1000;

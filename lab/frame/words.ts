/** Small texts that several pages use. */
import { formatNumber, superscript } from "../../src/store/text/number.ts";

export { superscript };

/** A share as people say it: 49 %, 0.3 %, 0 only where it is exactly 0; 99.9 % where it rounds to 100 and is not nearly all. */
export const percent = (share: number): string =>
  formatNumber(share >= 0.995 && share < 0.9995 ? 0.999 : share, { style: "percent" }).replace(
    /^100(?=\s%$)/u,
    share >= 0.995 && share < 0.9995 ? "99.9" : "100",
  );

/** A number with three significant digits. */
export const number = (value: number, digits = 3): string => formatNumber(value, { digits });

/** A number as Python and JavaScript write it, for listings. */
export const literal = (value: number): string => String(Number(value.toFixed(4)));

/** Items of a list in a listing: lines of `count`, each indented. */
export function codeLines(items: readonly (string | number)[], count: number, indent: string): string {
  const lines = Array.from({ length: Math.ceil(items.length / count) }, (_, i) =>
    items.slice(i * count, (i + 1) * count).join(", "),
  );
  return lines.map((line) => `${indent}${line}`).join(",\n");
}

/** Indices in the order of their numbers, the largest first. */
export const descending = (numbers: readonly number[]): number[] =>
  numbers.map((_, i) => i).sort((a, b) => numbers[b] - numbers[a]);

/** The index of the largest number. */
export const indexOfLargest = (numbers: readonly number[]): number => numbers.indexOf(Math.max(...numbers));

/** The words of a sentence, at most `count` of them. */
export function wordsOf(sentence: string, count = 12): string[] {
  return sentence
    .split(/\s+/u)
    .filter((word) => word !== "")
    .slice(0, count);
}

/** Pieces of the reader's own sentence that have space beside each other. */
export const PIECES = 10;

/** Characters that are read of the reader's own sentence: the model has 128 positions. */
export const MAX_CHARACTERS = 120;

/** A score or value as listings have it: three digits after the point. */
export const roundScore = (score: number): number => Math.round(score * 1000) / 1000;

/** A count as people say it: 51,200, 6.6 million, 3.3 trillion. */
export function count(value: number): string {
  for (const [size, name] of COUNTS) if (value >= size) return `${number(value / size)} ${name}`;
  return value.toLocaleString("en-US");
}
const COUNTS = [
  [1e12, "trillion"],
  [1e9, "billion"],
  [1e6, "million"],
] as const;

/** Bytes as people say them: 12.8 KiB, 48 GiB. */
export function byteCount(bytes: number): string {
  const unit = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${number(bytes / 1024 ** unit)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

/**
 * Words of the reader's own sentence in the place of `common`, as many: the first that are not repeated and longer than two
 * letters, cut to eight letters; then words of `common` where the sentence has too few.
 */
export function namesFrom(sentence: string, common: readonly string[]): string[] {
  if (sentence === "") return [...common];
  const words = wordsOf(sentence, 40).map((word) => word.replace(/[.,;:!?]+$/u, "").toLowerCase());
  const distinct = [...new Set(words)].filter((word) => word !== "");
  if (distinct.length === 0) return [...common];
  const long = distinct.filter((word) => word.length > 2 && word !== "the" && word !== "and");
  const chosen = (long.length >= common.length ? long : distinct).slice(0, common.length);
  // A sentence of fewer words is filled up with words of the common one.
  for (const word of common) if (chosen.length < common.length && !chosen.includes(word)) chosen.push(word);
  return chosen.map((word) => (word.length > 8 ? `${word.slice(0, 7)}…` : word));
}

/** A sentence without what does not change its words: capitals, quotation marks, the end mark, spaces. */
export const plainSentence = (text: string): string =>
  text
    .toLowerCase()
    .replace(/["“”«»]/gu, "")
    .replace(/[\s.!?…]+$/u, "")
    .trim()
    .replace(/\s+/gu, " ");

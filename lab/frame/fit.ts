/** Labels in columns: those of wide letters are made as narrow as their column. */
import type { Attributes } from "../../src/view/plot/svg.ts";

/** Letters whose width is about a third of the font size, and about all of it; others have about 0.6. */
const NARROW = /[fijlrtI.,:;'|!·[\]()]/;
const WIDE = /[mwMW@%…—\u{2e80}-\u{1ffff}]/u;

/** About how wide a label of a font size is. */
export function widthOf(text: string, size: number): number {
  let width = 0;
  for (const letter of text) width += size * (NARROW.test(letter) ? 0.36 : WIDE.test(letter) ? 1.02 : 0.64);
  return width;
}

/** Attributes of a label of a font size that has `width` pixels: nothing if it fits, otherwise that width. */
export function squeezed(text: string, size: number, width: number): Attributes {
  return widthOf(text, size) > width ? { textLength: width, lengthAdjust: "spacingAndGlyphs" } : {};
}

/** A text in lines of at most `limit` characters, broken at spaces. */
export const wrapped = (text: string, limit: number): string[] =>
  text.match(new RegExp(`\\S.{0,${limit - 1}}(?=\\s|$)|\\S+`, "g"))!;

/** Labels in columns: those of wide letters are made as narrow as their column. */
import type { Attributes } from "../../src/view/figure/sheet.ts";

/** Letters whose width is about a third of the font size, and about all of it; others have about 0.6. */
const NARROW = /[fijlrtI.,:;'|!·[\]()]/;
const WIDE = /[mwMW@%…—\u{2e80}-\u{1ffff}]/u;

/** Attributes of a label of a font size that has `width` pixels: nothing if it fits, otherwise that width. */
export function squeezed(text: string, size: number, width: number): Attributes {
  let wanted = 0;
  for (const letter of text) wanted += size * (NARROW.test(letter) ? 0.36 : WIDE.test(letter) ? 1.02 : 0.64);
  return wanted > width ? { textLength: width, lengthAdjust: "spacingAndGlyphs" } : {};
}

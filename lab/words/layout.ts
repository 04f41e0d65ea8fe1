/**
 * Where the words of a sentence are drawn, without a browser: widths come from a table of letters, and each word is drawn
 * with exactly that width (textLength), so that pages that were built and pages in use look the same.
 */

/** A word's place: `x` and `width` of its letters, `pad` on either side, and its row. */
export interface WordBox {
  readonly x: number;
  readonly width: number;
  readonly pad: number;
  readonly row: number;
}

/** About how wide letters of a serif font are, as shares of the font size. */
const WIDTHS: readonly (readonly [letters: RegExp, width: number])[] = [
  [/[iljtf.,;:'’!|·]/u, 0.32],
  [/[rsI()[\]"“”-]/u, 0.44],
  [/[mwMW%@]/u, 0.88],
  [/[A-Z]/u, 0.7],
  [/[\u1100-\uffff]/u, 1],
];

/** Width of a text at size 1. */
function textWidth(text: string): number {
  let width = 0;
  for (const letter of text) width += WIDTHS.find(([letters]) => letters.test(letter))?.[1] ?? 0.56;
  return width;
}

/** Places of all words: in one row where they fit, else in as many as they need. `align` sets where the first begins. */
export function layLine(
  tokens: readonly string[],
  marks: readonly boolean[],
  size: number,
  right: number,
  left: number,
  align?: number,
): WordBox[] {
  const pad = size * 0.14;
  const gap = size * 0.12;
  let x = (align ?? left) + pad;
  let row = 0;
  return tokens.map((token, i) => {
    const width = textWidth(token) * size * (marks[i] ? 0.55 : 1);
    if (x + width + pad > right && x > left + pad) {
      x = left + pad;
      row++;
    }
    const box = { x, width, pad, row };
    x += width + 2 * pad + gap;
    return box;
  });
}

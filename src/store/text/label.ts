/**
 * Token labels: what a piece is called in a picture, how many terminal columns it takes, and how it is cut to fit.
 *
 * Widths follow Unicode's East Asian Width (UAX #11): wide and fullwidth characters and emoji take two columns,
 * combining marks none. Control characters and marks that change the direction of writing never reach a terminal or a
 * file: a token must not be able to move the cursor or to reorder the text beside it.
 */

import { checkArgument } from "../../core/errors.ts";

/**
 * A label without control, direction and unpaired surrogate characters, each shown as �. The joiners inside emoji and
 * Indic clusters (U+200C, U+200D) stay.
 */
export function clean(text: string): string {
  return text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\uFFFE\uFFFF]/gu, "�");
}

/** A text on one line: line breaks and other control characters become spaces, the rest is cleaned. */
export function oneLine(text: string): string {
  return clean(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "));
}

/** What a piece is called: without the ▁ of its beginning, unless nothing else is in it. */
export function pieceLabel(piece: string): string {
  checkText("pieceLabel", piece);
  const word = piece.replace(/^▁+(?=[^▁])/u, "");
  return clean(word === "" ? "▁" : word);
}

function checkText(what: string, text: string): void {
  checkArgument(typeof text === "string", what, "a text", text);
}

/** Labels made different: one that comes again gets its count, `the` and then `the₂` (`the#2` in ASCII). */
export function distinctLabels(labels: readonly string[], ascii = false): string[] {
  checkArgument(Array.isArray(labels), "distinctLabels", "a list of labels", labels);
  const counts = new Map<string, number>();
  return labels.map((label) => {
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    if (count === 1) return label;
    return label + (ascii ? `#${count}` : [...`${count}`].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[+digit]).join(""));
  });
}

/** Made once: making one takes longer than most labels. */
let segmenter: Intl.Segmenter | undefined;

/** The characters of a text as a reader sees them. */
export function graphemes(text: string): string[] {
  // Plain ASCII without line breaks, which most labels are, is what it looks like.
  if (typeof Intl.Segmenter !== "function" || /^[ -~]*$/.test(text)) return [...text];
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return Array.from(segmenter.segment(text), (part) => part.segment);
}

/** Terminal columns of a text. */
export function widthOf(text: string): number {
  checkText("widthOf", text);
  let columns = 0;
  for (const grapheme of graphemes(text)) columns += graphemeWidth(grapheme);
  return columns;
}

function graphemeWidth(grapheme: string): number {
  if (/^[\p{Mn}\p{Me}]+$/u.test(grapheme)) return 0;
  if (/^\p{Emoji_Presentation}|\uFE0F/u.test(grapheme)) return 2;
  return isWide(grapheme.codePointAt(0)!) ? 2 : 1;
}

/** Blocks of UAX #11 that are wide or fullwidth. */
function isWide(code: number): boolean {
  return (
    code >= 0x1100 &&
    (code <= 0x115f ||
      (code >= 0x2e80 && code <= 0x303e) ||
      (code >= 0x3041 && code <= 0xa4cf) ||
      (code >= 0xa960 && code <= 0xa97f) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) ||
      (code >= 0xfe30 && code <= 0xfe6f) ||
      (code >= 0xff01 && code <= 0xff60) ||
      (code >= 0xffe0 && code <= 0xffe6) ||
      (code >= 0x17000 && code <= 0x18cff) ||
      (code >= 0x1b000 && code <= 0x1b2ff) ||
      (code >= 0x20000 && code <= 0x3fffd))
  );
}

/** The text cut to `columns`, with … in the last one where something was cut. */
export function truncate(text: string, columns: number, ellipsis = "…"): string {
  if (widthOf(text) <= columns) return text;
  const space = columns - widthOf(ellipsis);
  let [out, used] = ["", 0];
  for (const grapheme of graphemes(text)) {
    used += graphemeWidth(grapheme);
    if (used > space) break;
    out += grapheme;
  }
  return space < 0 ? "" : out + ellipsis;
}

/** The text followed (or, with `side` "start", preceded) by spaces up to `columns`. */
export function pad(text: string, columns: number, edge: "end" | "start" = "end"): string {
  const spaces = " ".repeat(Math.max(0, columns - widthOf(text)));
  return edge === "end" ? text + spaces : spaces + text;
}

/** Lines of at most `columns`, broken at spaces; a word that is longer has a line of its own. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= columns)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

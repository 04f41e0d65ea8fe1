/**
 * A head's tokens as running text: the text of each token, which tokens are joined, and line breaks. Spaces between words are
 * gaps; all other white space and control characters are visible. passage.ts creates the elements.
 */
import type { Block } from "../../../src/store/block.ts";
import {
  continues,
  isSpecial,
  type Pieces,
  piecesOf,
  plainText,
  visible,
  wordsOf,
} from "../../../src/store/text/tokens.ts";
import type { TokenRole } from "../../app/session.ts";

/** One token, or the pieces of one word: the tokens from `start` to `end`, exclusive. */
export interface Unit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** It starts a word: there is a gap before it. */
  readonly apart: boolean;
  /** The line ends after it. */
  readonly breaks: boolean;
}

/** The texts on the page, and the chosen tokens. */
export interface Reading {
  readonly block: Block;
  /** Queries and keys are the same text. */
  readonly single: boolean;
  /** Tokens are chosen in one text and read in the other. */
  readonly chooser: TokenRole;
  readonly target: TokenRole;
  readonly units: Readonly<Record<TokenRole, readonly Unit[]>>;
  /** The indices of the chosen units, and whether they are selected (or only hovered). */
  readonly chosen: readonly number[];
  readonly pinned: boolean;
}

/** The maximum number of characters of a token. */
const MAX_CHARACTERS = 48;

/** The units of a text, in order. */
export function unitsOf(tokens: readonly string[], words: boolean): readonly Unit[] {
  const pieces = piecesOf(tokens);
  const spans = words ? wordsOf(tokens, pieces) : tokens.map((_, start) => ({ start, end: start + 1 }));
  return spans.map(({ start, end }) => ({
    start,
    end,
    text: tokens
      .slice(start, end)
      .map((token) => written(token, pieces))
      .join(""),
    apart: !continues(tokens[start], pieces) || (start > 0 && isSpecial(tokens[start - 1])),
    breaks: /[\n\u2028\u2029]$/.test(plainText(tokens[end - 1], pieces)),
  }));
}

/** The text of a token without the single space that separates it from the previous word. */
function written(token: string, pieces: Pieces): string {
  return visible(
    isSpecial(token) ? token : plainText(token, pieces).replace(/^ (?=.)/su, ""),
    "plain",
    MAX_CHARACTERS,
  );
}

/** The main text direction of the tokens. */
export function directionOf(tokens: readonly string[]): "ltr" | "rtl" {
  let balance = 0;
  for (const token of tokens.slice(0, 4096))
    for (const letter of token.slice(0, MAX_CHARACTERS))
      if (
        /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(letter)
      )
        balance++;
      else if (/\p{L}/u.test(letter) && !/^\[|^</.test(token)) balance--;
  return balance > 0 ? "rtl" : "ltr";
}

/** The units of one line, from `first` to `end`, exclusive. */
export interface TextLine {
  readonly first: number;
  readonly end: number;
}

/** The padding of a token, and the gap before a token that starts a word, in pixels. */
const PADDING = 3;
export const GAP = 4;

/** The total horizontal padding of a unit: none at an edge that touches another piece of its word. */
export const paddingOf = (units: readonly Unit[], n: number): number =>
  (units[n].apart || n === 0 ? PADDING : 0) + (units[n + 1]?.apart === false ? 0 : PADDING);

/** Breaks a text into lines; joined units stay on one line if they fit. */
export function flow(
  units: readonly Unit[],
  width: number,
  measure: (text: string) => number,
): readonly TextLine[] {
  const lines: TextLine[] = [];
  let first = 0;
  let x = 0;
  // The first unit of the current word, and its x coordinate.
  let word = 0;
  let wordAt = 0;
  const close = (end: number) => {
    if (end > first) lines.push({ first, end });
    first = end;
  };
  units.forEach((unit, n) => {
    const space = Math.min(width, measure(unit.text) + paddingOf(units, n));
    const gap = unit.apart && n > first ? GAP : 0;
    if (unit.apart || n === first) {
      word = n;
      wordAt = x + gap;
    }
    if (x + gap + space > width && n > first) {
      if (!unit.apart && word > first && x - wordAt + space <= width) {
        close(word);
        x -= wordAt;
      } else {
        close(n);
        x = 0;
        word = n;
      }
      wordAt = 0;
      x += space;
    } else x += gap + space;
    if (unit.breaks) {
      close(n + 1);
      x = 0;
    }
  });
  close(units.length);
  return lines;
}

/** The index of a unit's line. */
export function lineOf(lines: readonly TextLine[], unit: number): number {
  let [low, high] = [0, lines.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle].first <= unit) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

/** The index of a token's unit. */
export function unitOf(units: readonly Unit[], token: number): number {
  let [low, high] = [0, units.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (units[middle].start <= token) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

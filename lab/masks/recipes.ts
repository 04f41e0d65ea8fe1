/** Masks by name, as bitmaps and as the call that builds them in heed, and two of them joined. */
import { wordsOf } from "../frame/words.ts";

/** Queries and keys of the page. */
export const SIZE = 10;
/** Tokens of the common sentence; those after them are padding. */
const REAL = 8;

/** Tokens of a reader's own sentence without padding: its words with a mark before and after, at most as many as the common one has. */
export const realOf = (ownText: string): number =>
  ownText === "" ? REAL : Math.min(REAL, wordsOf(ownText).length + 2);

/** A mask. */
export interface Recipe {
  readonly title: string;
  /** How heed builds it for `real` tokens before padding; "" where there is nothing to build. */
  readonly code: (real: number) => string;
  readonly sees: (i: number, j: number, real: number) => boolean;
}

/** First word of the second document. */
const SECOND = 5;

export const RECIPES: Readonly<Record<string, Recipe>> = {
  none: { title: "no mask", code: () => "", sees: () => true },
  causal: { title: /* text */ "causal", code: () => "causal()", sees: (i, j) => j <= i },
  padding: {
    title: /* text */ "padding",
    code: (real) => `keyLengths(${real})`,
    sees: (_, j, real) => j < real,
  },
  window: { title: "window ± 2", code: () => "slidingWindow(2, 2)", sees: (i, j) => Math.abs(i - j) <= 2 },
  dilated: { title: "every second", code: () => "dilated(2)", sees: (i, j) => (i - j) % 2 === 0 },
  prefix: { title: "prefix of 4", code: () => "prefixLm(4)", sees: (i, j) => j <= i || j < 4 },
  global: { title: "global word 0", code: () => "globalTokens([0])", sees: (i, j) => i === 0 || j === 0 },
  documents: {
    title: "two documents",
    code: () => `documents([${Array.from({ length: SIZE }, (_, i) => (i < SECOND ? 0 : 1)).join(", ")}])`,
    sees: (i, j) => i < SECOND === j < SECOND,
  },
};

/** How two are joined. */
export const JOINS = ["and", "or"] as const;

/** A bitmap [SIZE · SIZE] of a predicate. */
const bitmap = (sees: (i: number, j: number) => boolean): number[] =>
  Array.from({ length: SIZE * SIZE }, (_, at) => (sees(Math.floor(at / SIZE), at % SIZE) ? 1 : 0));

/** Two masks joined, as a bitmap, where the first `real` tokens are not padding. */
export function joined(first: string, join: string, second: string, real = REAL): number[] {
  const [a, b] = [RECIPES[first].sees, RECIPES[second].sees];
  return bitmap((i, j) => (join === "or" ? a(i, j, real) || b(i, j, real) : a(i, j, real) && b(i, j, real)));
}

/** The same as a call, "" where nothing is masked. */
export function callOf(first: string, join: string, second: string, real = REAL): string {
  const [a, b] = [RECIPES[first].code(real), RECIPES[second].code(real)];
  if (a === "" || b === "") return join === "or" ? "" : a || b;
  return a === b ? a : `${join}(${a}, ${b})`;
}

/** Masks by name, as bitmaps and as the call that builds them in heed, and two of them joined. */

/** Queries and keys of the page. */
export const SIZE = 10;
/** The first token that is padding. */
export const PADS = 8;

/** A mask. */
export interface Recipe {
  readonly said: string;
  /** How heed builds it; "" where there is nothing to build. */
  readonly code: string;
  readonly sees: (i: number, j: number) => boolean;
}

/** First word of the second document. */
const SECOND = 5;

export const RECIPES: Readonly<Record<string, Recipe>> = {
  none: { said: "no mask", code: "", sees: () => true },
  causal: { said: "causal", code: "causal()", sees: (i, j) => j <= i },
  padding: { said: "padding", code: `keyLengths(${PADS})`, sees: (_, j) => j < PADS },
  window: { said: "window ± 2", code: "slidingWindow(2, 2)", sees: (i, j) => Math.abs(i - j) <= 2 },
  dilated: { said: "every second", code: "dilated(2)", sees: (i, j) => (i - j) % 2 === 0 },
  prefix: { said: "prefix of 4", code: "prefixLm(4)", sees: (i, j) => j <= i || j < 4 },
  global: { said: "global word 0", code: "globalTokens([0])", sees: (i, j) => i === 0 || j === 0 },
  documents: {
    said: "two documents",
    code: `documents([${Array.from({ length: SIZE }, (_, i) => (i < SECOND ? 0 : 1)).join(", ")}])`,
    sees: (i, j) => i < SECOND === j < SECOND,
  },
};

/** How two are joined. */
export const JOINS = ["and", "or"] as const;

/** A bitmap [SIZE · SIZE] of a predicate. */
export const bitmap = (sees: (i: number, j: number) => boolean): number[] =>
  Array.from({ length: SIZE * SIZE }, (_, at) => (sees(Math.floor(at / SIZE), at % SIZE) ? 1 : 0));

/** Two masks joined, as a bitmap. */
export function joined(first: string, join: string, second: string): number[] {
  const [a, b] = [RECIPES[first].sees, RECIPES[second].sees];
  return bitmap((i, j) => (join === "or" ? a(i, j) || b(i, j) : a(i, j) && b(i, j)));
}

/** The same as a call, "" where nothing is masked. */
export function callOf(first: string, join: string, second: string): string {
  const [a, b] = [RECIPES[first].code, RECIPES[second].code];
  if (a === "" || b === "") return join === "or" ? "" : a || b;
  return a === b ? a : `${join}(${a}, ${b})`;
}

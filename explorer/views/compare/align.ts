/**
 * Two lists of tokens aligned by least edits (Wagner and Fischer 1974): a token is paired with an equal one, or with the one
 * that replaces it; a token that only one list has is paired with nothing. Tokens of two models are compared as plain text.
 */
import { isSpecial, piecesOf, plainText } from "../../../src/store/text/tokens.ts";

/** A token of the first list and one of the second; undefined where there is none. */
export interface Pair {
  readonly a: number | undefined;
  readonly b: number | undefined;
}

/** Longer lists are aligned by index: the table takes a number for each two tokens. */
const MAX_TOKENS = 2048;

/** Special tokens of the same purpose in several families of models. */
const FIRST = /^(?:\[CLS\]|<s>|<bos>|<\|begin_of_text\|>)$/;
const LAST = /^(?:\[SEP\]|<\/s>|<eos>|<\|end_of_text\|>)$/;

/** Tokens without what marks the words in them, in lower case: `Ġflies`, `▁flies` and `Flies` are one. */
export function comparable(tokens: readonly string[]): readonly string[] {
  const pieces = piecesOf(tokens);
  return tokens.map((token) => {
    if (FIRST.test(token)) return "[CLS]";
    if (LAST.test(token)) return "[SEP]";
    if (isSpecial(token)) return token;
    const text = plainText(token, pieces).trim().toLowerCase();
    return text === "" ? token : text;
  });
}

/** Pairs of places: every token of both lists once, in order. */
export function align(a: readonly string[], b: readonly string[]): readonly Pair[] {
  if (a.length > MAX_TOKENS || b.length > MAX_TOKENS)
    return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => ({
      a: i < a.length ? i : undefined,
      b: i < b.length ? i : undefined,
    }));
  const width = b.length + 1;
  const cost = new Uint32Array((a.length + 1) * width);
  for (let i = 0; i <= a.length; i++)
    for (let j = 0; j <= b.length; j++) {
      if (i === 0 || j === 0) {
        cost[i * width + j] = 2 * (i + j);
        continue;
      }
      // Another token in the place costs less than one taken out and one put in.
      const change = cost[(i - 1) * width + j - 1] + (a[i - 1] === b[j - 1] ? 0 : 3);
      const out = cost[(i - 1) * width + j] + 2;
      const put = cost[i * width + j - 1] + 2;
      cost[i * width + j] = Math.min(change, out, put);
    }
  const pairs: Pair[] = [];
  for (let i = a.length, j = b.length; i > 0 || j > 0; ) {
    const here = cost[i * width + j];
    const same = i > 0 && j > 0 && here === cost[(i - 1) * width + j - 1] + (a[i - 1] === b[j - 1] ? 0 : 3);
    if (same) pairs.push({ a: --i, b: --j });
    else if (i > 0 && here === cost[(i - 1) * width + j] + 2) pairs.push({ a: --i, b: undefined });
    else pairs.push({ a: undefined, b: --j });
  }
  return pairs.reverse();
}

/** Pairs of two tokens. */
export const shared = (pairs: readonly Pair[]): readonly { readonly a: number; readonly b: number }[] =>
  pairs.flatMap(({ a, b }) => (a === undefined || b === undefined ? [] : [{ a, b }]));

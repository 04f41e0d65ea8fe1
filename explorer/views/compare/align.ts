/**
 * Two lists of tokens aligned by least edits (Wagner and Fischer 1974): a token stands beside its like, or beside the one
 * that took its place; what only one list has stands beside nothing.
 */

/** A token of the first list and one of the second; undefined where there is none. */
export interface Pair {
  readonly a: number | undefined;
  readonly b: number | undefined;
}

/** Longer lists are aligned by index: the table takes a number for each two tokens. */
const MAX_TOKENS = 2048;

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

/** Pairs with a token on both sides. */
export const shared = (pairs: readonly Pair[]): readonly { readonly a: number; readonly b: number }[] =>
  pairs.flatMap(({ a, b }) => (a === undefined || b === undefined ? [] : [{ a, b }]));

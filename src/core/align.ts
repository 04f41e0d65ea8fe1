/** Aligns two lists of tokens by edit distance (Wagner and Fischer 1974): a token is paired with an equal one or with its replacement. */

/** A token of the first list and its partner in the second; undefined: none. */
export interface AlignedPair {
  readonly a: number | undefined;
  readonly b: number | undefined;
}

/** Longer lists are aligned by index: the table needs one number for each pair of tokens. */
const MAX_TOKENS = 2048;

/** Pairs of indices that contain every token of both lists once, in order. */
export function align(a: readonly string[], b: readonly string[]): readonly AlignedPair[] {
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
      // A replacement costs less than a deletion and an insertion.
      const replaced = cost[(i - 1) * width + j - 1] + (a[i - 1] === b[j - 1] ? 0 : 3);
      const deleted = cost[(i - 1) * width + j] + 2;
      const inserted = cost[i * width + j - 1] + 2;
      cost[i * width + j] = Math.min(replaced, deleted, inserted);
    }
  const pairs: AlignedPair[] = [];
  for (let i = a.length, j = b.length; i > 0 || j > 0; ) {
    const here = cost[i * width + j];
    const same = i > 0 && j > 0 && here === cost[(i - 1) * width + j - 1] + (a[i - 1] === b[j - 1] ? 0 : 3);
    if (same) pairs.push({ a: --i, b: --j });
    else if (i > 0 && here === cost[(i - 1) * width + j] + 2) pairs.push({ a: --i, b: undefined });
    else pairs.push({ a: undefined, b: --j });
  }
  return pairs.reverse();
}

/** The indices of two partners. */
export interface SharedToken {
  readonly a: number;
  readonly b: number;
}

/** The pairs that have a token of both lists. */
export const shared = (pairs: readonly AlignedPair[]): readonly SharedToken[] =>
  pairs.flatMap(({ a, b }) => (a === undefined || b === undefined ? [] : [{ a, b }]));

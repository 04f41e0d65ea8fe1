/**
 * What the two kinds of tokenizer have in common: a text is first split into chunks that no token crosses, and each
 * chunk is cut into tokens by itself. Most chunks of a text have come before, so their cuts are kept.
 */

/** The tokens of a chunk: their ids, and the UTF-16 places in the chunk where each begins and ends. */
export interface Cuts {
  readonly ids: readonly number[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** One kind of tokenizer over one vocabulary. */
export interface Cutter {
  /** Matches the chunks of a text, one after the other; what lies between two is in no token. */
  readonly chunks: RegExp;
  cut(chunk: string): Cuts;
}

/** Chunks whose cuts are kept, and the longest of them: a hundred megabytes of different words must not fill the memory. */
const KEPT = 1 << 16;
const LONGEST = 64;

/** A function that cuts chunks and remembers the short ones. */
export function remembering(cut: (chunk: string) => Cuts): (chunk: string) => Cuts {
  const kept = new Map<string, Cuts>();
  return (chunk) => {
    const known = kept.get(chunk);
    if (known !== undefined) return known;
    const cuts = cut(chunk);
    if (chunk.length > LONGEST) return cuts;
    if (kept.size === KEPT) kept.clear();
    kept.set(chunk, cuts);
    return cuts;
  };
}

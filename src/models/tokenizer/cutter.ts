/**
 * What all kinds of tokenizer have in common: a text is split into chunks that no token crosses, and each chunk is cut into tokens
 * independently. Most chunks of a text are repeated, so their tokens are cached.
 */

/** The tokens of a chunk: their ids, and the UTF-16 offsets in the chunk where each begins and ends. */
export interface Cuts {
  readonly ids: readonly number[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/** One kind of tokenizer over one vocabulary. */
export interface Cutter {
  /** Matches the chunks of a text in order; text between two chunks is in no token. */
  readonly chunks: RegExp;
  cut(chunk: string): Cuts;
}

/** Entries of a cache and the longest chunk in it: a hundred megabytes of different words must not fill the memory. */
const MAX_CACHED = 1 << 16;
const MAX_CACHED_LENGTH = 64;

/** `cut` with a cache of the results for short chunks. */
export function cached<T>(cut: (chunk: string) => T): (chunk: string) => T {
  const cache = new Map<string, T>();
  return (chunk) => {
    const cachedCuts = cache.get(chunk);
    if (cachedCuts !== undefined) return cachedCuts;
    const cuts = cut(chunk);
    if (chunk.length > MAX_CACHED_LENGTH) return cuts;
    if (cache.size === MAX_CACHED) cache.clear();
    cache.set(chunk, cuts);
    return cuts;
  };
}

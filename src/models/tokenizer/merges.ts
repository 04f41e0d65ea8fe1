/**
 * Learning merges (Sennrich et al. 2016, arXiv 1508.07909, algorithm 1): of all pairs of neighboring symbols in the words of a
 * corpus the most frequent one becomes a symbol, repeatedly. Of equal counts the pair with the smaller ids is merged, so the
 * result is deterministic.
 *
 * Counts are updated, not recomputed: a merge changes only the adjacent pairs, and each pair has a list of its words.
 */
import { Heap } from "./heap.ts";

/** A word of the corpus: its symbols as indices into `tokens`, and its count. */
export interface Word {
  readonly symbols: number[];
  readonly count: number;
}

/** The input of `learnMerges`. */
export interface MergeTask {
  /** The distinct words; their symbols are merged in place. */
  readonly words: readonly Word[];
  /** The initial vocabulary, to which the new tokens are appended. */
  readonly tokens: string[];
  /** Final number of tokens; fewer if no pair occurs `minCount` times. */
  readonly size: number;
  readonly minCount: number;
  /** Spelling of two merged tokens. */
  readonly join: (a: string, b: string) => string;
  readonly onProgress?: (done: number, total: number) => void;
}

/** Learns merges until the vocabulary is full. Returns them in order, as indices into `tokens`. */
export function learnMerges(task: MergeTask): [number, number][] {
  const { words, tokens, size, minCount, join, onProgress } = task;
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const counts = new Map<number, number>();
  const places = new Map<number, number[]>();
  const change = (left: number, right: number, by: number, word: number): number => {
    const pair = left * size + right;
    counts.set(pair, (counts.get(pair) ?? 0) + by);
    if (by > 0) {
      const words = places.get(pair);
      if (words === undefined) places.set(pair, [word]);
      else if (words[words.length - 1] !== word) words.push(word);
    }
    return pair;
  };
  words.forEach(({ symbols, count }, word) => {
    for (let i = 1; i < symbols.length; i++) change(symbols[i - 1], symbols[i], count, word);
  });
  const queue = new Heap<Entry>((a, b) => a.count > b.count || (a.count === b.count && a.pair < b.pair));
  for (const [pair, count] of counts) queue.push({ pair, count });

  const merges: [number, number][] = [];
  const done = new Int32Array(words.length).fill(-1);
  const start = tokens.length;
  while (tokens.length < size) {
    const top = queue.pop();
    if (top === undefined) break;
    const { pair } = top;
    const count = counts.get(pair) as number;
    // A count that has fallen since is queued again with its current value; one that rose was queued again then.
    if (count !== top.count) {
      if (count > 0 && count < top.count) queue.push({ pair, count });
      continue;
    }
    if (count < minCount) break;
    const right = pair % size;
    const left = (pair - right) / size;
    const spelling = join(tokens[left], tokens[right]);
    // Two merges may give the same spelling: both are kept, with one token.
    const id = ids.get(spelling) ?? tokens.push(spelling) - 1;
    ids.set(spelling, id);
    merges.push([left, right]);
    const grown = new Set<number>();
    for (const word of places.get(pair) ?? []) {
      if (done[word] === merges.length) continue;
      done[word] = merges.length;
      const { symbols, count: times } = words[word];
      let end = 0; // symbols[0 … end) are the word after this merge
      for (let i = 0; i < symbols.length; i++) {
        const here = symbols[i] === left && i + 1 < symbols.length && symbols[i + 1] === right;
        if (here) {
          if (end > 0) {
            change(symbols[end - 1], left, -times, word);
            grown.add(change(symbols[end - 1], id, times, word));
          }
          if (i + 2 < symbols.length) {
            change(right, symbols[i + 2], -times, word);
            grown.add(change(id, symbols[i + 2], times, word));
          }
          i++;
        }
        symbols[end++] = here ? id : symbols[i];
      }
      symbols.length = end;
    }
    counts.set(pair, 0);
    places.delete(pair);
    grown.delete(pair);
    for (const changed of grown) {
      const now = counts.get(changed) as number;
      if (now > 0) queue.push({ pair: changed, count: now });
    }
    if (merges.length % 256 === 0) onProgress?.(tokens.length - start, size - start);
  }
  onProgress?.(tokens.length - start, tokens.length - start);
  return merges;
}

interface Entry {
  readonly pair: number;
  readonly count: number;
}

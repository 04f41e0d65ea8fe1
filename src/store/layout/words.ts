/**
 * A store over words: the pieces of a word are one row and one column. The weight of a word is the sum over the pieces of the key,
 * and the mean over the pieces of the query, so that rows keep their sums. Scores, queries and keys belong to tokens, so the only
 * stage is `weights`. Heads are merged when they are loaded.
 */

import type { Block, HeadRef, Segment } from "../block.ts";
import { localCompute } from "../compute/compute.ts";
import type { HeadArrays } from "../compute/head.ts";
import { plainKernel } from "../compute/row-source.ts";
import type { Bag } from "../formats/tensor-source.ts";
import type { HeadStore } from "../head-store.ts";
import { type Span, wordRow } from "../measures/aggregate.ts";
import { laterPlacesOf } from "../measures/measures.ts";
import { createStore } from "../store.ts";
import { piecesOf, wordsOf, wordText } from "../text/tokens.ts";
import type { Laid } from "./layout.ts";

/** A block of words, and the tokens of each word. */
interface Merged {
  readonly laid: Laid;
  readonly queries: readonly Span[];
  readonly keys: readonly Span[];
}

/** A view of `store` over words. Disposing it disposes `store`. It has no tensors to write as a bundle. */
export function storeOfWords(store: HeadStore): HeadStore {
  const merged = store.blocks.map(mergedBlock);
  const none: Bag = {
    tensors: new Map(),
    inMemory: false,
    metadata: new Map(),
    read: (name) => {
      throw new RangeError(`a store of words has no tensor ${name}`);
    },
    close() {},
  };
  return createStore(
    {
      blocks: merged.map(({ laid }) => laid),
      bag: none,
      head: (ref) => mergedHead(store, merged[ref.block], ref),
      close: () => store.dispose(),
    },
    store.report,
    localCompute(plainKernel),
  );
}

function mergedBlock(block: Block): Merged {
  const [queries, keys] = [block.queryTokens, block.keyTokens].map((tokens) =>
    wordsOf(tokens, piecesOf(tokens)),
  );
  const named = (tokens: readonly string[], words: readonly Span[]) =>
    words.map((word) => wordText(tokens, word, piecesOf(tokens)) || tokens[word.start]);
  const marked = (flags: readonly boolean[], words: readonly Span[]) =>
    words.map(({ start, end }) => flags.slice(start, end).every(Boolean));
  const over: Block = {
    ...block,
    Nq: queries.length,
    Nk: keys.length,
    d: 0,
    dv: undefined,
    keyHeads: block.heads,
    queryTokens: named(block.queryTokens, queries),
    keyTokens: named(block.keyTokens, keys),
    queryOffset: wordsBefore(keys, block.queryOffset),
    segments: block.segments.map((segment) => mergedSegment(segment, queries, keys)),
    special: { query: marked(block.special.query, queries), key: marked(block.special.key, keys) },
    recipe: {},
    has: { qk: false, weights: true, values: false, vnorm: false, wo: false, lse: false },
    // Positions of states and results are those of tokens.
    states: [],
    evidence: [],
    stages: ["weights"],
  };
  const layers = new Map(block.layers.map((layer) => [layer, { recipe: {}, parts: {} }]));
  return { laid: { block: over, places: laterPlacesOf(over), layers, states: new Map() }, queries, keys };
}

const wordsBefore = (words: readonly Span[], token: number): number =>
  words.filter(({ start }) => start < token).length;

function mergedSegment(
  { name, query, key }: Segment,
  queries: readonly Span[],
  keys: readonly Span[],
): Segment {
  const range = (words: readonly Span[], [from, to]: readonly [number, number]) =>
    [wordsBefore(words, from), wordsBefore(words, to)] as const;
  return { name, ...(query && { query: range(queries, query) }), ...(key && { key: range(keys, key) }) };
}

async function mergedHead(
  store: HeadStore,
  { laid, queries, keys }: Merged,
  ref: HeadRef,
): Promise<HeadArrays> {
  await store.load(ref);
  const [Nq, Nk] = [queries.length, keys.length];
  const weights = new Float64Array(Nq * Nk);
  const keep = new Uint8Array(Nq * Nk);
  for (const [row, word] of queries.entries()) {
    weights.set(
      wordRow((i) => store.row(ref, i, "weights"), word, keys),
      row * Nk,
    );
    const visible = wordRow((i) => store.visible(ref, i), word, keys);
    keep.set(
      visible.map((share) => Number(share > 0)),
      row * Nk,
    );
  }
  return {
    Nq,
    Nk,
    d: 0,
    dv: 0,
    weights: { data: weights, dtype: "float64" },
    recipe: { scale: 1, mask: "none", queryOffset: laid.block.queryOffset },
    keep: { data: keep, polarity: "keep" },
  };
}

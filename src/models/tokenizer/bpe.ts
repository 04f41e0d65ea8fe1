/**
 * Byte-level byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909; over bytes: Radford et al. 2019): a chunk of
 * text begins as its bytes; the neighbours whose merge was learnt first are joined, the leftmost of equals, until no
 * learnt pair is left. With all 256 bytes in the vocabulary there is no unknown text, and decoding gives it back exactly.
 */
import { BYTE_CHARACTERS, GPT2_CHUNKS } from "./bytes.ts";
import { type Cuts, type Cutter, remembering } from "./cutter.ts";
import { Heap } from "./heap.ts";

/** The learnt part of a byte-level BPE tokeniser. */
export interface BpeVocabulary {
  /** Id of each token, spelt in GPT-2's byte alphabet; all 256 bytes are there. */
  readonly vocab: ReadonlyMap<string, number>;
  /** Pairs of tokens, those learnt first first; the two joined are a token. */
  readonly merges: readonly (readonly [string, string])[];
}

/** The tokeniser over a vocabulary that is known to be sound. */
export function bpe({ vocab, merges }: BpeVocabulary): Cutter {
  const idOf = (token: string) => vocab.get(token) as number;
  const byteIds = Int32Array.from(BYTE_CHARACTERS, idOf);
  let size = 0;
  for (const id of vocab.values()) size = Math.max(size, id + 1);
  // rank[a·size + b]: place of the merge of ids a and b; product[rank]: what it makes.
  const rank = new Map<number, number>();
  const product = new Int32Array(merges.length);
  merges.forEach(([a, b], place) => {
    const pair = idOf(a) * size + idOf(b);
    if (!rank.has(pair)) rank.set(pair, place);
    product[place] = idOf(a + b);
  });

  /** Ids of the merged symbols, and how many bytes each covers. */
  function merge(symbols: Int32Array): { ids: number[]; lengths: number[] } {
    const n = symbols.length;
    // A list of symbols, each with its neighbours; one that was joined to its left neighbour is −1.
    const next = Int32Array.from(symbols, (_, i) => i + 1);
    const previous = Int32Array.from(symbols, (_, i) => i - 1);
    // The queue holds rank·n + place: by rank, and from the left among equals. What a join has outdated is passed over.
    const queue = new Heap<number>((a, b) => a < b);
    const offer = (left: number, right: number) => {
      if (left < 0 || right >= n) return;
      const found = rank.get(symbols[left] * size + symbols[right]);
      if (found !== undefined) queue.push(found * n + left);
    };
    for (let i = 0; i + 1 < n; i++) offer(i, i + 1);
    for (let top = queue.pop(); top !== undefined; top = queue.pop()) {
      const left = top % n;
      const place = (top - left) / n;
      const right = next[left];
      if (symbols[left] < 0 || right >= n || rank.get(symbols[left] * size + symbols[right]) !== place)
        continue;
      symbols[left] = product[place];
      symbols[right] = -1;
      next[left] = next[right];
      if (next[left] < n) previous[next[left]] = left;
      offer(previous[left], left);
      offer(left, next[left]);
    }
    const ids: number[] = [];
    const lengths: number[] = [];
    for (let i = 0; i < n; i = next[i]) {
      ids.push(symbols[i]);
      lengths.push(next[i] - i);
    }
    return { ids, lengths };
  }

  function cut(chunk: string): Cuts {
    const bytes = new TextEncoder().encode(chunk);
    const { ids, lengths } = merge(Int32Array.from(bytes, (byte) => byteIds[byte]));
    // A token that ends inside a character covers the whole of it, as the token that goes on there does.
    const { first, last } = places(chunk, bytes.length);
    const starts: number[] = [];
    const ends: number[] = [];
    let at = 0;
    for (const length of lengths) {
      starts.push(first[at]);
      at += length;
      ends.push(last[at - 1]);
    }
    return { ids, starts, ends };
  }

  return { chunks: GPT2_CHUNKS, cut: remembering(cut) };
}

/** For each byte of a text's UTF-8, where in the text its character begins and ends. */
function places(text: string, bytes: number): { first: Int32Array; last: Int32Array } {
  const first = new Int32Array(bytes);
  const last = new Int32Array(bytes);
  let at = 0;
  let start = 0;
  for (const character of text) {
    const code = character.codePointAt(0)!;
    const length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    first.fill(start, at, at + length);
    start += character.length;
    last.fill(start, at, at + length);
    at += length;
  }
  return { first, last };
}

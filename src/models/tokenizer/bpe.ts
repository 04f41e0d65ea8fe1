/**
 * Byte-level byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909; over bytes: Radford et al. 2019): a chunk of text starts
 * as its bytes; the neighbors whose merge was learned first are merged, the leftmost of equals, until no learned pair is left.
 * With all 256 bytes in the vocabulary no text is unknown, and decoding restores it exactly.
 */
import { BYTE_CHARACTERS, GPT2_CHUNKS } from "./bytes.ts";
import { type Cuts, type Cutter, cached } from "./cutter.ts";
import { endOfIds, join } from "./joins.ts";

/** The learned part of a byte-level BPE tokenizer. */
export interface BpeVocabulary {
  /** Id of each token, spelled in GPT-2's byte alphabet, all 256 bytes included. */
  readonly vocab: ReadonlyMap<string, number>;
  /** Pairs of tokens in the order in which they were learned; each pair concatenated is a token. */
  readonly merges: readonly (readonly [string, string])[];
}

/** The tokenizer over a vocabulary that is known to be valid. */
export function bpe({ vocab, merges }: BpeVocabulary): Cutter {
  const idOf = (token: string) => vocab.get(token) as number;
  const byteIds = Int32Array.from(BYTE_CHARACTERS, idOf);
  const size = endOfIds(vocab);
  // rank[a·size + b]: index of the merge of ids a and b; product[rank]: the id of its result.
  const rank = new Map<number, number>();
  const product = new Int32Array(merges.length);
  merges.forEach(([a, b], place) => {
    const pair = idOf(a) * size + idOf(b);
    // As in the library, the last of equal merges counts.
    rank.set(pair, place);
    product[place] = idOf(a + b);
  });

  function cut(chunk: string): Cuts {
    const bytes = new TextEncoder().encode(chunk);
    const symbols = Int32Array.from(bytes, (byte) => byteIds[byte]);
    const { ids, lengths } = join(symbols, { rank, product, size });
    // A token that ends inside a character covers the whole character, as the token that continues it does.
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

  return { chunks: GPT2_CHUNKS, cut: cached(cut) };
}

/** For each byte of a text's UTF-8, where its character begins and ends in the text. */
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

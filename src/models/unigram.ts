/**
 * SentencePiece's unigram tokenizer, as the Universal Sentence Encoder lite uses it: a text is segmented into the pieces of a
 * vocabulary whose log-probabilities have the highest sum (Kudo 2018, arXiv 1804.10959, by dynamic programming over the text).
 *
 * The tokenizer that the published embeddings were computed with has three quirks, which are needed to get the published ids.
 * They are marked (a), (b), (c) below. Each piece has its offsets in the normalized text, so that pictures can be aligned with
 * the words.
 */
import { FormatError, formatValue, OptionError } from "../core/errors.ts";

/** One vocabulary entry: the piece and its log-probability; null counts as 0 (quirk a). */
export type VocabularyEntry = readonly [piece: string, score: number | null];

/** A piece of a text; `normalized.slice(start, end)` is its text. */
export interface Token {
  /** Index in the vocabulary; 0 is the unknown piece. */
  readonly id: number;
  /** The vocabulary's spelling, with ▁ for a space; for an unknown piece, the characters it covers. */
  readonly piece: string;
  /** First UTF-16 index in the normalized text. The ▁ that every text begins with has no width. */
  readonly start: number;
  /** UTF-16 index after the last character. */
  readonly end: number;
}

/** A text and its pieces. */
export interface Tokens {
  /** The text after Unicode NFKC. */
  readonly normalized: string;
  readonly tokens: readonly Token[];
}

/** A tokenizer over one vocabulary. */
export interface Unigram {
  /** Number of pieces. */
  readonly size: number;
  /** The pieces of a text, the most likely segmentation. */
  tokenize(text: string): Tokens;
}

/** Ids below this are control symbols: never matched in a text. */
const RESERVED = 6;
const UNKNOWN = 0;
const SPACE = "▁";

/**
 * A tokenizer from a vocabulary: `[piece, score]` in the order of the ids, the first six reserved.
 * Throws a FormatError that names the first invalid entry.
 *
 * @example
 * const reserved = Array.from({ length: 6 }, (_, n) => [`<${n}>`, 0] as const);
 * const words = unigram([...reserved, ["▁the", -1], ["▁old", -2], ["▁", -9]]);
 */
export function unigram(vocabulary: readonly VocabularyEntry[]): Unigram {
  if (!Array.isArray(vocabulary) || vocabulary.length <= RESERVED)
    throw new FormatError(
      "vocabulary",
      `unigram: expected a list of more than ${RESERVED} entries [piece, score], got ${formatValue(vocabulary)}`,
      { got: vocabulary },
    );
  const ids = new Map<string, number>();
  const scores = new Float64Array(vocabulary.length);
  let longest = 0;
  vocabulary.forEach((entry, id) => {
    const [piece, score] = Array.isArray(entry) ? entry : [];
    const scored = score === null || (typeof score === "number" && Number.isFinite(score));
    if (typeof piece !== "string" || piece === "" || !scored)
      throw new FormatError(
        "vocabulary",
        `unigram: vocabulary entry ${id} must be [piece, score], got ${formatValue(entry)}`,
        { id },
      );
    scores[id] = score ?? 0;
    if (id < RESERVED) return;
    ids.set(piece, id); // the last of several ids of a piece counts (quirk b)
    longest = Math.max(longest, [...piece].length);
  });

  return {
    size: vocabulary.length,
    tokenize(text) {
      if (typeof text !== "string")
        throw new OptionError("text", `tokenize: text must be a string, got ${formatValue(text)}`, {
          got: text,
        });
      const normalized = text.normalize("NFKC");
      if (normalized === "") return { normalized, tokens: [] };
      const symbols = [SPACE, ...normalized].map((symbol) => (symbol === " " ? SPACE : symbol));
      const cuts = segment(symbols, ids, scores, longest);

      // Symbol i is at place[i] of the normalized text; the ▁ in front has no width.
      const place = [0, 0];
      for (const symbol of normalized) place.push(place[place.length - 1] + symbol.length);
      const tokens = cuts.map(({ id, from, to }) => {
        const [start, end] = [place[from], place[to]];
        const piece = id === UNKNOWN ? symbols.slice(from, to).join("") : vocabulary[id][0];
        return { id, piece, start, end };
      });
      return { normalized, tokens };
    },
  };
}

interface Cut {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

/** The best segmentation of `symbols`; neighboring unknown symbols are joined into one piece. */
function segment(
  symbols: readonly string[],
  ids: ReadonlyMap<string, number>,
  scores: Float64Array,
  longest: number,
): Cut[] {
  const n = symbols.length;
  // best[end]: the highest sum of a segmentation of the first `end` symbols; last[end], size[end]: its last piece.
  // An unknown symbol costs nothing, and a best of exactly 0 counts as "none yet" (quirk c).
  const best = new Float64Array(n + 1);
  const last = new Int32Array(n + 1).fill(UNKNOWN);
  const size = new Int32Array(n + 1).fill(1);
  const offer = (start: number, end: number, id: number, score: number) => {
    const sum = best[start] + score;
    if (best[end] !== 0 && sum < best[end]) return;
    best[end] = sum;
    last[end] = id;
    size[end] = end - start;
  };
  // Pieces are offered in ascending order of their start, so best[start] is final when it is read: every
  // piece that ends there began earlier.
  for (let start = 0; start < n; start++) {
    let piece = "";
    let known = false;
    for (let end = start + 1; end <= Math.min(n, start + longest); end++) {
      piece += symbols[end - 1];
      const id = ids.get(piece);
      if (id === undefined) continue;
      known = true;
      offer(start, end, id, scores[id]);
    }
    if (!known) offer(start, start + 1, UNKNOWN, 0);
  }

  const cuts: Cut[] = [];
  for (let end = n; end > 0; ) {
    const from = end - size[end];
    const next = cuts[cuts.length - 1];
    if (next && next.id === UNKNOWN && last[end] === UNKNOWN)
      cuts[cuts.length - 1] = { id: UNKNOWN, from, to: next.to };
    else cuts.push({ id: last[end], from, to: end });
    end = from;
  }
  return cuts.reverse();
}

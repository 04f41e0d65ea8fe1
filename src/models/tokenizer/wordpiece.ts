/**
 * WordPiece as BERT uses it (Devlin et al. 2018, arXiv 1810.04805; google-research/bert, tokenization.py): the normalized text is
 * split at spaces and around every punctuation character; each word is then matched from the left, the longest piece of the
 * vocabulary first, with "##" before pieces inside a word. A word that cannot be matched to its end is one unknown token.
 */
import { type Cuts, type Cutter, cached } from "./cutter.ts";
import { type BertNormalizer, type Normalized, normalize } from "./normalize.ts";

/** The learned part of a WordPiece tokenizer, and its settings. */
export interface WordPieceVocabulary {
  /** Id of each piece. */
  readonly vocab: ReadonlyMap<string, number>;
  /** The token for a word that cannot be matched: "[UNK]". */
  readonly unknown: string;
  /** The prefix of a piece inside a word: "##". */
  readonly prefix: string;
  /** Words of more characters are unknown: 100. */
  readonly maxCharacters: number;
  readonly normalizer: BertNormalizer;
}

/** Splits at white space except the control characters, which the normalizer may drop. */
export const CHUNKS = /[^\t\n\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;

/** UTF-16 units of the longest piece of a vocabulary. */
export function longestPiece(vocab: ReadonlyMap<string, number>): number {
  let longest = 0;
  vocab.forEach((_, piece) => {
    longest = Math.max(longest, piece.length);
  });
  return longest;
}

/** The tokenizer over a vocabulary that is known to be valid. */
export function wordPiece(of: WordPieceVocabulary): Cutter {
  const { vocab, prefix, maxCharacters, normalizer } = of;
  const unknown = vocab.get(of.unknown) as number;
  const longest = longestPiece(vocab);

  /** Matches characters [from, to) of a word; appends the ids and the ends of the pieces. False if it cannot. */
  function read(characters: readonly string[], from: number, to: number, ids: number[], stops: number[]) {
    if (to - from > maxCharacters) return false;
    for (let at = from; at < to; ) {
      let piece = at === from ? "" : prefix;
      let [id, stop] = [-1, at];
      for (let end = at; end < to && piece.length <= longest; ) {
        piece += characters[end++];
        const match = vocab.get(piece);
        if (match !== undefined) [id, stop] = [match, end];
      }
      if (id < 0) return false;
      ids.push(id);
      stops.push(stop);
      at = stop;
    }
    return true;
  }

  function cut(chunk: string): Cuts {
    const normalized = normalize(chunk, normalizer);
    const ids: number[] = [];
    const starts: number[] = [];
    const ends: number[] = [];
    for (const { from, to } of words(normalized)) {
      let pieces: number[] = [];
      let stops: number[] = [];
      if (!read(normalized.characters, from, to, pieces, stops)) [pieces, stops] = [[unknown], [to]];
      let at = from;
      pieces.forEach((id, i) => {
        ids.push(id);
        starts.push(normalized.starts[at]);
        at = stops[i];
        ends.push(normalized.ends[at - 1]);
      });
    }
    return { ids, starts, ends };
  }

  return { chunks: CHUNKS, cut: cached(cut) };
}

/** BERT's words as ranges of characters: split at white space, with every punctuation character a separate word. */
export function* words({ characters }: Normalized): Generator<{ from: number; to: number }> {
  let from = 0;
  for (let at = 0; at <= characters.length; at++) {
    const kind = at === characters.length ? "space" : kindOf(characters[at]);
    if (kind === "letter") continue;
    if (at > from) yield { from, to: at };
    if (kind === "punctuation") yield { from: at, to: at + 1 };
    from = at + 1;
  }
}

function kindOf(character: string): "letter" | "space" | "punctuation" {
  if (/^[a-zA-Z0-9]/.test(character)) return "letter";
  if (/^[!-/:-@[-`{-~]|^\p{P}/u.test(character)) return "punctuation";
  return /^\p{White_Space}/u.test(character) ? "space" : "letter";
}

/**
 * The text of a sequence of pieces: pieces inside a word joined, spaces between words, English punctuation tidied if requested.
 */
export function joinPieces(pieces: readonly string[], prefix: string, cleanup: boolean): string {
  return pieces
    .map((piece, i) => {
      const joined = i === 0 ? piece : piece.startsWith(prefix) ? piece.slice(prefix.length) : ` ${piece}`;
      return cleanup ? TIDY.reduce((text, [from, to]) => text.replaceAll(from, to), joined) : joined;
    })
    .join("");
}

/** The replacements of the published decoder in each piece, in this order. */
const TIDY = [
  [" .", "."],
  [" ?", "?"],
  [" !", "!"],
  [" ,", ","],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [" do not", " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
] as const;

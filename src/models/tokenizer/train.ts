/**
 * Trains a tokenizer on texts: GPT-2's byte-level BPE, or BERT's WordPiece (by frequency of pairs, as in Hugging Face's trainer,
 * not by likelihood). The same texts and options give the same vocabulary, byte for byte.
 */

import { checkCount, OptionError, refuseValue } from "../../core/errors.ts";
import { checkKind, checkOptionNames } from "../../core/option-names.ts";
import type { AddedToken } from "./added.ts";
import { BYTE_CHARACTERS, byteSpelling, GPT2_CHUNKS } from "./bytes.ts";
import { learnMerges, type Word } from "./merges.ts";
import { normalize } from "./normalize.ts";
import { bertTemplate } from "./template.ts";
import { MAX_VOCABULARY, Tokenizer } from "./tokenizer.ts";
import { CHUNKS, words as wordsOf } from "./wordpiece.ts";

/** Options of `trainTokenizer`. */
export interface TrainTokenizerOptions {
  /** `"bpe"`: GPT-2's byte-level pairs, decodes exactly. `"wordpiece"`: BERT's. */
  readonly kind: "bpe" | "wordpiece";
  /** Total number of tokens, special ones and the alphabet included; fewer if the texts do not give as many. */
  readonly vocabSize: number;
  /** Minimum count of a pair to merge; default 2. */
  readonly minCount?: number;
  /** WordPiece: lowercases and removes accents; default true. Byte-level BPE keeps every byte. */
  readonly lowercase?: boolean;
  /** WordPiece: number of most frequent characters that get a token; words with others are unknown. Default 1,000. */
  readonly alphabetSize?: number;
  /**
   * WordPiece: number of most frequent words, each with a count of at least `minCount`, that get a token, before pieces are
   * learned from the other words. Default 0: tokens come from merges only.
   */
  readonly wholeWords?: number;
  /**
   * WordPiece: words that get a token regardless of their count, except those with characters outside the alphabet. Default none.
   */
  readonly words?: Iterable<string>;
  /**
   * Special tokens, with ids from 0. Default `<|endoftext|>`; WordPiece requires `[PAD] [UNK] [CLS] [SEP] [MASK]`, its default.
   */
  readonly specialTokens?: readonly string[];
  /** Called with the number of tokens learned so far, and the total. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** BERT's special tokens, in the order of their ids. */
const BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const PREFIX = "##";
/** Longer words are unknown to BERT's tokenizer, so nothing is learned from them. */
const MAX_CHARACTERS = 100;

/**
 * Trains a tokenizer on texts; no token crosses from one text to the next.
 *
 * Throws an OptionError if `vocabSize` is too small for the special tokens and the alphabet (256 bytes for BPE).
 *
 * @example
 * const tokenizer = trainTokenizer(["the old ship, the old sea"], { kind: "bpe", vocabSize: 260 });
 * tokenizer.decode(tokenizer.ids("the old")); // → "the old"
 */
export function trainTokenizer(texts: Iterable<string>, options: TrainTokenizerOptions): Tokenizer {
  checkCount("trainTokenizer", arguments, 2);
  checkOptionNames(
    "trainTokenizer",
    options,
    "kind vocabSize minCount lowercase alphabetSize wholeWords words specialTokens onProgress",
  );
  const { kind, vocabSize, minCount = 2, alphabetSize = 1000, wholeWords = 0 } = options;
  const requestedWords = options.words ?? [];
  const refuse = (name: string, expected: string, got: unknown): never => {
    refuseValue("trainTokenizer", name, expected, got);
  };
  if (kind !== "bpe" && kind !== "wordpiece") refuse("kind", '"bpe" or "wordpiece"', kind);
  if (!(Number.isInteger(vocabSize) && vocabSize > 0 && vocabSize <= MAX_VOCABULARY))
    refuse("vocabSize", `an integer from 1 to ${MAX_VOCABULARY}`, vocabSize);
  if (!(Number.isInteger(minCount) && minCount > 0)) refuse("minCount", "an integer ≥ 1", minCount);
  if (!(Number.isInteger(alphabetSize) && alphabetSize > 0))
    refuse("alphabetSize", "an integer ≥ 1", alphabetSize);
  if (!(Number.isInteger(wholeWords) && wholeWords >= 0)) refuse("wholeWords", "an integer ≥ 0", wholeWords);
  if (typeof requestedWords === "string" || typeof requestedWords[Symbol.iterator] !== "function")
    refuse("words", "a list of strings", requestedWords);
  const words = [...requestedWords];
  if (words.some((word) => typeof word !== "string")) refuse("words", "a list of strings", words);
  if (kind === "bpe" && wholeWords > 0)
    refuse("wholeWords", 'left out for "bpe", which has merges only', wholeWords);
  if (kind === "bpe" && words.length > 0) refuse("words", 'left out for "bpe", which has merges only', words);
  if (typeof texts === "string" || typeof texts?.[Symbol.iterator] !== "function")
    refuse("texts", "a list of strings", texts);
  if (options.specialTokens !== undefined)
    checkKind("trainTokenizer", "specialTokens", "a list of texts", options.specialTokens);
  const special = [...(options.specialTokens ?? (kind === "bpe" ? ["<|endoftext|>"] : BERT_TOKENS))];
  if (
    special.some((token) => typeof token !== "string" || token === "") ||
    new Set(special).size < special.length
  )
    refuse("specialTokens", "different texts, none empty", special);
  if (kind === "wordpiece" && !BERT_TOKENS.every((token) => special.includes(token)))
    refuse("specialTokens", `a list with ${BERT_TOKENS.join(" ")}`, special);
  return (kind === "bpe" ? trainBpe : trainWordPiece)(texts, {
    ...options,
    minCount,
    alphabetSize,
    wholeWords,
    words,
    lowercase: options.lowercase ?? true,
    specialTokens: special,
  });
}

function trainBpe(
  texts: Iterable<string>,
  options: Required<Omit<TrainTokenizerOptions, "onProgress">>,
): Tokenizer {
  const { specialTokens } = options;
  const tokens = [...specialTokens, ...BYTE_CHARACTERS.toSorted()];
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const words: Word[] = [];
  for (const [chunk, count] of countChunks(texts, GPT2_CHUNKS))
    words.push({ symbols: Array.from(byteSpelling(chunk), (byte) => ids.get(byte) as number), count });
  const merges = learn(words, tokens, options, (a, b) => a + b);
  return new Tokenizer({
    kind: "bpe",
    vocab: new Map(tokens.map((token, id) => [token, id])),
    merges: merges.map(([a, b]) => [tokens[a], tokens[b]] as const),
    addPrefixSpace: false,
    added: addedTokens(specialTokens),
  });
}

function trainWordPiece(
  texts: Iterable<string>,
  options: Required<Omit<TrainTokenizerOptions, "onProgress">>,
): Tokenizer {
  const { specialTokens, alphabetSize, lowercase, minCount, vocabSize, wholeWords } = options;
  const normalizer = { cleanText: true, handleChineseChars: true, stripAccents: null, lowercase };
  const counts = new Map<string, number>();
  const wordsIn = (text: string): string[] => {
    const normalized = normalize(text, normalizer);
    return [...wordsOf(normalized)]
      .filter(({ from, to }) => to - from <= MAX_CHARACTERS)
      .map(({ from, to }) => normalized.characters.slice(from, to).join(""));
  };
  for (const [chunk, count] of countChunks(texts, CHUNKS))
    for (const word of wordsIn(chunk)) counts.set(word, (counts.get(word) ?? 0) + count);
  // The count of each character, and whether it occurs at the start of a word and inside one.
  const alphabet = new Map<string, { total: number; first: boolean; inside: boolean }>();
  for (const [word, count] of counts) {
    let first = true;
    for (const character of word) {
      const entry = alphabet.get(character) ?? { total: 0, first: false, inside: false };
      entry.total += count;
      if (first) entry.first = true;
      else entry.inside = true;
      alphabet.set(character, entry);
      first = false;
    }
  }
  const characters = [...alphabet]
    .sort(([a, { total: x }], [b, { total: y }]) => y - x || (a < b ? -1 : 1))
    .slice(0, alphabetSize)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const tokens = [
    ...specialTokens,
    ...characters.filter(([, { first }]) => first).map(([character]) => character),
    ...characters.filter(([, { inside }]) => inside).map(([character]) => PREFIX + character),
  ];
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const spelled = (word: string) =>
    Array.from(word, (character, i) => ids.has(i === 0 ? character : PREFIX + character)).every(Boolean);
  const vocabulary = new Set([...options.words].flatMap(wordsIn).filter(spelled));
  const frequent = [...counts]
    .filter(([word, count]) => count >= minCount && spelled(word))
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  for (const [word] of frequent.slice(0, wholeWords)) vocabulary.add(word);
  checkSize(vocabSize, tokens.length);
  for (const word of [...vocabulary].sort())
    if (!ids.has(word) && tokens.length < vocabSize) tokens.push(word);
  const words: Word[] = [];
  for (const [word, count] of counts) {
    if (vocabulary.has(word)) continue;
    const symbols = Array.from(word, (character, i) => ids.get(i === 0 ? character : PREFIX + character));
    // A word with a character outside the alphabet will be unknown: nothing is learned from it.
    if (!symbols.includes(undefined)) words.push({ symbols: symbols as number[], count });
  }
  learn(words, tokens, options, (a, b) => a + b.slice(PREFIX.length));
  const vocab = new Map(tokens.map((token, id) => [token, id]));
  const named = (token: string) => [token, vocab.get(token) as number] as const;
  return new Tokenizer({
    kind: "wordpiece",
    vocab,
    unknown: "[UNK]",
    prefix: PREFIX,
    maxCharacters: MAX_CHARACTERS,
    normalizer,
    cleanup: true,
    added: addedTokens(specialTokens),
    template: bertTemplate(named("[CLS]"), named("[SEP]")),
  });
}

function learn(
  words: readonly Word[],
  tokens: string[],
  { vocabSize, minCount, onProgress }: TrainTokenizerOptions & { minCount: number },
  join: (a: string, b: string) => string,
): [number, number][] {
  checkSize(vocabSize, tokens.length);
  return learnMerges({ words, tokens, size: vocabSize, minCount, join, onProgress });
}

/** Throws if a vocabulary is too small for its special tokens and alphabet. */
function checkSize(vocabSize: number, least: number): void {
  if (least > vocabSize)
    throw new OptionError(
      "vocabSize",
      `trainTokenizer: vocabSize must be at least ${least}, for the special tokens and the alphabet; got ${vocabSize}`,
      { got: vocabSize, least },
    );
}

/** The distinct chunks of all texts with their counts, in the order of their first occurrence. */
function countChunks(texts: Iterable<string>, chunks: RegExp): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) {
    if (typeof text !== "string") refuseValue("trainTokenizer", "texts", "strings", text);
    for (const [chunk] of text.matchAll(chunks)) counts.set(chunk, (counts.get(chunk) ?? 0) + 1);
  }
  return counts;
}

function addedTokens(special: readonly string[]): AddedToken[] {
  return special.map((content, id) => ({
    id,
    content,
    special: true,
    singleWord: false,
    lstrip: false,
    rstrip: false,
  }));
}

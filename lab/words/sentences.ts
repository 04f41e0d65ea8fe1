/**
 * The sentences of "Words": the word that looks first, and the word that it looks at or, in controls, does not. Which of them a line of
 * the page shows, and which one a reader's sentence is. What the head reads of each is in captures.ts.
 */
import { plainSentence } from "../frame/words.ts";

export const SENTENCES = {
  time: { text: "time flies like an arrow", looks: "flies", finds: "time" },
  fruit: { text: "fruit flies like a banana", looks: "flies", finds: "fruit" },
  river: { text: "they walked along the bank of the river", looks: "bank", finds: "river" },
  before: { text: "they walked along the river bank", looks: "bank", finds: "river" },
  savings: { text: "they walked to the savings bank", looks: "bank", finds: "savings" },
  green: { text: "they walked along the green bank", looks: "bank", finds: "green" },
  table: { text: "they sat by the bank of the table", looks: "bank", finds: "table" },
  eroding: { text: "The river bank was eroding", looks: "bank", finds: "river" },
  mat: { text: "The cat sat on the mat", looks: "sat", finds: "cat" },
  rates: {
    text: "The bank raised its rates while we sat on the bank of the river",
    looks: "raised",
    finds: "rates",
  },
} as const;

/** A sentence by its name. */
export type SentenceName = keyof typeof SENTENCES;

const NAMES = Object.keys(SENTENCES) as SentenceName[];

/** Two sentences at once; the word that looks has the same place in both. */
const PAIRS: Readonly<Record<string, readonly SentenceName[]>> = {
  flies: ["time", "fruit"],
  banks: ["before", "savings"],
};

/** Every line of the page: a sentence, a pair, or the reader's own sentence. */
export const LINES: readonly string[] = [...NAMES, ...Object.keys(PAIRS), "own"];

/** The sentences of a line. */
export const linesOf = (line: string): readonly SentenceName[] => PAIRS[line] ?? [line as SentenceName];

/** The place of a word among the tokens of a sentence, of which the first is the start mark. */
export const placeIn = (name: SentenceName, word: string): number =>
  1 + SENTENCES[name].text.toLowerCase().split(" ").indexOf(word);

/** The place of the word that looks first in a line; −1 in the reader's own sentence, whose link decides. */
export const looksIn = (line: string): number => {
  const [name] = linesOf(line);
  return line === "own" ? -1 : placeIn(name, SENTENCES[name].looks);
};

/** The sentence that a reader has typed, with or without capitals and an end mark. */
export const sentenceOf = (text: string): SentenceName | undefined =>
  NAMES.find((name) => plainSentence(SENTENCES[name].text) === plainSentence(text));

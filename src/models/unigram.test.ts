import { expect, test } from "vitest";
import { FormatError, OptionError } from "../core/errors.ts";
import { unigram, type VocabularyEntry } from "./unigram.ts";

const control: VocabularyEntry[] = ["�", "<s>", "</s>", "x1", "x2", "x3"].map((piece) => [piece, 0]);
// A character no piece begins with is unknown and costs nothing, so every letter used is a piece by itself, a bad one.
const letters = [..."▁abcfine"].map((piece): VocabularyEntry => [piece, -20]);
const words = (...entries: VocabularyEntry[]) => unigram([...control, ...letters, ...entries]);
const pieces = (text: string, ...entries: VocabularyEntry[]) =>
  words(...entries)
    .tokenize(text)
    .tokens.map((token) => token.piece);

test("the segmentation with the highest sum of scores wins", () => {
  const entries: VocabularyEntry[] = [
    ["▁a", -2],
    ["b", -2],
    ["c", -2],
    ["▁ab", -3],
    ["bc", -3.5],
  ];
  expect(pieces("abc", ...entries)).toEqual(["▁ab", "c"]);
  expect(pieces("abc", ...entries, ["▁abc", -4.9])).toEqual(["▁abc"]);
  expect(pieces("abc", ...entries, ["▁abc", -5.1])).toEqual(["▁ab", "c"]);
});

test("of equal sums the segmentation whose last piece begins later wins", () => {
  expect(pieces("ab", ["▁a", -1], ["b", -1], ["▁ab", -2])).toEqual(["▁a", "b"]);
});

test("a text begins with ▁, and every space is one", () => {
  expect(pieces("a  a", ["▁a", -1])).toEqual(["▁a", "▁", "▁a"]);
});

test("offsets put the pieces back on the normalized text", () => {
  const { normalized, tokens } = words(["▁a", -1], ["▁fi", -1], ["ne", -1]).tokenize("a ﬁne");
  expect(normalized).toBe("a fine");
  expect(tokens).toEqual([
    { id: 14, piece: "▁a", start: 0, end: 1 },
    { id: 15, piece: "▁fi", start: 1, end: 4 },
    { id: 16, piece: "ne", start: 4, end: 6 },
  ]);
});

test("neighboring unknown characters are one piece of id 0, whole code points at a time", () => {
  const { normalized, tokens } = words(["▁a", -1]).tokenize("a 😀é a");
  expect(tokens.map((token) => token.id)).toEqual([14, 6, 0, 14]);
  const { start, end, piece } = tokens[2];
  expect(normalized.slice(start, end)).toBe("😀é");
  expect(piece).toBe("😀é");
});

test("control symbols are never matched in a text", () => {
  expect(
    words(["▁", -1])
      .tokenize("<s>")
      .tokens.map((token) => token.id),
  ).toEqual([14, 0]);
});

test("a score of null counts as 0, and of a piece listed twice the later id counts", () => {
  const tokenizer = words(["▁a", -1], [":", null], [":", -9], ["▁a", -3]);
  expect(tokenizer.tokenize("a:").tokens.map((token) => token.id)).toEqual([17, 16]);
});

test("a best score of exactly 0 counts as none yet, so that a worse piece replaces it", () => {
  // ▁: has 0, so it does not hold its place against the longer path of −3.
  expect(pieces(":", ["▁", -1], [":", -2], ["▁:", null])).toEqual(["▁", ":"]);
  expect(pieces(":", ["▁", -1], [":", -2], ["▁:", -0.5])).toEqual(["▁:"]);
});

test("the empty text has no pieces", () => {
  expect(words().tokenize("").tokens).toEqual([]);
});

test("an invalid vocabulary is refused with the index of the entry, and a value that is not a text is refused", () => {
  expect(() => words(["a", Number.NaN])).toThrow(/entry 14/);
  expect(() => words(["", -1])).toThrow(FormatError);
  expect(() => unigram([])).toThrow(FormatError);
  expect(() => words(["a", -1]).tokenize(5 as unknown as string)).toThrow(OptionError);
});

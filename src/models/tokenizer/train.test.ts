import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OptionError } from "../../core/errors.ts";
import { trainTokenizer, writeTokenizer } from "./index.ts";
import { learnMerges } from "./merges.ts";

/** Sennrich et al. 2016, figure 1: low ×5, lower ×2, newest ×6, widest ×3. */
const CORPUS = ["low ".repeat(5), "lower ".repeat(2), "newest ".repeat(6), "widest ".repeat(3)].map((text) =>
  text.trim(),
);

/** The algorithm as in the paper: all pairs are counted again before every merge. */
function naive(words: readonly { symbols: number[]; count: number }[], tokens: string[], size: number) {
  const merges: [number, number][] = [];
  while (tokens.length < size) {
    const counts = new Map<string, { pair: [number, number]; count: number }>();
    for (const { symbols, count } of words)
      for (let i = 1; i < symbols.length; i++) {
        const pair: [number, number] = [symbols[i - 1], symbols[i]];
        const entry = counts.get(pair.join()) ?? { pair, count: 0 };
        entry.count += count;
        counts.set(pair.join(), entry);
      }
    const [best] = [...counts.values()].sort(
      (a, b) => b.count - a.count || a.pair[0] - b.pair[0] || a.pair[1] - b.pair[1],
    );
    if (best === undefined || best.count < 2) break;
    const [left, right] = best.pair;
    const index = tokens.indexOf(tokens[left] + tokens[right]);
    const merged = index >= 0 ? index : tokens.push(tokens[left] + tokens[right]) - 1;
    merges.push(best.pair);
    for (const { symbols } of words)
      for (let i = 0; i + 1 < symbols.length; i++)
        if (symbols[i] === left && symbols[i + 1] === right) symbols.splice(i, 2, merged);
  }
  return merges;
}

describe("merges", () => {
  test("updating counts gives the same merges as counting again", () => {
    const words = fc.array(
      fc.tuple(fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 9 })),
      {
        maxLength: 12,
      },
    );
    fc.assert(
      fc.property(words, fc.integer({ min: 4, max: 24 }), (list, size) => {
        const copy = () => list.map(([symbols, count]) => ({ symbols: [...symbols], count }));
        const [tokens, slow] = [[..."abcd"], [..."abcd"]];
        const mine = copy();
        const theirs = copy();
        const merges = learnMerges({ words: mine, tokens, size, minCount: 2, join: (a, b) => a + b });
        expect(merges).toEqual(naive(theirs, slow, size));
        expect(tokens).toEqual(slow);
        expect(mine).toEqual(theirs);
      }),
      { numRuns: 300 },
    );
  });
});

describe("byte-level BPE", () => {
  test("special tokens first, then 256 bytes, then learned tokens", () => {
    const { spec, size } = trainTokenizer(CORPUS, { kind: "bpe", vocabSize: 265 });
    expect(size).toBe(265);
    expect([...spec.vocab.keys()].slice(0, 3)).toEqual(["<|endoftext|>", "!", '"']);
    // As in the paper: "es" and "est" occur nine times, "lo" and "low" seven.
    expect(spec.kind === "bpe" && spec.merges.slice(0, 4)).toEqual([
      ["e", "s"],
      ["es", "t"],
      ["l", "o"],
      ["lo", "w"],
    ]);
  });

  test("a word that occurs once is not learned, and the vocabulary stays smaller", () => {
    expect(trainTokenizer(["abc"], { kind: "bpe", vocabSize: 1000 }).size).toBe(257);
    expect(trainTokenizer(["abc"], { kind: "bpe", vocabSize: 1000, minCount: 1 }).size).toBe(259);
    expect(trainTokenizer([], { kind: "bpe", vocabSize: 1000 }).size).toBe(257);
  });

  test("nothing is learned across two texts", () => {
    const merges = (texts: string[]) => trainTokenizer(texts, { kind: "bpe", vocabSize: 300 }).size - 257;
    expect(merges(["ab", "ab", "ab"])).toBe(1);
    expect(merges(["b", "a", "b", "a"])).toBe(0);
  });
});

describe("WordPiece", () => {
  test("BERT's five tokens, then characters, then characters inside words, then learned tokens", () => {
    const { spec } = trainTokenizer(["low low lower"], { kind: "wordpiece", vocabSize: 14 });
    expect([...spec.vocab.keys()]).toEqual([
      "[PAD]",
      "[UNK]",
      "[CLS]",
      "[SEP]",
      "[MASK]",
      "l",
      "##e",
      "##o",
      "##r",
      "##w",
      "lo",
      "low",
    ]);
  });

  test("a word with a character outside the alphabet is unknown", () => {
    const tokenizer = trainTokenizer(["aaa aaa aab"], { kind: "wordpiece", vocabSize: 40, alphabetSize: 1 });
    expect(tokenizer.encode("aaa aab").tokens).toEqual(["[CLS]", "aaa", "[UNK]", "[SEP]"]);
  });

  test("frequent words and the words given stay whole; pieces are learned from the others", () => {
    const texts = ["the cat sat on the mat, the cat ran; unlikely unlikeness"];
    const options = {
      kind: "wordpiece",
      vocabSize: 60,
      wholeWords: 3,
      words: ["Banana", "mat", "zoo"],
    } as const;
    const tokenizer = trainTokenizer([...texts, "b"], options);
    expect(tokenizer.encode("The cat sat on the mat").tokens.slice(1, -1)).toEqual(
      expect.arrayContaining(["the", "cat", "mat"]),
    );
    // "banana" has no occurrence, but its characters are in the alphabet; "z" is not.
    expect(tokenizer.id("banana")).toBeDefined();
    expect(tokenizer.id("zoo")).toBeUndefined();
    expect(tokenizer.encode("unlikely").tokens.slice(1, -1).length).toBeLessThan(8);
    const without = trainTokenizer(texts, { kind: "wordpiece", vocabSize: 40, minCount: 3 });
    expect(without.id("cat")).toBeUndefined();
    const few = trainTokenizer(texts, { kind: "wordpiece", vocabSize: 30, wholeWords: 100 });
    expect(few.size).toBe(30);
  });

  test("capitals stay if requested", () => {
    const cased = trainTokenizer(["Ab Ab"], { kind: "wordpiece", vocabSize: 40, lowercase: false });
    expect(cased.encode("Ab ab").tokens).toEqual(["[CLS]", "Ab", "[UNK]", "[SEP]"]);
    const plain = trainTokenizer(["Ab Ab"], { kind: "wordpiece", vocabSize: 40 });
    expect(plain.encode("Ab ab").tokens).toEqual(["[CLS]", "ab", "ab", "[SEP]"]);
  });
});

test("the same texts give the same bytes; the order of texts does not matter beyond their words", () => {
  for (const kind of ["bpe", "wordpiece"] as const) {
    const file = (texts: string[]) => writeTokenizer(trainTokenizer(texts, { kind, vocabSize: 300 }));
    expect(file(CORPUS)).toEqual(file(CORPUS));
    expect(file(CORPUS)).toEqual(file([...CORPUS].reverse()));
  }
});

test("progress reaches its end", () => {
  const heard: [number, number][] = [];
  trainTokenizer(CORPUS, { kind: "bpe", vocabSize: 263, onProgress: (...it) => heard.push(it) });
  expect(heard.at(-1)).toEqual([6, 6]);
});

test.each([
  ["kind", { kind: "unigram" }],
  ["vocabSize", { vocabSize: 256 }],
  ["vocabSize", { vocabSize: 1.5 }],
  ["minCount", { minCount: 0 }],
  ["alphabetSize", { kind: "wordpiece", alphabetSize: 0 }],
  ["wholeWords", { kind: "wordpiece", wholeWords: -1 }],
  ["wholeWords", { wholeWords: 5 }],
  ["words", { words: ["word"] }],
  ["words", { kind: "wordpiece", words: "word" as never }],
  ["specialTokens", { specialTokens: ["<a>", "<a>"] }],
  ["specialTokens", { kind: "wordpiece", specialTokens: ["[CLS]"] }],
  ["vocabSize", { kind: "wordpiece", vocabSize: 6 }],
])("a wrong %s is refused", (name, over) => {
  const options = { kind: "bpe", vocabSize: 300, ...over } as Parameters<typeof trainTokenizer>[1];
  expect(() => trainTokenizer(CORPUS, options)).toThrow(OptionError);
  expect(() => trainTokenizer(CORPUS, options)).toThrow(new RegExp(name));
});

test("texts that are not strings are refused", () => {
  expect(() => trainTokenizer("text" as never, { kind: "bpe", vocabSize: 300 })).toThrow(/texts/);
  expect(() => trainTokenizer([5 as never], { kind: "bpe", vocabSize: 300 })).toThrow(/texts/);
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FormatError, OptionError } from "../../core/errors.ts";
import { BYTE_CHARACTERS } from "./bytes.ts";
import { type AddedToken, Tokenizer, type TokenizerSpec, trainTokenizer } from "./index.ts";
import { bertTemplate } from "./template.ts";

const added = (content: string, id: number, over: Partial<AddedToken> = {}): AddedToken => ({
  id,
  content,
  special: true,
  singleWord: false,
  lstrip: false,
  rstrip: false,
  ...over,
});

/** The bytes and a few merges: "th", "the", " the", "ll". */
function bytePairs(over: Partial<TokenizerSpec & { kind: "bpe" }> = {}): TokenizerSpec {
  const merges = [
    ["t", "h"],
    ["th", "e"],
    ["Ġ", "the"],
    ["l", "l"],
  ] as const;
  const tokens = [...BYTE_CHARACTERS, ...merges.map(([a, b]) => a + b)];
  return {
    kind: "bpe",
    vocab: new Map(tokens.map((token, id) => [token, id])),
    merges,
    addPrefixSpace: false,
    added: [],
    ...over,
  };
}

const PIECES = [
  "[PAD]",
  "[UNK]",
  "[CLS]",
  "[SEP]",
  "[MASK]",
  "time",
  "fl",
  "##ies",
  "##i",
  "a",
  "##b",
  "!",
  "e",
];
function pieces(over: Partial<TokenizerSpec & { kind: "wordpiece" }> = {}): TokenizerSpec {
  return {
    kind: "wordpiece",
    vocab: new Map(PIECES.map((piece, id) => [piece, id])),
    unknown: "[UNK]",
    prefix: "##",
    maxCharacters: 100,
    normalizer: { cleanText: true, handleChineseChars: true, stripAccents: null, lowercase: true },
    cleanup: true,
    added: PIECES.slice(0, 5).map((content, id) => added(content, id)),
    template: bertTemplate(["[CLS]", 2], ["[SEP]", 3]),
    ...over,
  };
}

const tokensOf = (spec: TokenizerSpec, text: string) => new Tokenizer(spec).encode(text).tokens;

describe("byte-level BPE", () => {
  test("of a merge that is listed twice the last counts, as in the tokenizers library", () => {
    const vocab = new Map([...BYTE_CHARACTERS, "ab", "bc"].map((token, id) => [token, id]));
    const [ab, bc] = [["a", "b"], ["b", "c"]] as const; // biome-ignore format: one pair each
    // From tokenizers 0.23.3: BPE(vocab, merges).
    expect(tokensOf(bytePairs({ vocab, merges: [ab, bc, ab] }), "abc")).toEqual(["a", "bc"]);
    expect(tokensOf(bytePairs({ vocab, merges: [bc, ab, bc] }), "abc")).toEqual(["ab", "c"]);
  });

  test("merges in the order they were learned, from the left", () => {
    expect(tokensOf(bytePairs(), "the other lll")).toEqual(["the", "Ġ", "o", "the", "r", "Ġ", "ll", "l"]);
    expect(tokensOf(bytePairs(), " the")).toEqual(["Ġthe"]);
  });

  test("no token crosses a word, a number, or a contraction", () => {
    const merges = [
      ["a", "1"],
      ["'", "s"],
      ["a", "'"],
      ["a", "Ġ"],
    ] as const;
    const spec = bytePairs();
    const vocab = new Map([...spec.vocab, ...merges.map(([a, b], i) => [a + b, 300 + i] as const)]);
    expect(tokensOf(bytePairs({ vocab, merges }), "a1 a's a a")).toEqual([
      "a",
      "1",
      "Ġ",
      "a",
      "'s",
      "Ġ",
      "a",
      "Ġ",
      "a",
    ]);
  });

  test("a token of part of a character covers the whole of it", () => {
    const { offsets, tokens } = new Tokenizer(bytePairs()).encode("é😀!");
    expect(tokens.length).toBe(7);
    expect(offsets).toEqual([
      [0, 1],
      [0, 1],
      [1, 3],
      [1, 3],
      [1, 3],
      [1, 3],
      [3, 4],
    ]);
  });

  test("a prepended space has no width in the text", () => {
    expect(new Tokenizer(bytePairs({ addPrefixSpace: true })).encode("").tokens).toEqual([]);
    const { tokens, offsets } = new Tokenizer(bytePairs({ addPrefixSpace: true })).encode("the the");
    expect(tokens).toEqual(["Ġthe", "Ġthe"]);
    expect(offsets).toEqual([
      [0, 3],
      [3, 7],
    ]);
  });

  test("decoding gives any well-formed text back exactly", () => {
    const learned = trainTokenizer(["the cat sat on the mat, the 😀 cat\r\n\t at 12:30 ".repeat(9)], {
      kind: "bpe",
      vocabSize: 320,
    });
    const texts = fc.string({
      unit: fc.oneof(
        fc.constantFrom("the", " ", "  ", "\n", "cat", "\u0301", "日本", "'s", "\ufeff", "\0"),
        fc.string({ unit: "binary", maxLength: 3 }),
      ),
      maxLength: 40,
    });
    fc.assert(
      fc.property(texts, (text) => {
        for (const tokenizer of [learned, new Tokenizer(bytePairs())]) {
          const { ids, offsets } = tokenizer.encode(text);
          expect(tokenizer.decode(ids)).toBe(text);
          expect([...tokenizer.ids(text)]).toEqual([...ids]);
          // Offsets increase without a gap.
          let end = 0;
          for (const [from, to] of offsets) {
            expect(from <= end && to >= end && to > from).toBe(true);
            end = to;
          }
          expect(end).toBe(text.length);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a lone surrogate is read as U+FFFD", () => {
    const tokenizer = new Tokenizer(bytePairs());
    expect(tokenizer.decode(tokenizer.ids("a\ud800b"))).toBe("a\ufffdb");
  });

  test("a chunk of 200,000 characters takes n log n steps, not n²", () => {
    const merges = [
      ["a", "a"],
      ["aa", "aa"],
      ["aaaa", "aaaa"],
    ] as const;
    const spec = bytePairs();
    const vocab = new Map([...spec.vocab, ...merges.map(([a, b], i) => [a + b, 300 + i] as const)]);
    const tokenizer = new Tokenizer(bytePairs({ vocab, merges }));
    expect(tokenizer.ids("a".repeat(200_001)).length).toBe(25_001);
  });

  test("a stream holds a character back until it is whole", () => {
    const tokenizer = new Tokenizer(bytePairs());
    const stream = tokenizer.stream();
    const ids = tokenizer.ids("a😀");
    expect([...ids].map((id) => stream.push(id))).toEqual(["a", "", "", "", "😀"]);
    expect(stream.end()).toBe("");
    const broken = tokenizer.stream();
    expect(broken.push(ids[1]) + broken.end()).toBe("\ufffd");
  });

  test("display shows text, and bytes of part of a character", () => {
    const tokenizer = new Tokenizer(bytePairs());
    expect([...tokenizer.ids(" theé")].map((id) => tokenizer.display(id))).toEqual([
      " the",
      "\\xC3",
      "\\xA9",
    ]);
  });
});

describe("WordPiece", () => {
  test("the longest piece first, ## inside a word, the template around", () => {
    const { tokens, offsets, special, sequences, typeIds } = new Tokenizer(pieces()).encode("Time FLIES!");
    expect(tokens).toEqual(["[CLS]", "time", "fl", "##ies", "!", "[SEP]"]);
    expect(offsets).toEqual([
      [0, 0],
      [0, 4],
      [5, 7],
      [7, 10],
      [10, 11],
      [0, 0],
    ]);
    expect(special).toEqual([true, false, false, false, false, true]);
    expect([...sequences]).toEqual([-1, 0, 0, 0, 0, -1]);
    expect([...typeIds]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("a pair has types 0 and 1", () => {
    const { tokens, typeIds, sequences } = new Tokenizer(pieces()).encode("a", "ab");
    expect(tokens).toEqual(["[CLS]", "a", "[SEP]", "a", "##b", "[SEP]"]);
    expect([...typeIds]).toEqual([0, 0, 0, 1, 1, 1]);
    expect([...sequences]).toEqual([-1, 0, -1, 1, 1, -1]);
  });

  test("a word that cannot be matched to its end is one unknown token", () => {
    expect(tokensOf(pieces(), "flx ax time")).toEqual(["[CLS]", "[UNK]", "[UNK]", "time", "[SEP]"]);
    expect(tokensOf(pieces({ maxCharacters: 4 }), "time flies")).toEqual(["[CLS]", "time", "[UNK]", "[SEP]"]);
  });

  test("accents are removed by default if the text is lowercased", () => {
    expect(tokensOf(pieces(), "é")).toEqual(["[CLS]", "e", "[SEP]"]);
    const keep = { ...(pieces() as TokenizerSpec & { kind: "wordpiece" }).normalizer, stripAccents: false };
    expect(tokensOf(pieces({ normalizer: keep }), "é")).toEqual(["[CLS]", "[UNK]", "[SEP]"]);
  });

  test("offsets of normalized characters refer to the text", () => {
    const text = "\u200bE\u0301 漢A\u0000B";
    const { tokens, offsets } = new Tokenizer(pieces()).encode(text, undefined, { addSpecialTokens: false });
    expect(tokens).toEqual(["e", "[UNK]", "a", "##b"]);
    expect(offsets.map(([start, end]) => text.slice(start, end))).toEqual(["E", "漢", "A", "B"]);
  });

  test("decoding joins pieces and tidies English", () => {
    const tokenizer = new Tokenizer(pieces());
    expect(tokenizer.decode(tokenizer.encode("Time flies!").ids)).toBe("time flies!");
    expect(tokenizer.decode(tokenizer.encode("ab a").ids, { skipSpecialTokens: false })).toBe(
      "[CLS] ab a [SEP]",
    );
  });
});

describe("added tokens", () => {
  test("may have any character", () => {
    const names = ["<fim-prefix>", "a-b", "^$.*+?()[]{}|/\\", "<|end of text|>", "--", "\u{1f600}-"];
    const spec = bytePairs({ added: names.map((name, n) => added(name, 300 + n)) });
    for (const [n, name] of names.entries())
      expect([...new Tokenizer(spec).encode(`x${name}x`).ids.slice(1, -1)], name).toEqual([300 + n]);
  });

  test("the longest that begins at a position is found before anything else", () => {
    const spec = bytePairs({ added: [added("<a>", 300), added("<a><b>", 301), added("<b>", 302)] });
    expect(tokensOf(spec, "x<a><b><a><b")).toEqual(["x", "<a><b>", "<a>", "<", "b"]);
  });

  test("with splitSpecialTokens special ones are plain text", () => {
    const spec = bytePairs({ added: [added("<s>", 300), added("the", 257, { special: false })] });
    const tokenizer = new Tokenizer(spec);
    const { tokens, special } = tokenizer.encode("<s>the", undefined, { splitSpecialTokens: true });
    expect(tokens).toEqual(["<", "s", ">", "the"]);
    expect(special).toEqual([false, false, false, false]);
    expect(tokenizer.encode("<s>the").special).toEqual([true, false]);
  });

  test("lstrip and rstrip include adjacent white space", () => {
    const spec = bytePairs({ added: [added("<l>", 300, { lstrip: true, rstrip: true })] });
    const { tokens, offsets } = new Tokenizer(spec).encode("a  <l>\n b");
    expect(tokens).toEqual(["a", "<l>", "b"]);
    expect(offsets).toEqual([
      [0, 1],
      [1, 8],
      [8, 9],
    ]);
    const places = (over: Partial<AddedToken>) =>
      new Tokenizer(bytePairs({ added: [added("<l>", 300, over)] })).encode("a <l> b").offsets;
    expect(places({ lstrip: true })).toEqual([
      [0, 1],
      [1, 5],
      [5, 6],
      [6, 7],
    ]);
    expect(places({ rstrip: true })).toEqual([[0, 1], [1, 2], [2, 6], [6, 7]]); // biome-ignore format: places
  });

  test("singleWord is not found inside a word", () => {
    const spec = bytePairs({ added: [added("word", 300, { singleWord: true })] });
    expect(tokensOf(spec, "\u{10400}word").includes("word")).toBe(false);
    expect(tokensOf(spec, "(word)")).toEqual(["(", "word", ")"]);
    expect(tokensOf(spec, "sword")).toEqual(["s", "w", "o", "r", "d"]);
    expect(tokensOf(spec, "words")).toEqual(["w", "o", "r", "d", "s"]);
  });
});

test.each([
  ["a byte without a token", bytePairs({ vocab: new Map([["a", 0]]) }), /no token for byte 0/],
  ["a merge of no token", bytePairs({ merges: [["t", "x"]] }), /"tx" is no token/],
  ["an id taken twice", bytePairs({ added: [added("<s>", 5)] }), /id 5/],
  ["an added token with two ids", bytePairs({ added: [added("a", 300)] }), /"a" of id 300/],
  ["two added tokens of one id", bytePairs({ added: [added("<a>", 300), added("<b>", 300)] }), /<b>|one id/],
  ["an empty added token", bytePairs({ added: [added("", 300)] }), /empty/],
  [
    "a token outside the byte alphabet",
    bytePairs({ vocab: new Map([...bytePairs().vocab, ["a b", 400]]) }),
    /"a b"/,
  ],
  ["an id that is none", pieces({ vocab: new Map([["[UNK]", 1.5]]) }), /id 1\.5/],
  ["no token for unknown words", pieces({ unknown: "[NO]" }), /\[NO\]/],
  [
    "a template with an id that is none",
    pieces({ template: bertTemplate(["[CLS]", 77], ["[SEP]", 3]) }),
    /\[CLS\]/,
  ],
])("%s is refused by its name", (_, spec, message) => {
  expect(() => new Tokenizer(spec)).toThrow(FormatError);
  expect(() => new Tokenizer(spec)).toThrow(message);
});

test("values that are not texts, and unknown ids, are refused", () => {
  const tokenizer = new Tokenizer(pieces());
  expect(() => tokenizer.encode(5 as never)).toThrow(OptionError);
  expect(() => tokenizer.ids(undefined as never)).toThrow(OptionError);
  expect(() => tokenizer.decode([99])).toThrow(/99/);
});

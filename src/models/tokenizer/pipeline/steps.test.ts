/** The steps of tokenizer.json one by one, in small files: their effect on a text, and the messages of their errors. */
import { FormatError } from "heed";
import { describe, expect, it } from "vitest";
import { readTokenizer } from "../index.ts";

type File = Record<string, unknown>;
/** A file around a vocabulary of whole words; `more` changes its parts. */
const file = (more: File = {}, vocab: Record<string, number> = WORDS): File => ({
  version: "1.0",
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: { type: "WhitespaceSplit" },
  post_processor: null,
  decoder: null,
  model: { type: "WordLevel", vocab, unk_token: "?" },
  ...more,
});
const WORDS = {
  "?": 0,
  the: 1,
  old: 2,
  ship: 3,
  "1": 4,
  "23": 5,
  ",": 6,
  "-": 7,
  s: 8,
  "[CLS]": 9,
  "[SEP]": 10,
};
const read = (more: File = {}, vocab?: Record<string, number>) =>
  readTokenizer(JSON.stringify(file(more, vocab)));
const tokens = (more: File, text: string, vocab?: Record<string, number>) => {
  const tokenizer = read(more, vocab);
  return tokenizer.encode(text).ids;
};
/** A vocabulary of these pieces, in order, after the unknown one. */
const of = (...pieces: string[]) => Object.fromEntries(["?", ...pieces].map((piece, id) => [piece, id]));
/** The chunks that a pre-tokenizer makes: ids of a vocabulary that has just these. */
const chunks = (pre: unknown, text: string, ...pieces: string[]) =>
  Array.from(tokens({ pre_tokenizer: pre }, text, of(...pieces)), (id) => ["?", ...pieces][id]);

describe("a pre-tokenizer", () => {
  it("cuts at white space, at a delimiter, at digits and at punctuation", () => {
    expect(chunks({ type: "WhitespaceSplit" }, " the  old\tship", "the", "old", "ship")).toEqual([
      "the",
      "old",
      "ship",
    ]);
    expect(
      chunks({ type: "CharDelimiterSplit", delimiter: "." }, "the.old..ship", "the", "old", "ship"),
    ).toEqual(["the", "old", "ship"]);
    for (const delimiter of "-/.*+?()[]{}|^$\\&# ")
      expect(chunks({ type: "CharDelimiterSplit", delimiter }, `the${delimiter}old`, "the", "old")).toEqual([
        "the",
        "old",
      ]);
    expect(chunks({ type: "Digits", individual_digits: false }, "a23", "a", "23")).toEqual(["a", "23"]);
    expect(chunks({ type: "Digits", individual_digits: true }, "a23", "a", "2", "3")).toEqual([
      "a",
      "2",
      "3",
    ]);
    expect(chunks({ type: "Punctuation" }, "a,-b", "a", ",", "-", "b")).toEqual(["a", ",", "-", "b"]);
    expect(chunks({ type: "Punctuation", behavior: "contiguous" }, "a,-b", "a", ",-", "b")).toEqual([
      "a",
      ",-",
      "b",
    ]);
    expect(chunks({ type: "Punctuation", behavior: "merged_with_previous" }, "a,-b", "a,", "-", "b")).toEqual(
      ["a,", "-", "b"],
    );
    expect(chunks({ type: "Punctuation", behavior: "MergedWithNext" }, "a,-b", "a", ",", "-b")).toEqual([
      "a",
      ",",
      "-b",
    ]);
    expect(
      chunks(
        { type: "Split", pattern: { String: "o" }, behavior: "Removed", invert: false },
        "fooba",
        "f",
        "ba",
      ),
    ).toEqual(["f", "ba"]);
    expect(
      chunks(
        { type: "Split", pattern: { Regex: "[a-z]+" }, behavior: "Isolated", invert: true },
        "a1b",
        "a",
        "1",
        "b",
      ),
    ).toEqual(["a", "1", "b"]);
  });

  it("marks spaces as Metaspace does, by both spellings of the option", () => {
    const metaspace = (more: File) => ({ type: "Metaspace", replacement: "▁", ...more });
    expect(chunks(metaspace({ add_prefix_space: true }), "a b", "▁a", "▁b")).toEqual(["▁a", "▁b"]);
    expect(chunks(metaspace({ add_prefix_space: false }), "a b", "a", "▁b")).toEqual(["a", "▁b"]);
    expect(chunks(metaspace({}), "a b", "▁a", "▁b")).toEqual(["▁a", "▁b"]);
    expect(chunks(metaspace({ prepend_scheme: "never", split: false }), "a b", "a▁b")).toEqual(["a▁b"]);
    expect(chunks(metaspace({ prepend_scheme: "first" }), "a b", "▁a", "▁b")).toEqual(["▁a", "▁b"]);
  });

  it.each([
    [{ type: "Metaspace", replacement: "__" }, "Metaspace: replacement must be one character"],
    [
      { type: "Metaspace", replacement: "▁", prepend_scheme: "last" },
      "Metaspace: prepend_scheme must be always, first or never",
    ],
    [{ type: "CharDelimiterSplit", delimiter: "" }, "CharDelimiterSplit: delimiter must be one character"],
    [
      { type: "Punctuation", behavior: "Kept" },
      "Punctuation: behavior must be Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous, got Kept",
    ],
    [
      { type: "Digits", individual_digits: "no" },
      'Digits: individual_digits must be true or false, got "no"',
    ],
    [{ type: "Fancy" }, "Fancy: is not a pre-tokenizer heed has"],
    [{ type: "Sequence", pretokenizers: {} }, "Sequence: pretokenizers must be a list, got an object"],
    [
      { type: "Sequence", pretokenizers: Array(65).fill({ type: "WhitespaceSplit" }) },
      "Sequence: pretokenizers has 65 parts; at most 64 are read",
    ],
    [{ type: "Sequence", pretokenizers: ["x"] }, 'Sequence: expected an object, got "x"'],
    [[1], "expected an object, got a list"],
    [7, "expected an object, got 7"],
  ] as [unknown, string][])("is refused: %#", (pre, words) => {
    expect(() => read({ pre_tokenizer: pre })).toThrow(FormatError);
    expect(() => read({ pre_tokenizer: pre })).toThrow(`pre_tokenizer: ${words}`);
  });
});

describe("a normalizer", () => {
  const normalized = (normalizer: unknown, text: string, ...pieces: string[]) =>
    Array.from(
      tokens({ normalizer, pre_tokenizer: { type: "WhitespaceSplit" } }, text, of(...pieces)),
      (id) => ["?", ...pieces][id],
    );

  it("strips, prepends, replaces, and ignores an empty table", () => {
    expect(normalized({ type: "Strip", strip_left: true, strip_right: false }, "  a ", "a")).toEqual(["a"]);
    expect(normalized({ type: "Prepend", prepend: "x" }, "a", "xa")).toEqual(["xa"]);
    expect(normalized({ type: "Prepend", prepend: "x" }, "", "x")).toEqual([]);
    expect(normalized({ type: "Replace", pattern: { String: "b" }, content: "" }, "abba", "aa")).toEqual([
      "aa",
    ]);
    expect(normalized({ type: "Precompiled", precompiled_charsmap: "" }, "a", "a")).toEqual(["a"]);
    expect(
      normalized(
        {
          type: "BertNormalizer",
          clean_text: false,
          handle_chinese_chars: false,
          strip_accents: true,
          lowercase: false,
        },
        "Éa",
        "Ea",
      ),
    ).toEqual(["Ea"]);
  });

  it("is refused with its type, its field and the value", () => {
    for (const [normalizer, words] of [
      [
        { type: "Precompiled", precompiled_charsmap: "AAAA" },
        "Precompiled: precompiled_charsmap: 3 bytes do not hold the table they claim",
      ],
      [{ type: "Precompiled", precompiled_charsmap: "/////w==" }, "4 bytes do not hold the table they claim"],
      [{ type: "Strip", strip_left: 1, strip_right: true }, "Strip: strip_left must be true or false, got 1"],
      [{ type: "Prepend" }, "Prepend: prepend must be a text, got nothing"],
      [{ type: "Prepend", prepend: null }, "Prepend: prepend must be a text, got null"],
      [{ type: "Unknown" }, "Unknown: is not a normalizer heed has"],
    ] as [unknown, string][])
      expect(() => read({ normalizer }), words).toThrow(words);
  });
});

describe("a model", () => {
  const model = (it: unknown) => () => read({ model: it });

  it("without a type is identified by its fields", () => {
    const words = { vocab: WORDS, unk_token: "?" };
    expect([...readTokenizer(JSON.stringify(file({ model: words }))).encode("the new ship").ids]).toEqual([
      1, 0, 3,
    ]);
    const pieces = { vocab: [["?", 0], ["the", -1], ["t", -2], ["h", -2], ["e", -2]], unk_id: 0 }; // biome-ignore format: pieces
    expect([...read({ model: pieces }).encode("the te").ids]).toEqual([1, 2, 4]);
  });

  it("of pieces joins neighboring unknown characters, and spells them in bytes if it has all byte tokens", () => {
    const unigram = (more: File, vocab: unknown[] = [["?", 0], ["a", -1]]) => ({ type: "Unigram", vocab, unk_id: 0, ...more }); // biome-ignore format: pieces
    expect([...read({ model: unigram({}) }).encode("aXYa").ids]).toEqual([1, 0, 1]);
    const bytes = Array.from({ length: 256 }, (_, byte) => [
      `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
      -9,
    ]);
    const spelled = read({ model: unigram({ byte_fallback: true }, [["?", 0], ["a", -1], ...bytes]) }); // biome-ignore format: pieces
    expect([...spelled.encode("aé").ids]).toEqual([1, 2 + 0xc3, 2 + 0xa9]);
    expect(() => read({ model: unigram({ unk_id: null }) }).encode("X")).toThrow(
      "a character is unknown, and there is no unk_id",
    );
  });

  it("of merges encodes unknown characters one by one, fused, or not at all", () => {
    const bpe = (more: File) => ({
      type: "BPE",
      vocab: { a: 0, b: 1, ab: 2, "?": 3 },
      merges: ["a b"],
      ...more,
    });
    const ids = (more: File, text: string) => [...read({ model: bpe(more) }).encode(text).ids];
    expect(ids({ unk_token: "?" }, "abXYa")).toEqual([2, 3, 3, 0]);
    expect(ids({ unk_token: "?", fuse_unk: true }, "abXYa")).toEqual([2, 3, 0]);
    expect(ids({}, "abXYa")).toEqual([2, 0]);
  });

  it.each([
    [{ type: "Neural", vocab: {} }, "model type Neural is not one heed has"],
    [{ type: "WordLevel", vocab: { a: 0 }, unk_token: "?" }, 'unk_token "?" is not in the vocabulary'],
    [
      { type: "WordLevel", vocab: { a: -1 }, unk_token: "a" },
      'the id of "a" must be an integer from 0 to 4194303, got -1',
    ],
    [{ type: "WordLevel", vocab: ["a"], unk_token: "a" }, "vocab must be an object, got a list"],
    [{ type: "Unigram", vocab: [["a"]] }, "piece 0 must be [text, score], got a list"],
    [{ type: "Unigram", vocab: ["a"] }, 'piece 0 must be [text, score], got "a"'],
    [{ type: "Unigram", vocab: [["a", 0]], unk_id: 1 }, "unk_id must be an integer from 0 to 0, got 1"],
    [{ type: "BPE", vocab: { a: 0 }, merges: [], unk_token: "?" }, 'unk_token "?" is not in the vocabulary'],
    [{ type: "BPE", vocab: { a: 0 }, merges: ["a"], unk_token: "a" }, 'merge 0 must be two tokens, got "a"'],
    [
      { type: "BPE", vocab: { a: 0 }, merges: ["a b"], unk_token: "a" },
      'merge 0 of "a" and "b" has a token that is not in the vocabulary',
    ],
  ] as [unknown, string][])("is refused: %#", (it_, words) => {
    expect(model(it_)).toThrow(words);
  });
});

describe("a post-processor", () => {
  const template = (single: unknown, pair: unknown = [A, B]) => ({
    type: "TemplateProcessing", single, pair,
    special_tokens: { "[CLS]": { id: "[CLS]", ids: [9], tokens: ["[CLS]"] }, "[NO]": { id: "[NO]", ids: [] } },
  }); // biome-ignore format: one object
  const A = { Sequence: { id: "A", type_id: 0 } };
  const B = { Sequence: { id: "B", type_id: 1 } };
  const CLS = { SpecialToken: { id: "[CLS]", type_id: 0 } };

  it("puts special tokens where its template has them", () => {
    const tokenizer = read({ post_processor: template([CLS, A], [CLS, A, B, CLS]) });
    expect([...tokenizer.encode("the").ids]).toEqual([9, 1]);
    expect([...tokenizer.encode("the", "old ship").ids]).toEqual([9, 1, 2, 3, 9]);
    const bert = read({ post_processor: { type: "BertProcessing", sep: ["[SEP]", 10], cls: ["[CLS]", 9] } });
    expect([...bert.encode("the", "old").ids]).toEqual([9, 1, 10, 2, 10]);
  });

  it.each([
    [template([CLS]), "single must have the first text once"],
    [template([A, A]), "single must have the first text once"],
    [template([A, B]), "single has a second text"],
    [template([A], [A, A]), "pair must have the first text once"],
    [template([A], [A]), "pair must have the second text once"],
    [template([{}]), "a slot must be one of Sequence and SpecialToken"],
    [template(["A"]), "a slot must be one of Sequence and SpecialToken"],
    [template([A, { Other: { id: "x" } }]), 'a slot must be Sequence A or B or a SpecialToken, got "Other"'],
    [template([A, { SpecialToken: { id: "[NO]", type_id: 0 } }]), '"[NO]" has no ids'],
    [
      template([A, { SpecialToken: { id: "[CLS]", type_id: -1 } }]),
      "type_id must be an integer from 0 to 65536, got -1",
    ],
    [{ type: "BertProcessing", sep: ["[SEP]"], cls: ["[CLS]", 9] }, "sep must be [token, id]"],
    [{ type: "Other" }, "Other: is not a post-processor heed has"],
  ] as [unknown, string][])("is refused: %#", (post, words) => {
    expect(() => read({ post_processor: post })).toThrow(words);
  });
});

describe("a decoder", () => {
  const decoded = (decoder: unknown, ids: number[], ...pieces: string[]) =>
    readTokenizer(JSON.stringify(file({ decoder }, of(...pieces)))).decode(ids);

  it("joins, strips, replaces and ends words", () => {
    expect(decoded(null, [1, 2], "a", "b")).toBe("a b");
    expect(decoded({ type: "BPEDecoder", suffix: "</w>" }, [1, 2, 3], "a", "b</w>", "c</w>")).toBe("ab c");
    expect(
      decoded(
        {
          type: "Sequence",
          decoders: [{ type: "Strip", content: "_", start: 1, stop: 1 }, { type: "Fuse" }],
        },
        [1, 2],
        "__a_",
        "b",
      ),
    ).toBe("_ab");
    expect(
      decoded(
        {
          type: "Sequence",
          decoders: [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "Fuse" }],
        },
        [1, 2],
        "▁a",
        "▁b",
      ),
    ).toBe(" a b");
    const metaspace = (more: File) => ({ type: "Metaspace", replacement: "▁", ...more });
    expect(decoded(metaspace({ add_prefix_space: true }), [1, 2], "▁a", "▁b")).toBe("a b");
    expect(decoded(metaspace({ prepend_scheme: "never" }), [1, 2], "▁a", "▁b")).toBe(" a b");
  });

  it("is refused with its type", () => {
    for (const [decoder, words] of [
      [{ type: "Other" }, "Other: is not a decoder heed has"],
      [
        { type: "Strip", content: "_", start: 1 },
        "Strip: stop must be an integer from 0 to 65536, got nothing",
      ],
      [{ type: "WordPiece", prefix: 3, cleanup: true }, "WordPiece: prefix must be a text, got 3"],
    ] as [unknown, string][])
      expect(() => read({ decoder }), words).toThrow(`decoder: ${words}`);
  });
});

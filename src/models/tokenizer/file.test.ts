import { describe, expect, test } from "vitest";
import { FormatError } from "../../core/errors.ts";
import { GPT2_PATTERN } from "./bytes.ts";
import { readTokenizer, trainTokenizer, writeTokenizer } from "./index.ts";

const text = "the cat sat on the mat, the cat sat; 12 cats\n".repeat(4);
const bpe = trainTokenizer([text], { kind: "bpe", vocabSize: 280 });
const wordPiece = trainTokenizer([text], { kind: "wordpiece", vocabSize: 60 });

// biome-ignore lint/suspicious/noExplicitAny: files are changed at will here
type File = any;
const fileOf = (tokenizer: typeof bpe): File =>
  JSON.parse(new TextDecoder().decode(writeTokenizer(tokenizer)));
/** The file after a change, read. */
const read = (tokenizer: typeof bpe, change: (file: File) => void) => {
  const file = fileOf(tokenizer);
  change(file);
  return readTokenizer(JSON.stringify(file));
};

test("a written tokenizer is read back as the same one", () => {
  for (const tokenizer of [bpe, wordPiece]) {
    const again = readTokenizer(writeTokenizer(tokenizer));
    expect(again.spec).toEqual(tokenizer.spec);
    expect(again.encode("the cats", "a mat")).toEqual(tokenizer.encode("the cats", "a mat"));
  }
});

test("the vocabulary is written in the order of its ids, tokens that are numbers included", () => {
  const vocab = new TextDecoder().decode(writeTokenizer(bpe)).split('"vocab": {')[1].split("\n    }")[0];
  const ids = [...vocab.matchAll(/: (\d+),?$/gm)].map(([, id]) => Number(id));
  expect(ids.length).toBeGreaterThan(256);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
});

/** GPT-2's pre-tokenizer as two steps, with these types. */
const splitOf = (type: string, first: string, second: string) => ({
  type,
  pretokenizers: [
    { type: first, pattern: { Regex: GPT2_PATTERN }, behavior: "Isolated", invert: false },
    { type: second, add_prefix_space: false, trim_offsets: true, use_regex: false },
  ],
});

describe("other spellings of the same", () => {
  test("merges as pairs, and a model without its type", () => {
    const pairs = read(bpe, ({ model }) => {
      model.merges = model.merges.map((merge: string) => merge.split(" "));
      delete model.type;
    });
    expect(pairs.spec).toEqual(bpe.spec);
    expect(read(wordPiece, ({ model }) => delete model.type).spec).toEqual(wordPiece.spec);
  });

  test("GPT-2's pattern in a Split of its own", () => {
    const split = read(bpe, (file) => {
      file.pre_tokenizer = splitOf("Sequence", "Split", "ByteLevel");
    });
    expect(split.spec).toEqual(bpe.spec);
  });

  test("ignore_merges takes a whole word of the vocabulary that no merges produce", () => {
    const add = (ignore: boolean) =>
      read(bpe, ({ model }) => {
        model.vocab.zqx = bpe.size;
        model.ignore_merges = ignore;
      });
    expect(add(true).encode("zqx", undefined, { addSpecialTokens: false }).tokens).toEqual(["zqx"]);
    expect(add(false).encode("zqx", undefined, { addSpecialTokens: false }).tokens).toEqual(["z", "q", "x"]);
  });

  test("BPE dropout is left out, with a note", () => {
    const dropping = read(bpe, ({ model }) => (model.dropout = 0.1));
    expect(dropping.encode("the old ship").ids).toEqual(bpe.encode("the old ship").ids);
    expect(dropping.notes).toEqual([expect.stringContaining("BPE dropout")]);
    expect(bpe.notes).toEqual([]);
  });

  test("truncation, padding and parts that are missing", () => {
    const other = read(bpe, (file) => {
      file.truncation = { max_length: 3, strategy: "LongestFirst", stride: 0 };
      file.padding = { strategy: "BatchLongest" };
      delete file.post_processor;
      delete file.normalizer;
      delete file.pre_tokenizer.use_regex;
      delete file.version;
    });
    expect(other.spec).toEqual(bpe.spec);
  });
});

describe("a setting that heed would treat differently is refused by name", () => {
  test.each<[string, (file: File) => void]>([
    ["model type Other", ({ model }) => (model.type = "Other")],
    ["Unigram: vocab", ({ model }) => (model.type = "Unigram")],
    ["version", (file) => (file.version = "2.0")],
    ["normalizer", (file) => (file.normalizer = { type: "Backwards" })],
    ["pre_tokenizer", (file) => (file.pre_tokenizer = { type: "Lines" })],
    ["decoder", (file) => (file.decoder = { type: "Metaspace" })],
    ["post_processor", (file) => (file.post_processor = { type: "RobertaProcessing" })],
    ["merge 0", ({ model }) => (model.merges[0] = "a b c")],
    ["merge 1", ({ model }) => (model.merges[1] = ["a"])],
    ["merges must be a list", ({ model }) => (model.merges = {})],
    ["vocab", ({ model }) => (model.vocab = [])],
    ["vocab", ({ model }) => (model.vocab.the = "5")],
    ["added_tokens", (file) => (file.added_tokens = {})],
    ["added_tokens", (file) => delete file.added_tokens[0].lstrip],
    ["added_tokens", (file) => (file.added_tokens[0].id = "0")],
    ["model: expected an object", (file) => (file.model = [])],
    ["use_regex must be true or false, got 5", (file) => (file.pre_tokenizer.use_regex = 5)],
    ["pre_tokenizer", (file) => (file.pre_tokenizer = splitOf("Steps", "Split", "ByteLevel"))],
    ["pre_tokenizer", (file) => (file.pre_tokenizer = splitOf("Sequence", "Cut", "ByteLevel"))],
    ["pre_tokenizer", (file) => (file.pre_tokenizer = splitOf("Sequence", "Split", "Bytes"))],
    ["pre_tokenizer", (file) => (file.pre_tokenizer = { type: "Sequence", pretokenizers: [5, 6] })],
  ])("%s", (name, change) => {
    expect(() => read(bpe, change)).toThrow(FormatError);
    expect(() => read(bpe, change)).toThrow(new RegExp(name));
  });

  test.each<[string, (file: File) => void]>([
    ["normalizer", (file) => (file.normalizer.lowercase = 1)],
    ["normalizer: strip_accents", (file) => (file.normalizer.strip_accents = 1)],
    ["model: vocab must be an object", ({ model }) => (model.vocab = [])],
    ["pre_tokenizer", (file) => (file.pre_tokenizer.type = "ByteLevel")],
    ["decoder", (file) => (file.decoder.prefix = "@@")],
    ["unk_token", ({ model }) => delete model.unk_token],
    ["continuing_subword_prefix", ({ model }) => (model.continuing_subword_prefix = null)],
    ["max_input_chars_per_word", ({ model }) => (model.max_input_chars_per_word = 0)],
    ["post_processor", (file) => (file.post_processor.single = [])],
    ["post_processor", (file) => file.post_processor.single.push({ Sequence: { id: "B", type_id: 1 } })],
    ["post_processor", (file) => file.post_processor.pair.push({ Other: {} })],
    ["post_processor", (file) => (file.post_processor.special_tokens = {})],
    ["post_processor", (file) => (file.post_processor.single[0].SpecialToken.type_id = -1)],
    ["no tokens", (file) => (file.post_processor.special_tokens["[CLS]"].ids = [4000])],
  ])("%s (WordPiece)", (name, change) => {
    expect(() => read(wordPiece, change)).toThrow(FormatError);
    expect(() => read(wordPiece, change)).toThrow(new RegExp(name));
  });

  const splitAt = (regex: string) => (file: File) =>
    (file.pre_tokenizer = {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    });

  test("a pattern that would not terminate is stopped with a typed error", () => {
    const tokenizer = read(bpe, splitAt("(a+)+b"));
    expect(tokenizer.ids("aaab").length).toBeGreaterThan(0);
    expect(() => tokenizer.ids("a".repeat(2000))).toThrow(expect.objectContaining({ code: "pattern-limit" }));
  });

  test.each([
    "(a",
    "a)",
    "[a",
    "[[:alpha:]]",
    "\\p{Nothing}",
    "(?<name>a)",
    "\\1",
    "a{2,1}",
    "a{5000}",
    "*",
    `${"(".repeat(40)}a${")".repeat(40)}`,
    "a".repeat(5000),
  ])("the pattern %s is refused by its text", (regex) => {
    expect(() => read(bpe, splitAt(regex))).toThrow(expect.objectContaining({ code: "pattern" }));
  });

  test.each([
    ["a key twice", '{"version":"1.0","version":"1.0"}', "json-duplicate"],
    ["__proto__", '{"__proto__":{}}', "json-key"],
    ["nesting", `{"model":${"[".repeat(40)}`, "json-depth"],
    ["no object", "[]", "json"],
    ["nothing", "", "json"],
    ["an id beyond exact integers", '{"model":{"type":"WordPiece","vocab":{"a":1e999}}}', "json-number"],
  ])("%s", (_, json, code) => {
    expect(() => readTokenizer(json)).toThrow(expect.objectContaining({ code }));
  });

  test("a file of more than 64 MiB is not read", () => {
    expect(() => readTokenizer(new Uint8Array(64 * 2 ** 20 + 1))).toThrow(
      /the limit is 67108864 \(maxBytes\)/,
    );
  });
});

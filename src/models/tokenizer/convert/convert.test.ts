/** Tokenizers in the files of other programs: their rare settings, and what is refused. tests/golden/weights.test.ts compares whole files. */
import { describe, expect, test } from "vitest";
import type { GgufValue } from "../../../io/index.ts";
import { integerField, rangeField } from "../../../io/protobuf.ts";
import { concatBytes } from "../../../io/refuse.ts";
import { BYTE_CHARACTERS } from "../bytes.ts";
import { convertedTokenizer } from "../file.ts";
import { ggufTokenizerJson } from "./gguf.ts";
import { readSentencePiece, sentencePieceJson } from "./sentencepiece.ts";
import { vocabMergesJson, vocabTxtJson } from "./word-lists.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
/** The tokens of a text by a tokenizer.json. */
const tokensOf = (json: object, text: string) => convertedTokenizer("test", json).encode(text).tokens;

/** A field of 4 bytes. */
const floatField = (number: number, value: number) =>
  concatBytes([Uint8Array.of((number << 3) | 5), new Uint8Array(Float32Array.of(value).buffer)]);
type Piece = readonly [text: string, score?: number, kind?: number];
const PIECES: readonly Piece[] = [
  ["<unk>", undefined, 2],
  ["<s>", undefined, 3],
  ["</s>", undefined, 3],
  ...["▁a", "b", "c", "▁", "a", "É", "e", "é"].map((text, i): Piece => [text, -1 - i]),
  ["", -20],
];
/** A model of SentencePiece of these settings. */
const sentencePiece = (
  trainer: readonly Uint8Array[] = [],
  normalizer?: readonly Uint8Array[],
  pieces = PIECES,
) =>
  concatBytes([
    ...pieces.map(([text, score, kind]) =>
      rangeField(
        1,
        concatBytes([
          ...(text === "" ? [] : [rangeField(1, text)]),
          ...(score === undefined ? [] : [floatField(2, score)]),
          ...(kind === undefined ? [] : [integerField(3, kind)]),
        ]),
      ),
    ),
    rangeField(2, concatBytes(trainer)),
    ...(normalizer ? [rangeField(3, concatBytes(normalizer))] : []),
  ]);

describe("a model of SentencePiece", () => {
  test("DeBERTa's has [MASK] after its pieces, and [CLS] and [SEP] around a text", () => {
    const special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"].map((text, i): Piece => [text, 0, i === 3 ? 2 : 3]);
    const pieces = [...special, ...["▁a", "b", "▁", "é"].map((text, i): Piece => [text, -1 - i])];
    const ids = [integerField(40, 3), integerField(41, 1), integerField(42, 2)];
    const model = readSentencePiece(sentencePiece(ids, undefined, pieces));
    const tokenizer = convertedTokenizer("test", sentencePieceJson(model, { modelType: "deberta-v2" }));
    const { tokens } = tokenizer.encode("a\n\nb[MASK]e\u0301 ");
    expect(tokens).toEqual(["[CLS]", "▁a", "▁", "b", "[MASK]", "▁", "é", "[SEP]"]);
    expect([...tokenizer.encode("[MASK]").ids]).toEqual([1, 8, 2]);
  });
  test.each<[words: string, trainer: Uint8Array[], normalizer?: Uint8Array[]]>([
    ["a model of kind word; heed reads Unigram and BPE", [integerField(3, 3)]],
    ["a model of kind char; heed reads Unigram and BPE", [integerField(3, 4)]],
    ["a model of kind 5; heed reads Unigram and BPE", [integerField(3, 5)]],
    ["treat_whitespace_as_suffix must be false", [integerField(24, 1)]],
    ["escape_whitespaces must be true", [], [integerField(5, 0)]],
    ["an id of 99 among 12 pieces", [integerField(41, 99)]],
    ["no piece for unknown text", [integerField(40, -1), integerField(3, 2)]],
  ])("%s", (words, trainer, normalizer) => {
    expect(() => readSentencePiece(sentencePiece(trainer, normalizer))).toThrow(
      expect.objectContaining({ name: "FormatError", message: expect.stringContaining(words) }),
    );
  });

  test("without settings is Unigram, with a piece of no text, and no normalization", () => {
    const model = readSentencePiece(sentencePiece());
    expect(model).toMatchObject({ kind: "Unigram", unknown: 0, first: 1, last: 2, addPrefix: true });
    expect(model.charsmap.length).toBe(0);
    expect(model.pieces[3]).toEqual({ text: "▁a", score: -1, kind: 1 });
    expect(model.pieces.at(-1)?.text).toBe("");
    expect(tokensOf(sentencePieceJson(model), "abc")).toEqual(["<s>", "▁a", "b", "c"]);
  });

  const albert: readonly Piece[] = [...PIECES, ["[CLS]", 0, 3], ["[SEP]", 0, 3], ["[MASK]", 0, 4]];
  test.each<[name: string, config: object, pieces: readonly Piece[], tokens: string[]]>([
    ["lower case without accents", {}, albert, ["▁a", "[MASK]", "▁", "e"]],
    ["lower case with accents", { keep_accents: true }, albert, ["▁a", "[MASK]", "▁", "é"]],
    ["both cases", { do_lower_case: false, keep_accents: true }, albert, ["▁a", "[MASK]", "▁", "É"]],
    ["no mask", { do_lower_case: false, keep_accents: true }, albert.slice(0, -1), ["▁a", "▁", "<unk>", "▁", "É"]],
  ])("of ALBERT: %s", (_, config, pieces, tokens) => {
    const json = sentencePieceJson(readSentencePiece(sentencePiece([], undefined, pieces)), {
      modelType: "albert",
      config: config as Record<string, unknown>,
    });
    expect(tokensOf(json, "a [MASK] É")).toEqual(["[CLS]", ...tokens, "[SEP]"]);
  }); // biome-ignore format: a setting is a line

  test("of BPE without the legacy spaces marks only the first word", () => {
    const model = readSentencePiece(sentencePiece([integerField(3, 2)]));
    const json = (legacy: boolean) => sentencePieceJson(model, { config: { legacy } });
    expect(json(false)).toMatchObject({ pre_tokenizer: { type: "Metaspace", prepend_scheme: "first" } });
    expect(json(true)).toMatchObject({ pre_tokenizer: null });
  });
});

/** The header of a GGUF file: the values of its tokenizer. */
const header = (values: Record<string, unknown>): ReadonlyMap<string, GgufValue> =>
  new Map(Object.entries(values).map(([name, value]) => [`tokenizer.ggml.${name}`, value as GgufValue]));
const gpt2 = { model: "gpt2", tokens: [...BYTE_CHARACTERS, "<s>"], merges: ["1 2"], bos_token_id: 256 };
const withMerge = { ...gpt2, tokens: [...gpt2.tokens, "12"] };
const llama = {
  model: "llama",
  tokens: ["<unk>", "<s>", "</s>", "▁a", "b", "▁", "a"],
  token_type: [2, 3, 3, 1, 1, 1, 1],
};

describe("the tokenizer in a GGUF file", () => {
  test.each<[words: string, values: object]>([
    ["tokenizer.ggml.tokens must be a list of texts", { ...llama, tokens: [1, 2] }],
    ["tokenizer.ggml.tokens has no tokens", { model: "llama", tokens: [] }],
    ["tokenizer.ggml.token_type must be a list of 7 numbers", { ...llama, token_type: [1] }],
    ["tokenizer.ggml.scores must be a list of 7 numbers", { ...llama, scores: ["", "", "", "", "", ""] }],
    ["tokenizer.ggml.bos_token_id must be an id below 7", { ...llama, bos_token_id: 7 }],
    ["tokenizer.ggml.eos_token_id must be an id below 7", { ...llama, eos_token_id: "2" }],
    ['tokenizer.ggml.model is "rwkv"; heed reads llama, gpt2, bert and t5', { ...llama, model: "rwkv" }],
    ['tokenizer.ggml.pre is "toString"; heed has gpt-2, ', { ...gpt2, pre: "toString" }],
  ])("is refused: %s", (words, values) => {
    expect(() => ggufTokenizerJson(header(values as Record<string, unknown>))).toThrow(
      expect.objectContaining({ code: "gguf-tokenizer", message: expect.stringContaining(words) }),
    );
  });

  test.each<[name: string, values: object, text: string, tokens: string[]]>([
    ["llama without scores, and a first token that is not named", llama, "ab", ["▁a", "b"]],
    ["llama with a first and a last token", { ...llama, bos_token_id: 1, eos_token_id: 2, add_eos_token: true }, "ab", ["<s>", "▁a", "b", "</s>"]],
    ["llama without a space before the text", { ...llama, add_space_prefix: false }, " b", ["▁", "b"]],
    ["t5 with an empty charsmap", { ...llama, model: "t5", scores: [0, 0, 0, -1, -2, -3, -4], precompiled_charsmap: [], eos_token_id: 2 }, "ab", ["▁a", "b", "</s>"]],
    ["gpt2 of no named split", { ...withMerge, merges: ["1 2"] }, "12", ["12"]],
    ["gpt2 with a first token", { ...withMerge, pre: "default", add_bos_token: true }, "12", ["<s>", "12"]],
    ["smollm: every digit of its own", { ...withMerge, pre: "smollm" }, "12", ["1", "2"]],
    ["qwen2: composed characters", { ...withMerge, pre: "qwen2" }, "e\u0301", ["Ã", "©"]],
    ["llama-bpe: a first token", { ...withMerge, pre: "llama-bpe" }, "12", ["<s>", "12"]],
  ])("is read: %s", (_, values, text, tokens) => {
    expect(tokensOf(ggufTokenizerJson(header(values as Record<string, unknown>)), text)).toEqual(tokens);
  });
}); // biome-ignore format: a header is a line

describe("vocab.txt", () => {
  const list = bytes("[UNK]\n[CLS]\n[SEP]\né\r\ne\n<u>\n");

  test.each<[name: string, file: Uint8Array, config: Record<string, unknown>, words: string]>([
    ["of bytes that are not UTF-8", Uint8Array.of(0xff), {}, "vocab.txt: the file is not UTF-8"],
    ["without the unknown token", bytes("a\nb"), {}, 'there is no "[UNK]" among its 2 tokens: not a vocabulary of WordPiece'],
    ["without the token of its settings", list, { cls_token: "<c>" }, 'there is no "<c>" among its 6 tokens'],
  ])("%s is refused", (_, file, config, words) => {
    expect(() => vocabTxtJson(file, config)).toThrow(
      expect.objectContaining({ code: "tokenizer", message: expect.stringContaining(words) }),
    );
  }); // biome-ignore format: a file is a line

  test("accents are kept or not by the settings, and a special token may be an object", () => {
    const of = (config: Record<string, unknown>) => tokensOf(vocabTxtJson(list, config), "é x");
    expect(of({ strip_accents: false })).toEqual(["[CLS]", "é", "[UNK]", "[SEP]"]);
    expect(of({ strip_accents: true })).toEqual(["[CLS]", "e", "[UNK]", "[SEP]"]);
    expect(of({ unk_token: { content: "<u>" } })).toEqual(["[CLS]", "e", "<u>", "[SEP]"]);
    expect(of({ unk_token: null, do_lower_case: false })).toEqual(["[CLS]", "é", "[UNK]", "[SEP]"]);
  });
});

describe("vocab.json and merges.txt", () => {
  const merges = bytes("#version: 0.2\nĠ a\r\n");
  const ids = (extra: readonly string[]) =>
    bytes(
      JSON.stringify(
        Object.fromEntries([...extra, ...BYTE_CHARACTERS, "Ġa"].map((token, id) => [token, id])),
      ),
    );

  test.each<[name: string, file: Uint8Array, words: string]>([
    ["that is not UTF-8", Uint8Array.of(0xff), "vocab.json: the file is not UTF-8"],
    ["that is no JSON", bytes("{"), "vocab.json: "],
    ["that is a list", bytes("[1]"), "vocab.json: expected an object of ids by token"],
    ["that is null", bytes("null"), "vocab.json: expected an object of ids by token"],
    ["of RoBERTa without <s>", ids(["</s>"]), "vocab.json: there is no <s> or no </s>"],
    ["of RoBERTa without </s>", ids(["<s>"]), "vocab.json: there is no <s> or no </s>"],
  ])("%s is refused", (_, file, words) => {
    expect(() => vocabMergesJson(file, merges, { isRoberta: true })).toThrow(
      expect.objectContaining({ code: "tokenizer", message: expect.stringContaining(words) }),
    );
  });

  test("RoBERTa has <s> and </s> around a text, and a space before it where its settings say so", () => {
    const file = ids(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]);
    const of = (config: Record<string, unknown>) =>
      vocabMergesJson(file, merges, { isRoberta: true, config });
    expect(tokensOf(of({}), "a a <mask>")).toEqual(["<s>", "a", "Ġa", "<mask>", "</s>"]);
    expect(tokensOf(of({ add_prefix_space: true }), "a")).toEqual(["<s>", "Ġa", "</s>"]);
    expect(tokensOf(vocabMergesJson(ids(["<|endoftext|>"]), merges, { isRoberta: false }), "a a")).toEqual([
      "a",
      "Ġa",
    ]);
  });
});

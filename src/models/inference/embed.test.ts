import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { FormatError, OptionError, UnsupportedError } from "../../core/errors.ts";
import { tensor } from "../../index.ts";
import {
  Bert,
  cosineSimilarity,
  embedTexts,
  embedTextsAsync,
  type PoolingMode,
  readPooling,
  textModel,
  trainTokenizer,
} from "../index.ts";

const tokenizer = trainTokenizer(["the cat sat on the mat and the dog ran"], {
  kind: "wordpiece",
  vocabSize: 60,
});
const config = {
  vocab_size: tokenizer.size,
  hidden_size: 8,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  intermediate_size: 16,
  max_position_embeddings: 16,
  initializer_range: 0.5,
};
const bert = new Bert(config, { seed: 1, hasHead: false });
const model = textModel(bert, tokenizer);

/** Rows of the states of a text, [N][8]. */
function statesOf(text: string): number[][] {
  const { ids } = tokenizer.encode(text);
  const all = Array.from(bert.hidden(ids).toFloat64());
  return Array.from(ids, (_, i) => all.slice(8 * i, 8 * i + 8));
}

describe("embedTexts", () => {
  const rows = statesOf("the cat sat");
  const column = (c: number) => rows.map((row) => row[c]);
  const sum = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0);
  const expected: Record<PoolingMode, (c: number) => number> = {
    cls: (c) => rows[0][c],
    lasttoken: (c) => rows[rows.length - 1][c],
    mean: (c) => sum(column(c)) / rows.length,
    max: (c) => Math.max(...column(c)),
    mean_sqrt_len_tokens: (c) => sum(column(c)) / Math.sqrt(rows.length),
    weightedmean: (c) => sum(column(c).map((x, i) => x * (i + 1))) / sum(rows.map((_, i) => i + 1)),
  };

  test.each(Object.keys(expected) as PoolingMode[])("pools by %s", (mode) => {
    const vectors = embedTexts(model, ["the dog ran", "the cat sat"], { modes: [mode], normalize: false });
    expect(vectors.shape).toEqual([2, 8]);
    for (let c = 0; c < 8; c++) expect(vectors.at(1, c)).toBeCloseTo(expected[mode](c), 5);
  });

  test("several modes follow one another; normalized vectors have length 1; the default is the mean", () => {
    const both = embedTexts(model, ["the cat sat"], { modes: ["cls", "max"], normalize: false });
    expect(both.shape).toEqual([1, 16]);
    expect(both.at(0, 3)).toBeCloseTo(expected.cls(3), 5);
    expect(both.at(0, 11)).toBeCloseTo(expected.max(3), 5);
    const unit = embedTexts(model, ["the cat sat"], { modes: ["mean"], normalize: true });
    const plain = embedTexts(model, ["the cat sat"]);
    expect(Math.hypot(...unit.toFloat64())).toBeCloseTo(1, 6);
    expect(unit.at(0, 0) / unit.at(0, 1)).toBeCloseTo(plain.at(0, 0) / plain.at(0, 1), 3);
    expect(plain.at(0, 5)).toBeCloseTo(expected.mean(5), 5);
  });

  test("the first tokens of a long text are read, and the special ones stay", () => {
    const mean = { modes: ["mean"], normalize: false } as const;
    const short = embedTexts(model, ["the cat"], mean);
    const maxTokens = tokenizer.encode("the cat").ids.length;
    const cut = embedTexts(model, ["the cat sat on"], { ...mean, maxTokens });
    expect(cut.toFloat64()).toEqual(short.toFloat64());
  });

  test("a list without a text, and what is not a model, are refused", () => {
    expect(() => embedTexts(model, [])).toThrow(OptionError);
    expect(() => embedTexts(model, "text" as never)).toThrow(OptionError);
    for (const wrong of [undefined, null, bert])
      expect(() => embedTexts(wrong as never, ["text"])).toThrow(
        expect.objectContaining({ name: "OptionError", code: "model" }),
      );
  });
});

test("cosineSimilarity is the cosine of the angle; a row of zeros has none", () => {
  const cosines = cosineSimilarity(tensor(Float32Array.of(1, 0, 1, 1, -2, 0, 0, 0), [4, 2]));
  const half = Math.SQRT1_2;
  const want = [
    [1, half, -1, 0],
    [half, 1, -half, 0],
    [-1, -half, 1, 0],
    [0, 0, 0, 0],
  ];
  cosines.forEach((row, i) => row.forEach((x, j) => expect(x).toBeCloseTo(want[i][j], 9)));
  expect(() => cosineSimilarity(tensor(Float32Array.of(1), [1]))).toThrow(OptionError);
});

describe("readPooling", () => {
  const folder = mkdtempSync(join(tmpdir(), "heed-pooling-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  let count = 0;
  const model = (files: Record<string, unknown>): string => {
    const directory = join(folder, String(count++));
    mkdirSync(directory);
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), typeof content === "string" ? content : JSON.stringify(content));
    }
    return directory;
  };
  const module = (kind: string, path = "") => ({
    idx: 0,
    name: "0",
    path,
    type: `sentence_transformers.models.${kind}`,
  });
  const modules = [module("Transformer"), module("Pooling", "1_Pooling")];

  test("a folder without modules.json has none", async () => {
    expect(await readPooling(model({}))).toBeUndefined();
  });

  test("all-MiniLM-L6-v2: the mean, normalized, of up to 256 tokens", async () => {
    const directory = model({
      "modules.json": [...modules, module("Normalize", "2_Normalize")],
      "1_Pooling/config.json": {
        word_embedding_dimension: 384,
        pooling_mode_cls_token: false,
        pooling_mode_mean_tokens: true,
        pooling_mode_max_tokens: false,
        pooling_mode_mean_sqrt_len_tokens: false,
      },
      "sentence_bert_config.json": { max_seq_length: 256, do_lower_case: false },
    });
    expect(await readPooling(directory)).toEqual({ modes: ["mean"], normalize: true, maxTokens: 256 });
  });

  test("the newer spelling, and lower case", async () => {
    const directory = model({
      "modules.json": modules,
      "1_Pooling/config.json": { pooling_mode: "cls" },
      "sentence_bert_config.json": { max_seq_length: null, do_lower_case: true },
    });
    expect(await readPooling(directory)).toEqual({ modes: ["cls"], normalize: false, lowercase: true });
  });

  test.each([
    ["no JSON", { "modules.json": "{" }, FormatError, /not JSON/],
    ["no list", { "modules.json": {} }, FormatError, /expected a list/],
    ["no pooling", { "modules.json": [module("Transformer")] }, FormatError, /no module of type Pooling/],
    ["a missing file", { "modules.json": modules }, FormatError, /1_Pooling\/config\.json is missing/],
    [
      "no mode",
      { "modules.json": modules, "1_Pooling/config.json": {} },
      FormatError,
      /must name a pooling mode/,
    ],
    ["a path outside", { "modules.json": [module("Pooling", "../x")] }, FormatError, /leaves the folder/],
    [
      "a dense layer",
      { "modules.json": [...modules.slice(0, 1), module("Dense", "2_Dense")] },
      UnsupportedError,
      /Dense/,
    ],
  ])("%s is refused", async (_, files, kind, message) => {
    const directory = model(files);
    await expect(readPooling(directory)).rejects.toThrow(kind);
    await expect(readPooling(directory)).rejects.toThrow(message);
  });
});

describe("embedTextsAsync", () => {
  test("returns the vectors of embedTexts, and tells the share after each text", async () => {
    const texts = ["the cat", "a dog ran", "the mat"];
    const shares: number[] = [];
    const vectors = await embedTextsAsync(model, texts, { onProgress: (share) => shares.push(share) });
    expect(vectors.data).toEqual(embedTexts(model, texts).data);
    expect(shares).toEqual([1 / 3, 2 / 3, 1]);
  });

  test("a signal ends it before the next text, with the signal's reason", async () => {
    const stop = new AbortController();
    let count = 0;
    const onProgress = () => {
      if (++count === 2) stop.abort(new Error("enough"));
    };
    const call = embedTextsAsync(model, ["cat", "dog", "mat", "the"], { signal: stop.signal, onProgress });
    await expect(call).rejects.toThrow("enough");
    expect(count).toBe(2);
  });

  test("a long text ends between its layers, and has the same vector", async () => {
    const positions = { max_position_embeddings: 80 };
    const model = textModel(new Bert({ ...config, ...positions }, { seed: 1, hasHead: false }), tokenizer);
    const long = Array.from({ length: 70 }, (_, n) => ["cat", "dog", "mat"][n % 3]).join(" ");
    const shares: number[] = [];
    const vectors = await embedTextsAsync(model, ["the", long], {
      onProgress: (share) => shares.push(share),
    });
    expect(vectors.data).toEqual(embedTexts(model, ["the", long]).data);
    expect(shares.map((share) => Math.round(6 * share))).toEqual([3, 4, 5, 6]);
    const stop = new AbortController();
    const calls: number[] = [];
    const onProgress = (share: number) => {
      calls.push(share);
      if (share > 0.5) stop.abort(new Error("enough"));
    };
    const call = embedTextsAsync(model, ["the", long], { signal: stop.signal, onProgress });
    await expect(call).rejects.toThrow("enough");
    expect(calls).toEqual(shares.slice(0, 2));
    // Its memory is free: the next call is right.
    expect((await embedTextsAsync(model, ["the", long])).data).toEqual(vectors.data);
  });

  test("an empty list and a wrong signal are refused", async () => {
    await expect(embedTextsAsync(model, [])).rejects.toMatchObject({ code: "texts" });
    await expect(embedTextsAsync(model, ["cat"], { signal: 1 as never })).rejects.toMatchObject({
      code: "signal",
    });
  });
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attentionWeights, FormatError, OptionError, ShapeError } from "heed";
import { afterAll, expect, test } from "vitest";
import { locateUseLite } from "../../examples/universal-sentence-encoder/locate.ts";
import {
  openUseLite,
  similarity,
  useLite,
  useLiteModel,
} from "../../examples/universal-sentence-encoder/use-lite.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-use-lite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const model = openUseLite();

test("the two sentences have their known pieces", () => {
  const pieces = (text: string) => model.tokenize(text).tokens.map((token) => token.piece);
  expect(pieces("time flies like an arrow")).toEqual("▁time ▁fl ies ▁like ▁an ▁a r row".split(" "));
  expect(pieces("fruit flies like a banana")).toEqual("▁fruit ▁fl ies ▁like ▁a ▁banana".split(" "));
  expect(model.tokenize("Note: 9:30").tokens.map((token) => token.id)).toEqual([4566, 57, 538, 4177]);
});

test("the cosine of the two sentences is 0.451; questions after an age are nearer", () => {
  const of = (a: string, b: string) => similarity(model.run(a).embedding, model.run(b).embedding);
  expect(of("time flies like an arrow", "fruit flies like a banana")).toBeCloseTo(0.451, 3);
  expect(of("How old are you?", "What is your age?")).toBeCloseTo(0.846, 3);
});

test("what a layer gives is enough to compute its weights again", () => {
  const { layers, embedding } = model.run("Attention is all you need.");
  expect(layers.map(({ q }) => q.shape)).toEqual([
    [4, 7, 64],
    [4, 7, 128],
  ]);
  for (const { q, k, lse, weights } of layers) {
    const again = attentionWeights(q, k, lse).toFloat64();
    weights.toFloat64().forEach((weight, i) => {
      expect(Math.abs(weight - again[i])).toBeLessThan(1e-6);
    });
    for (let head = 0; head < 4; head++)
      for (let row = 0; row < 7; row++) {
        let sum = 0;
        for (let key = 0; key < 7; key++) sum += weights.at(head, row, key);
        expect(Math.abs(sum - 1)).toBeLessThan(1e-6);
      }
  }
  expect(Math.abs(Math.hypot(...embedding) - 1)).toBeLessThan(1e-6);
});

test("pieces beyond 128 change nothing", () => {
  const long = "word ".repeat(140);
  const run = model.run(`${long}end`);
  expect(run.ids.length).toBe(128);
  expect(run.tokens.length).toBeGreaterThan(140);
  expect(run.embedding).toEqual(model.run(`${long}other`).embedding);
});

test("an unknown character is a piece like any other", () => {
  const run = model.run("😀");
  expect(run.ids).toContain(0);
  expect(run.embedding.every(Number.isFinite)).toBe(true);
});

test("the empty text is refused", () => {
  expect(() => model.run("")).toThrow(OptionError);
});

test("a folder without the files is refused by its name", () => {
  expect(() => openUseLite(folder)).toThrow(FormatError);
  expect(() => openUseLite(folder)).toThrow(/model\.json and vocab\.json/);
});

test("the package's folder and its dist are both taken", () => {
  const found = locateUseLite();
  expect(locateUseLite(found)).toBe(found);
  expect(locateUseLite(join(found, ".."))).toBe(found);
});

test("weights that are not this model's are refused by the name of the tensor", () => {
  const vocabulary = Array.from({ length: 10 }, (_, i) => [`p${i}`, -1] as const);
  expect(() => useLite(new Map(), vocabulary)).toThrow(/Embeddings_en/);
});

test("similarity: 1 for the same direction, 0 for right angles and for zeros, −1 for opposites", () => {
  expect(similarity([1, 2], [2, 4])).toBeCloseTo(1, 12);
  expect(similarity([1, 0], [0, 3])).toBe(0);
  expect(similarity([1, 0], [-2, 0])).toBe(-1);
  expect(similarity([0, 0], [1, 1])).toBe(0);
  expect(() => similarity([1], [1, 2])).toThrow(ShapeError);
});

test("is a model like those of heed/models", () => {
  const seen = useLiteModel(model).attention("time flies like an arrow");
  const own = model.run("time flies like an arrow");
  expect(useLiteModel(model)).toMatchObject({ architecture: "encoder", layers: 2, heads: 4, maxTokens: 128 });
  expect(seen.tokens).toEqual(own.pieces);
  expect([...seen.ids]).toEqual([...own.ids]);
  seen.layers.forEach(({ query, key, lse, options }, layer) => {
    const weights = attentionWeights(query, key, lse, options).toFloat64();
    own.layers[layer].weights
      .toFloat64()
      .forEach((x, i) => expect(Math.abs(x - weights[i])).toBeLessThan(1e-6));
  });
  expect(() => useLiteModel(model).attention("a", "b")).toThrow(/one text at a time/);
});

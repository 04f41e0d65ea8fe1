import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { carrierTokenizer } from "../../../tests/golden/carrier.ts";
import { OptionError, UnsupportedError } from "../../core/errors.ts";
import { modelFromFiles, readModel } from "../files/files.ts";
import { locateShipped } from "../files/locate.ts";
import { ablate } from "../inference/ablate.ts";
import { embedTexts } from "../inference/embed.ts";
import { headScores } from "../inference/heads.ts";
import { runNow } from "../inference/sampling.ts";
import { beamSearch } from "./beam.ts";
import type { EncoderDecoder } from "./encoder-decoder.ts";
import { generateTarget, type TargetOptions } from "./target.ts";
import { translate } from "./translate.ts";

const root = join(import.meta.dirname, "../../../tests/golden/encoder-decoders/bart");
const files = new Map<string, Uint8Array>([
  ["config.json", readFileSync(join(root, "config.json"))],
  ["model.safetensors", readFileSync(join(root, "model.safetensors"))],
  ["tokenizer.json", carrierTokenizer()],
]);
const model = await modelFromFiles(files);
const network = model.model as unknown as EncoderDecoder;
const text = "a b c";

test("a translation has at most maxTokens ids, and the text of these ids", () => {
  const { ids, text: written, sourceIds } = translate(model, text, { maxTokens: 5 });
  expect(ids.length).toBeLessThanOrEqual(5);
  expect([...sourceIds]).toEqual([...model.tokenizer.encode(text).ids]);
  const tokens = ids.filter((id) => model.tokenizer.token(id) !== undefined);
  expect(written).toBe(model.tokenizer.decode(tokens).trim());
});

test("sampling with one seed gives one text, and with top-k 1 the greedy one", () => {
  const draw = (seed: number) => translate(model, text, { maxTokens: 8, temperature: 2, seed }).ids;
  expect(draw(3)).toEqual(draw(3));
  expect(new Set([1, 2, 3, 4, 5].map((seed) => draw(seed).join())).size).toBeGreaterThan(1);
  expect(translate(model, text, { maxTokens: 8, temperature: 1, topK: 1 }).ids).toEqual(
    translate(model, text, { maxTokens: 8 }).ids,
  );
});

test("the score of a beam search is at least that of the greedy text", () => {
  const source = model.tokenizer.encode(text).ids;
  const score = (ids: readonly number[]) => {
    const read = [network.config.decoder_start_token_id, ...ids];
    const rows = network.forward(read, { memory: network.encode(source) }).toFloat64();
    const V = network.sizes.vocabulary;
    return ids.reduce((sum, id, n) => {
      const row = rows.subarray(n * V, (n + 1) * V);
      return sum + row[id] - Math.log(row.reduce((total, x) => total + Math.exp(x), 0));
    }, 0);
  };
  const options = { maxTokens: 4, lengthPenalty: 0, firstId: 7, stop: [] };
  const [greedy, beam] = [1, 30].map((beams) => generateTarget(network, source, { ...options, beams }));
  expect(score(beam)).toBeGreaterThanOrEqual(score(greedy) - 1e-9);
});

test("a beam goes on while its score by length may still beat the worst that is finished", () => {
  // Ids 0 (end), 1 and 2: the text [1, 1] ends with −1.5 / 3, [1] with −1.4 / 2, [] with −1.
  const rows: Record<string, number[]> = { "": [-1, -0.5, -3], "1": [-0.9, -1, -9], "1,1": [0, -9, -9] };
  const released: number[] = [];
  let copies = 0;
  const slices = beamSearch({
    beams: 2,
    lengthPenalty: 1,
    earlyStopping: false,
    maxTokens: 6,
    ends: new Set([0]),
    start: 0,
    // biome-ignore lint/correctness/useYield: the numbers are here.
    *step(ids) {
      return Float64Array.from(rows[ids.join()] ?? [-20, -20, -20]);
    },
    copy: () => ++copies,
    release: (state) => released.push(state),
  });
  expect(runNow("beamSearch", slices)).toEqual([1, 1]);
  // Each state once.
  expect(released.sort()).toEqual(Array.from({ length: copies + 1 }, (_, n) => n));
});

test.each([
  ["beams", { beams: 0 }],
  ["lengthPenalty", { lengthPenalty: Number.NaN }],
  ["earlyStopping", { earlyStopping: 1 as unknown as boolean }],
  ["noRepeat", { noRepeat: -1 }],
  ["minTokens", { minTokens: 0.5 }],
  ["firstId", { firstId: 40 }],
  ["maxTokens", { maxTokens: -1 }],
  ["beam", { beam: 3 } as TargetOptions],
])("a wrong %s is refused by name", (name, options) => {
  expect(() => generateTarget(network, [5, 6], options)).toThrow(OptionError);
  expect(() => generateTarget(network, [5, 6], options)).toThrow(new RegExp(name));
});

test("beams with a temperature, an unknown language, a text that is too long and another model are refused", async () => {
  expect(() => translate(model, text, { beams: 2, temperature: 1 })).toThrow(UnsupportedError);
  expect(() => translate(model, text, { beams: 2, topK: 3 })).toThrow(UnsupportedError);
  expect(() => translate(model, text, { to: "deu_Latn" })).toThrow(/no special token of this name/);
  expect(() => translate(model, "a ".repeat(40))).toThrow(/reads at most 24/);
  const decoder = await readModel(locateShipped("decoder"));
  expect(() => translate(decoder, text)).toThrow(/is a decoder, which continues a text/);
  expect(() => network.forward([2], {})).toThrow(/memory must be the states of the encoder/);
});

test("functions for one text refuse an encoder–decoder", async () => {
  expect(() => ablate(model, text)).toThrow(/is an encoder–decoder/);
  expect(() => headScores(model, [text])).toThrow(/is an encoder–decoder/);
  await expect(async () => embedTexts(model, [text])).rejects.toThrow(/is an encoder–decoder/);
});

test("attention has the encoder's layers, and rows of the target over itself and over the source", () => {
  const { ids, layers, target } = model.attention(text, "d e");
  expect(layers.map(({ lse }) => lse.shape)).toEqual([
    [3, ids.length],
    [3, ids.length],
  ]);
  const rows = target?.ids.length as number;
  expect(target?.cross.map(({ query, key }) => [query.shape[1], key.shape[1]])).toEqual([
    [rows, ids.length],
    [rows, ids.length],
  ]);
  expect(target?.self[0].recipe.mask).toBe("causal");
  expect(model.attention(text).target?.ids[0]).toBe(network.config.decoder_start_token_id);
});

/** The model with a tokenizer of two languages, which adds `before` and `after` to a text; id 2 ends a text. */
function withLanguages(before: readonly string[], after: readonly string[]) {
  const json = JSON.parse(new TextDecoder().decode(carrierTokenizer()));
  const ids: Record<string, number> = { "[CLS]": 2, aa_XX: 36, bb_XX: 37 };
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  for (const content of ["aa_XX", "bb_XX"]) json.added_tokens.push({ id: ids[content], content, ...flags });
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  const sequence = { Sequence: { id: "A", type_id: 0 } };
  const single = [...before.map(special), sequence, ...after.map(special)];
  const tokens = [...before, ...after].map((id) => [id, { id, ids: [ids[id]], tokens: [id] }]);
  json.post_processor = {
    type: "TemplateProcessing",
    single,
    pair: [...single, { Sequence: { id: "B", type_id: 1 } }],
    special_tokens: Object.fromEntries(tokens),
  };
  const tokenizer = new TextEncoder().encode(JSON.stringify(json));
  return modelFromFiles(new Map([...files, ["tokenizer.json", tokenizer]]));
}

test("`from` takes the place of the language that the tokenizer adds, and `to` is the first token that is written", async () => {
  const options = { maxTokens: 3 };
  for (const [before, after] of [
    [["aa_XX"], ["[CLS]"]],
    [[], ["[CLS]", "aa_XX"]],
  ]) {
    const languages = await withLanguages(before, after);
    const usual = translate(languages, text, options);
    const other = translate(languages, text, { ...options, from: "bb_XX" });
    expect([...usual.sourceIds].filter((id) => id > 35)).toEqual([36]);
    expect([...other.sourceIds]).toEqual([...usual.sourceIds].map((id) => (id === 36 ? 37 : id)));
    expect(translate(languages, text, { ...options, from: "aa_XX" })).toEqual(usual);
    const network = languages.model as unknown as EncoderDecoder;
    for (const [to, firstId] of Object.entries({ aa_XX: 36, bb_XX: 37 }))
      expect(translate(languages, text, { ...options, to }).ids).toEqual([
        ...generateTarget(network, usual.sourceIds, { ...options, firstId }),
      ]);
    // A word of the vocabulary is no language.
    for (const language of ["cat", "xx_XX"])
      for (const option of ["from", "to"])
        expect(() => translate(languages, text, { [option]: language })).toThrow(
          `translate: "${language}" is no language of`,
        );
  }
  const none = await withLanguages([], ["[CLS]"]);
  expect(() => translate(none, text, { from: "aa_XX" })).toThrow(
    /adds no language to a text, so `from` has no place/,
  );
  const plain = await withLanguages([], []);
  expect(() => translate(plain, "", options)).toThrow(/the text has no token; write one or more words/);
});

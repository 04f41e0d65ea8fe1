/** Languages of tokens: where files and programs name them, where they arrive, and that nothing is made up. */
import { describe, expect, it } from "vitest";
import { writeNpz } from "../../io/numpy/npz.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import type { StoreInput } from "../layout/input.ts";
import { sampleBundle } from "../sample.ts";
import { writeBundle } from "./bundle.ts";
import { openStore } from "./open.ts";

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const langs = (store: HeadStore) => store.blocks.map(({ queryLang, keyLang }) => [queryLang, keyLang]);
const problems = (store: HeadStore) => store.report.problems.filter(({ code }) => code === "lang");
const weights = (Nq: number, Nk: number) => [
  [Array.from({ length: Nq }, () => Array.from({ length: Nk }, () => 1 / Nk))],
];

/** A translation: German asks, Arabic answers. */
const PAIR: StoreInput = {
  blocks: [
    {
      name: "cross",
      kind: "cross",
      queryTokens: ["der", "Mond"],
      keyTokens: ["القمر", "هو", "."],
      queryLang: "de",
      keyLang: "ar",
      layers: [{ weights: { data: new Float32Array(6).fill(1 / 3), shape: [1, 2, 3] } }],
    },
  ],
};

describe("the language of tokens", () => {
  it("is not there where none is named", async () => {
    expect(langs(storeFrom(sampleBundle("causal")))).toEqual([[undefined, undefined]]);
    expect(langs(await openStore(await writeBundle(sampleBundle("causal"))))).toEqual([
      [undefined, undefined],
    ]);
  });

  it("of arrays is that of all blocks, of a block, or of one side", () => {
    const [block] = sampleBundle("causal").blocks;
    const input = { lang: "ar", blocks: [block, { ...block, name: "other", lang: "he" }, ...PAIR.blocks] };
    expect(langs(storeFrom(input))).toEqual([
      ["ar", "ar"],
      ["he", "he"],
      ["de", "ar"],
    ]);
  });

  it("survives a bundle, and a part of one", async () => {
    for (const options of [{}, { tokens: 2 }]) {
      const store = await openStore(await writeBundle(PAIR, options));
      expect(langs(store)).toEqual([["de", "ar"]]);
      expect(langs(await openStore(await store.bundle(options)))).toEqual([["de", "ar"]]);
    }
    const same = { lang: "pt-br", blocks: sampleBundle("causal").blocks };
    expect(langs(await openStore(await writeBundle(same)))).toEqual([["pt-BR", "pt-BR"]]);
  });

  it("of cached decoding is that of the keys, of which its queries are a part", () => {
    const rows = { weights: { data: new Float32Array(3).fill(1 / 3), shape: [1, 1, 3] } };
    const input: StoreInput = {
      lang: "ar",
      blocks: [{ tokens: ["القمر", "هو", "."], queryOffset: 2, layers: [rows] }],
    };
    expect(langs(storeFrom(input))).toEqual([["ar", "ar"]]);
  });

  it("of JSON is given beside the tokens, for each side where they differ", async () => {
    const tokens = ["القمر", "هو"];
    const one = json({ attention: [weights(2, 2)], tokens, lang: "ar" });
    expect(langs(await openStore(one))).toEqual([["ar", "ar"]]);
    const sides = { left_text: ["der", "Mond"], right_text: ["القمر", "هو", "."] };
    const cross = json({ attention: [weights(2, 3)], ...sides, lang: "de", key_lang: "ar" });
    expect(langs(await openStore(cross))).toEqual([["de", "ar"]]);
    const views = json([
      { attention: [weights(2, 2)], tokens, lang: "ar", name: "first" },
      { attention: [weights(2, 2)], tokens: ["a", "b"], name: "second" },
    ]);
    expect(langs(await openStore(views))).toEqual([
      ["ar", "ar"],
      [undefined, undefined],
    ]);
    const model = json({
      encoder_attention: [weights(2, 2)],
      decoder_attention: [weights(3, 3)],
      cross_attention: [weights(3, 2)],
      encoder_tokens: tokens,
      decoder_tokens: ["der", "Mond", "."],
      encoder_lang: "ar",
      decoder_lang: "de",
    });
    expect(langs(await openStore(model))).toEqual([
      ["ar", "ar"],
      ["de", "de"],
      ["de", "ar"],
    ]);
  });

  it("of npz comes with its tokens", async () => {
    const attn = { data: new Float32Array(4).fill(0.5), shape: [1, 2, 2] };
    const file = await writeNpz(new Map([["attn", attn]]));
    const beside = JSON.stringify({ tokens: ["القمر", "هو"], lang: "ar" });
    expect(langs(await openStore(file, { tokens: beside }))).toEqual([["ar", "ar"]]);
    expect(langs(await openStore(file, { tokens: ["القمر", "هو"], lang: "ar" }))).toEqual([["ar", "ar"]]);
    expect(langs(await openStore(file, { lang: "ar" })), "positions have none").toEqual([
      [undefined, undefined],
    ]);
  });

  it("that is no tag is reported and left out; of a program's arrays it is an error", async () => {
    const input = sampleBundle("causal");
    for (const lang of ["", "en_US", "a b", 'ar" onload="x', "x".repeat(65)]) {
      expect(() => storeFrom({ ...input, lang })).toThrow(/expected a language tag such as ar or pt-BR, got/);
      const store = await openStore(json({ attention: [weights(1, 1)], tokens: ["a"], lang }));
      expect(langs(store)).toEqual([[undefined, undefined]]);
      expect(problems(store)).toHaveLength(1);
    }
    const store = await openStore(json({ attention: [weights(1, 1)], tokens: ["a"], lang: 5 }));
    expect(problems(store)).toHaveLength(1);
    await expect(openStore(await writeBundle(input), { lang: "en_US" })).rejects.toThrow(/language tag/);
  });
});

/** Heads over texts, against means by hand and the captures of a real model. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import { openStore } from "../formats/open.ts";
import { storeFrom } from "../layout/from.ts";
import { contrastOf } from "./contrast.ts";
import {
  beyondText,
  type HeadOverTexts,
  headsOverTexts,
  type MeasuredText,
  type TextOfHead,
} from "./over-texts.ts";

const captures = join(import.meta.dirname, "../../../models/captures");
const capture = (name: string): MeasuredText => ({
  name,
  dispose: true,
  open: () => openStore(readFileSync(join(captures, `${name}.safetensors`)), { name }),
});
const BANKS = ["river-bank", "bank-of-the-river", "savings-bank", "bank-of-the-table"].map(capture);
const headOf = (heads: readonly HeadOverTexts[], layer: number, head: number) =>
  heads.find((it) => it.layer === layer && it.head === head) as HeadOverTexts;

describe("headsOverTexts", () => {
  test("layer 0, head 4 ties “bank” to the word that tells its meaning in three texts, and not in the control", async () => {
    const heads = await headsOverTexts(BANKS, { query: "bank" });
    expect(heads).toHaveLength(72);
    const head = headOf(heads, 0, 4);
    expect([head.holds, head.contrast.texts]).toEqual([3, 4]);
    expect(head.strongest.map(({ keyToken }) => keyToken)).toEqual(["river", "river", "savings"]);
    expect(head.failing.map(({ text }) => text)).toEqual(["bank-of-the-table"]);
    expect(beyondText(head)).toBe(
      "In 3 of 4 texts this head has a link above chance (contrast 0.45 ± 0.29); not in “bank-of-the-table”.",
    );
    for (let n = 1; n < heads.length; n++) expect(heads[n].holds).toBeLessThanOrEqual(heads[n - 1].holds);
  });

  test("means, spreads and links are those of each text on its own", async () => {
    const heads = await headsOverTexts(BANKS);
    const stores = await Promise.all(BANKS.map(({ open }) => open()));
    for (const [layer, head] of [
      [0, 4],
      [2, 11],
      [5, 3],
    ]) {
      const got = headOf(heads, layer, head);
      const ref = { block: 0, layer, head };
      const previous = await Promise.all(
        stores.map(async (store) => (await store.measures(ref)).previous as number),
      );
      const mean = previous.reduce((sum, x) => sum + x, 0) / 4;
      const spread = Math.sqrt(previous.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 3);
      expect(got.measures.previous?.mean).toBeCloseTo(mean, 12);
      expect(got.measures.previous?.spread).toBeCloseTo(spread, 12);
      const best: number[] = [];
      for (const store of stores) {
        const [{ queryTokens, special }] = store.blocks;
        let largest = -2;
        for (let i = 0; i < queryTokens.length; i++)
          for (let j = 0; j < queryTokens.length; j++) {
            if (i === j || special.query[i] || special.key[j]) continue;
            largest = Math.max(largest, (await contrastOf(store, ref, i, j)).contrast);
          }
        best.push(largest);
      }
      expect(got.contrast.mean).toBeCloseTo(best.reduce((sum, x) => sum + x, 0) / 4, 10);
    }
    for (const store of stores) store.dispose();
  });

  test("each text is opened once, texts in the cache are not opened again, and progress counts texts", async () => {
    const opened: string[] = [];
    const counted = BANKS.map((text) => ({
      ...text,
      open: () => {
        opened.push(text.name);
        return text.open();
      },
    }));
    const cache = new Map<string, readonly TextOfHead[]>();
    const shares: number[] = [];
    const three = await headsOverTexts(counted.slice(0, 3), {
      cache,
      onProgress: (share) => shares.push(share),
    });
    expect(opened).toEqual(BANKS.slice(0, 3).map(({ name }) => name));
    expect(shares).toEqual([1 / 3, 2 / 3, 1]);
    await headsOverTexts(counted, { cache });
    expect(opened).toEqual(BANKS.map(({ name }) => name));
    expect(await headsOverTexts(counted.slice(0, 3), { cache })).toEqual(three);
    // Another question is another result.
    await headsOverTexts(counted.slice(0, 1), { cache, query: "bank" });
    expect(opened).toHaveLength(5);
  });

  test("stops at a text when it is canceled", async () => {
    const stop = new AbortController();
    const opened: string[] = [];
    const texts = BANKS.map((text) => ({
      ...text,
      open: () => {
        opened.push(text.name);
        if (opened.length === 2) stop.abort();
        return text.open();
      },
    }));
    await expect(headsOverTexts(texts, { signal: stop.signal })).rejects.toThrow(/abort/i);
    expect(opened).toHaveLength(2);
  });

  test("stores are disposed only where the text says so", async () => {
    const [owned, shared] = [storeFrom(randomInput(1)), storeFrom(randomInput(1))];
    await headsOverTexts([{ name: "a", open: () => owned, dispose: true }]);
    await headsOverTexts([{ name: "b", open: () => shared }]);
    const ref = { block: 0, layer: shared.blocks[0].layers[0], head: 0 };
    expect(() => owned.ready(ref)).toThrow();
    expect(shared.ready(ref)).toBe(true);
    shared.dispose();
  });

  test("a text without a link of the kind has none, and the sentence says so", async () => {
    const heads = await headsOverTexts(BANKS, { query: "zebra" });
    expect(heads[0]).toMatchObject({ holds: 0, strongest: [], failing: [] });
    expect(heads[0].contrast.texts).toBe(0);
    expect(heads[0].measures.entropy?.texts).toBe(4);
    expect(beyondText(heads[0])).toBe("No text has a link of this kind.");
  });

  test("one text is no “texts”, and examples beyond the limit are counted", async () => {
    const one = headOf(await headsOverTexts(BANKS.slice(0, 1), { query: "bank" }), 0, 4);
    expect(beyondText(one)).toBe("In 1 of 1 text this head has a link above chance (contrast 0.69).");
    const none = headOf(await headsOverTexts(BANKS, { query: "bank", examples: 0 }), 0, 4);
    expect(none.strongest).toEqual([]);
    expect(beyondText(none)).toContain("; not in 1 more.");
  });

  test("no text, equal names, another model and missing blocks are refused", async () => {
    await expect(headsOverTexts([])).rejects.toThrow("headsOverTexts: expected a list of texts");
    await expect(headsOverTexts([BANKS[0], BANKS[0]])).rejects.toThrow(
      'two texts have the name "river-bank"',
    );
    await expect(headsOverTexts([{ ...BANKS[0], block: 4 }])).rejects.toThrow(
      '"river-bank" has blocks 0 to 0, got 4',
    );
    await expect(headsOverTexts(BANKS, { examples: -1 })).rejects.toThrow(
      "examples must be an integer ≥ 0, got -1",
    );
    const other = { name: "other", open: () => storeFrom(randomInput(1)), dispose: true };
    await expect(headsOverTexts([BANKS[0], other])).rejects.toThrow(
      '"other" has other layers or heads than "river-bank"; texts must be of one model',
    );
  });
});

import { describe, expect, it } from "vitest";
import type { Block } from "../block.ts";
import { writeBundle } from "../formats/bundle.ts";
import { storeFrom } from "../layout/from.ts";
import { plantsOf, sampleBundle } from "../sample.ts";
import { describeHead } from "../sentences/sentence.ts";
import type { HeadMeasures } from "./measures.ts";
import { entropyOf } from "./measures.ts";
import { CellPool } from "./pool.ts";
import { cutTile } from "./tile.ts";

/** Measures of given weights [n, n]. */
async function measure(
  rows: number[][],
  tokens: string[],
  recipe = {},
): Promise<{ block: Block; measures: HeadMeasures }> {
  const n = rows.length;
  const store = storeFrom({
    blocks: [
      { tokens, recipe, layers: [{ weights: { data: Float64Array.from(rows.flat()), shape: [1, n, n] } }] },
    ],
  });
  const measures = await store.measures({ block: 0, layer: 0, head: 0 });
  store.dispose();
  return { block: store.blocks[0], measures };
}

describe("measures", () => {
  it("are what their names say, by hand", async () => {
    const { measures: m } = await measure(
      [
        [1, 0, 0, 0],
        [0.5, 0.5, 0, 0],
        [0.25, 0.5, 0.25, 0],
        [0, 0.5, 0, 0.5],
      ],
      ["[CLS]", "a", "b", "a"],
    );
    expect(m.rows).toBe(4);
    const entropy = (0 + Math.LN2 + 1.5 * Math.LN2 + Math.LN2) / 4;
    expect(m.entropy).toBeCloseTo(entropy, 14);
    expect(m.effectiveKeys).toBeCloseTo(Math.exp(entropy), 14);
    expect(m.distance).toBeCloseTo((0 + 0.5 + (0.5 + 0.5) + 1) / 4, 14);
    expect(m.diagonal).toBeCloseTo((1 + 0.5 + 0.25 + 0.5) / 4, 14);
    expect(m.previous).toBeCloseTo((0.5 + 0.5 + 0) / 3, 14);
    expect(m.next).toBeCloseTo(0, 14);
    expect(m.within).toBeCloseTo(1, 14);
    expect(m.first).toBeCloseTo((1 + 0.5 + 0.25 + 0) / 4, 14);
    expect(m.special).toBe(m.first);
    // "a" at 1 has a copy at 3 (seen: no mask), and "a" at 3 one at 1.
    expect([m.sameToken, m.sameTokenRows]).toEqual([(0 + 0.5) / 2, 2]);
    // Only 3 has an earlier copy; after it comes "b" at 2.
    expect([m.induction, m.inductionRows]).toEqual([0, 1]);
    expect([m.maxWeight, m.leak, m.rowSum, m.notNumbers]).toEqual([1, 0, 0, 0]);
  });

  it("leave rows out that are fully masked, and count what is given to masked keys", async () => {
    const { measures: m } = await measure(
      [
        [0, 0],
        [0.5, 0.25],
      ],
      ["a", "b"],
    );
    expect([m.rows, m.rowSum]).toEqual([1, 0.25]);
    const { measures: leaky, block } = await measure(
      [
        [0.75, 0.25],
        [0.5, 0.5],
      ],
      ["a", "b"],
      { mask: "causal" },
    );
    expect([leaky.leak, leaky.rowSum]).toEqual([0.25, 0]);
    expect(describeHead(block, leaky)).toMatch(/; a row gives 25\u202f% to masked keys\.$/);
  });

  it("across two texts have no distances", async () => {
    const store = storeFrom({
      blocks: [
        {
          kind: "cross",
          queryTokens: ["x"],
          keyTokens: ["a", "b"],
          layers: [{ weights: { data: Float32Array.of(0.25, 0.75), shape: [1, 1, 2] } }],
        },
      ],
    });
    const m = await store.measures({ block: 0, layer: 0, head: 0 });
    expect([m.distance, m.diagonal, m.previous, m.next, m.within, m.induction]).toEqual(
      Array(6).fill(undefined),
    );
    expect(m.first).toBe(0.25);
    expect(describeHead(store.blocks[0], m)).toBe("Spread over most keys: as if over 1.8 of 2 keys.");
    store.dispose();
  });

  it("entropy is 0 of one key and ln n of n equal ones; 0·ln 0 is 0", () => {
    expect(entropyOf([0, 1, 0])).toBe(0);
    expect(entropyOf(new Float64Array(8).fill(1 / 8))).toBeCloseTo(Math.log(8), 14);
    expect(entropyOf([0.5, 9, 0.5], [0, 1, 2, 3])).toBeCloseTo(Math.LN2, 14);
  });
});

describe("a sample", () => {
  const MEASURE: Partial<Record<string, keyof HeadMeasures>> = {
    previous: "previous",
    next: "next",
    diagonal: "diagonal",
    induction: "induction",
    "same token": "sameToken",
    sink: "first",
    separator: "special",
    local: "within",
  };

  for (const kind of ["causal", "bidirectional"] as const)
    it(`${kind}: each planted head has more than 0.95 of its own measure, and of no other that does not follow from it`, async () => {
      const store = storeFrom(sampleBundle(kind));
      for (const [layer, plants] of plantsOf(kind).entries())
        for (const [head, plant] of plants.entries()) {
          const m = await store.measures({ block: 0, layer, head });
          const measure = MEASURE[plant];
          if (measure) expect(m[measure], `${plant}: ${measure}`).toBeGreaterThan(0.95);
          for (const other of ["previous", "next", "diagonal", "induction", "sameToken"] as const)
            if (other !== measure && m[other] !== undefined)
              expect(m[other], `${plant}: ${other}`).toBeLessThan(0.7);
          if (plant === "uniform") expect(m.effectiveKeys).toBeGreaterThan(8);
          expect(m.leak).toBe(0);
          expect(m.rowSum).toBeLessThan(1e-12);
        }
      store.dispose();
    });

  it("is reported in sentences that fit what was planted", async () => {
    const store = storeFrom(sampleBundle("causal"));
    const shareOf = async (layer: number, head: number) =>
      describeHead(store.blocks[0], await store.measures({ block: 0, layer, head }));
    expect(await shareOf(0, 0)).toBe(
      "Mostly the previous token (96\u202f%; even: 11\u202f%); spread as if over 1 of 14 keys.",
    );
    expect(await shareOf(0, 1)).toMatch(/^Mostly the token itself \(100\u202f%; even: \d+\u202f%\); spread/);
    expect(await shareOf(0, 2)).toMatch(/^Spread over most keys: as if over \d+ of \d+ keys\.$/);
    expect(await shareOf(1, 0)).toMatch(
      /^Mostly <s> \(54\u202f%; even: 15\u202f%\); 46\u202f% on what followed an earlier copy of the token; spread as if over 1\.3 of/,
    );
    expect(await shareOf(1, 1)).toMatch(
      /^Mostly <s> \(>99\.9\u202f%; even: \d+\u202f%\); spread as if over 1\.0 of/,
    );
    store.dispose();
  });

  it("is the same every time, and takes other tokens and seeds", async () => {
    const bytes = async (seed?: number) => Buffer.from(await writeBundle(sampleBundle("causal", { seed })));
    expect((await bytes()).equals(await bytes())).toBe(true);
    expect((await bytes()).equals(await bytes(8))).toBe(false);
    const store = storeFrom(sampleBundle("bidirectional", { tokens: ["one"] }));
    expect([...store.row({ block: 0, layer: 0, head: 0 }, 0, "weights")]).toEqual([1]);
    store.dispose();
  });
});

it("ranges at the end of a head that are fully masked are masked in a tile that pools them again", () => {
  // 5 × 5 cells, the last row and column masked, in ranges of 2 × 2 and of 4 × 4.
  const pool = new CellPool(5, 5, { level: 0 });
  for (let i = 0; i < 5; i++) pool.add(i, Float64Array.of(1, 1, 1, 1, 9), i < 4 ? [0, 4] : []);
  for (const halvings of [1, 2]) {
    const { rows, columns, marks } = cutTile(pool, halvings, { i: 0, j: 0 }, (x) => x, 1, false);
    expect([rows, columns]).toEqual([Math.ceil(5 / 2 ** halvings), Math.ceil(5 / 2 ** halvings)]);
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++)
        expect(marks[r * 128 + c], `${halvings}: ${r}, ${c}`).toBe(
          Number(r === rows - 1 || c === columns - 1),
        );
  }
});

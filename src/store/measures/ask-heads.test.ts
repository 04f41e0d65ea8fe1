import { describe, expect, it } from "vitest";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import { storeFrom } from "../layout/from.ts";
import { plantsOf, sampleBundle } from "../sample.ts";
import { askHeads, sortAnswers } from "./ask-heads.ts";
import { contrastOf } from "./contrast.ts";

describe("askHeads", () => {
  it("gives each head the weight of its row and its contrast, the largest contrast first", async () => {
    for (let seed = 0; seed < 60; seed++) {
      const store = storeFrom(randomInput(seed, { layers: 2 }));
      const { Nq, Nk, heads, layers } = store.blocks[0];
      const [query, key] = [seed % Nq, (seed * 7) % Nk];
      const answers = await askHeads(store, { query, key });
      expect(answers.length).toBe(heads * layers.length);
      for (const { ref, weight, even, contrast } of answers) {
        expect(weight).toBeCloseTo(store.cell(ref, query, key, "weights"), 12);
        const visible = store.visible(ref, query);
        const count = visible.reduce((sum, x) => sum + x, 0);
        expect(even).toBeCloseTo(visible[key] ? 1 / count : 0, 12);
        const link = await contrastOf(store, ref, query, key);
        if (Number.isNaN(link.contrast)) expect(contrast).toBeNaN();
        else expect(contrast).toBeCloseTo(link.contrast, 12);
      }
      const order = answers.map(({ contrast }) => (Number.isNaN(contrast) ? -Infinity : contrast!));
      expect(order).toEqual(order.toSorted((a, b) => b - a));
    }
  });

  it("ranks the planted head that looks at the previous token first by weight, and gives it no contrast", async () => {
    const store = storeFrom(sampleBundle("causal"));
    const plants = plantsOf("causal");
    const answers = await askHeads(store, { query: 9, key: 8 });
    const [{ ref, weight, contrast }] = sortAnswers(answers, "weight");
    expect(plants[ref.layer][ref.head]).toBe("previous");
    expect(weight).toBeGreaterThan(0.9);
    expect(contrast).toBeLessThan(0.1);
  });

  it("a word is the mean of its pieces' rows and the sum of its pieces' weights", async () => {
    const store = storeFrom(randomInput(4, { Nq: 9, Nk: 9, recipe: {} }));
    const answers = await askHeads(store, { query: { start: 2, end: 4 }, key: { start: 5, end: 8 } });
    for (const { ref, weight } of answers) {
      const sum = (i: number) => [5, 6, 7].reduce((total, j) => total + store.cell(ref, i, j, "weights"), 0);
      expect(weight).toBeCloseTo((sum(2) + sum(3)) / 2, 12);
    }
  });

  it("a query alone gets its largest weight that is not on a special token", async () => {
    const store = storeFrom(sampleBundle("bidirectional"));
    const { special } = store.blocks[0];
    for (const { ref, weight, key } of await askHeads(store, { query: 6 })) {
      const row = store.row(ref, 6, "weights");
      const others = row.map((x, j) => (special.key[j] ? 0 : x));
      expect(weight).toBeCloseTo(Math.max(...others), 12);
      expect(special.key[key!]).toBe(false);
      expect(row[key!]).toBe(Math.max(...others));
    }
  });

  it("a key alone gets the mean weight over the queries that see any key", async () => {
    const store = storeFrom(randomInput(11, { Nq: 8, Nk: 8, recipe: { mask: "causal" } }));
    for (const { ref, weight } of await askHeads(store, { key: 2 })) {
      const column = await store.column(ref, 2, "weights");
      expect(weight).toBeCloseTo(column.reduce((sum, x) => sum + x, 0) / 8, 12);
    }
  });

  it("sorts by contrast or weight, and puts what is not a number last", () => {
    const of = (weight: number, contrast?: number) => ({
      ref: { block: 0, layer: 0, head: 0 },
      weight,
      even: 0.1,
      contrast,
    });
    const answers = [of(0.5, 0.1), of(0.6, Number.NaN), of(0.2, 0.15), of(0.1)];
    expect(sortAnswers(answers, "contrast").map(({ weight }) => weight)).toEqual([0.2, 0.5, 0.6, 0.1]);
    expect(sortAnswers(answers, "weight").map(({ weight }) => weight)).toEqual([0.6, 0.5, 0.2, 0.1]);
  });

  it("names the argument that is wrong", async () => {
    const store = storeFrom(sampleBundle("causal"));
    await expect(askHeads(store, {})).rejects.toThrow("askHeads: give a query, a key, or both");
    await expect(askHeads(store, { query: 99 })).rejects.toThrow("query must be a position from 0 to");
    await expect(askHeads(store, { block: 3, key: 0 })).rejects.toThrow("block must be an integer");
  });
});

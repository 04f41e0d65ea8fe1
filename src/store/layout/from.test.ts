import { expect, it } from "vitest";
import { causal } from "../../index.ts";
import { locateShipped, readModel, withWeights } from "../../models/index.ts";
import { storeFrom, storeFromModel } from "./from.ts";

it("the recipe of a causal decoder is derived from the options of its layers", async () => {
  const decoder = await readModel(locateShipped("decoder"));
  const attention = decoder.attention("the old red house by the river");
  const full = withWeights(attention);
  const store = storeFromModel(attention);
  const head = { block: 0, layer: 0, head: 3 };
  await store.load(head);
  for (let i = 0; i < attention.tokens.length; i++)
    store
      .row(head, i, "weights")
      .forEach((w, j) => expect(w).toBeCloseTo(full.layers[0].weights.at(3, i, j), 5));
  expect(store.report.problems).toEqual([]);
  store.dispose();
});

it("options without an equivalent in a recipe are refused, and so is input that is not a model's attention", async () => {
  const decoder = await readModel(locateShipped("decoder"));
  const attention = decoder.attention("time flies");
  const masked = {
    ...attention,
    layers: attention.layers.map((layer) => ({
      ...layer,
      recipe: undefined,
      options: { attnMask: causal() },
    })),
  };
  expect(() => storeFromModel(masked)).toThrow(/options of layer 0 hold attnMask.*give \{ recipe \}/);
  expect(() => storeFromModel({ ...masked, recipe: { mask: "causal" } })).not.toThrow();
  expect(() => storeFromModel(decoder as never)).toThrow(
    expect.objectContaining({ name: "OptionError", code: "shown" }),
  );
});

it("the weights computed from a model's queries and keys equal the model's weights", async () => {
  const encoder = await readModel(locateShipped("encoder"));
  const encoded = withWeights(encoder.attention("time flies like an arrow"));
  const store = storeFromModel({
    tokens: encoded.pieces,
    text: encoded.text,
    model: "encoder",
    layers: encoded.layers,
  });
  const { blocks, report } = store;
  const n = encoded.pieces.length;
  expect(blocks[0]).toMatchObject({
    layers: [0, 1, 2, 3],
    heads: 4,
    Nq: n,
    queryTokens: encoded.pieces,
    has: { qk: true, values: true, lse: true },
  });
  expect(report.verified!.maxDelta).toBeLessThan(1e-5);
  for (const [layer, { weights, lse }] of encoded.layers.entries())
    for (let head = 0; head < 4; head++) {
      const ref = { block: 0, layer, head };
      for (let i = 0; i < n; i++)
        store.row(ref, i, "weights").forEach((w, j) => expect(w).toBeCloseTo(weights.at(head, i, j), 5));
      (await store.lse(ref)).forEach((x, i) => expect(x).toBeCloseTo(lse.at(head, i), 4));
      expect((await store.measures(ref)).lseDelta).toBeLessThan(1e-5);
    }
  store.dispose();
});

it("queries and keys that are not finite are warned of when they are opened", () => {
  const heads = () => ({ data: new Float32Array(2 * 3 * 4).fill(0.5), shape: [2, 3, 4] });
  const warnings = (change: (query: Float32Array, key: Float32Array) => void) => {
    const [query, key] = [heads(), heads()];
    change(query.data, key.data);
    const { report } = storeFrom({ blocks: [{ tokens: ["a", "b", "c"], layers: [{ query, key }] }] });
    return report.problems.map(({ severity, code, text }) => `${severity} ${code}: ${text}`);
  };
  expect(warnings(() => {})).toEqual([]);
  expect(warnings((query) => query.fill(Number.NaN, 13, 14))).toEqual([
    expect.stringMatching(/^warning not-numbers: some queries have numbers that are NaN or infinite/),
  ]);
  expect(warnings((_, key) => key.fill(Number.POSITIVE_INFINITY, 0, 1))).toEqual([
    expect.stringMatching(/^warning not-numbers: some keys have numbers/),
  ]);
});

import { expect, it } from "vitest";
import { locateShipped, readModel, withWeights } from "../../models/index.ts";
import { storeFromModel } from "./from.ts";

it("a model's heads, from its own queries and keys, have the weights the model computed", async () => {
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

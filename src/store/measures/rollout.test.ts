import { describe, expect, it } from "vitest";
import { random } from "../../../tests/support/cases/random.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import { sampleBundle } from "../sample.ts";
import { rollout } from "./rollout.ts";

/** Rollout as its paper writes it, in nested lists. */
function naive(store: HeadStore, alpha: number, fuse: "mean" | "max" | "min"): number[][] {
  const { layers, heads, Nq } = store.blocks[0];
  const range = Array.from({ length: Nq }, (_, i) => i);
  let product = range.map((i) => range.map((j) => Number(i === j)));
  for (const layer of layers) {
    const all = Array.from({ length: heads }, (_, head) =>
      range.map((i) => Array.from(store.row({ block: 0, layer, head }, i, "weights"))),
    );
    const fused = range.map((i) =>
      range.map((j) => {
        const values = all.map((rows) => rows[i][j]);
        if (fuse === "max") return Math.max(...values);
        if (fuse === "min") return Math.min(...values);
        return values.reduce((a, b) => a + b, 0) / heads;
      }),
    );
    const step = fused.map((row, i) => {
      const mixed = row.map((x, j) => (1 - alpha) * x + (i === j ? alpha : 0));
      const sum = mixed.reduce((a, b) => a + b, 0);
      return mixed.map((x, j) => (sum > 0 ? x / sum : Number(i === j)));
    });
    const before = product;
    product = step.map((row) => range.map((j) => row.reduce((sum, x, k) => sum + x * before[k][j], 0)));
  }
  return product;
}

describe("rollout", () => {
  it("equals the plain product of fused layers, and its rows sum to 1", async () => {
    for (let seed = 0; seed < 40; seed++) {
      const r = random(seed);
      const n = r.int(1, 14);
      const store = storeFrom(randomInput(seed, { Nq: n, Nk: n, layers: r.int(1, 4) }));
      const [alpha, fuse] = [r.pick([0, 0.3, 0.5, 1]), r.pick(["mean", "max", "min"] as const)];
      const { products, rowSums, worst } = await rollout(store, { alpha, fuse });
      const want = naive(store, alpha, fuse).flat();
      const got = products[products.length - 1];
      for (let at = 0; at < want.length; at++) expect(got[at]).toBeCloseTo(want[at], 10);
      for (const sum of rowSums) expect(Math.abs(sum - 1)).toBeLessThan(1e-6);
      expect(worst).toBeLessThan(1e-6);
    }
  });

  it("alpha 1 is the identity, whatever the heads do", async () => {
    const { products } = await rollout(storeFrom(sampleBundle("causal")), { alpha: 1 });
    const last = products[products.length - 1];
    const n = Math.sqrt(last.length);
    expect([...last.keys()].every((at) => last[at] === Number(at % (n + 1) === 0))).toBe(true);
  });

  it("leaves out the smallest weights up to the share to discard", async () => {
    const weights = Float32Array.of(0.1, 0.2, 0.7, 0.3, 0.3, 0.4, 1, 0, 0);
    const store = storeFrom({
      blocks: [{ tokens: ["a", "b", "c"], layers: [{ weights: { data: weights, shape: [1, 3, 3] } }] }],
    });
    const { steps } = await rollout(store, { alpha: 0, discard: 0.31 });
    expect([...steps[0]].map((x) => Math.round(100 * x))).toEqual([0, 0, 100, 0, 43, 57, 100, 0, 0]);
  });

  it("starts at the given layer", async () => {
    const store = storeFrom(sampleBundle("causal"));
    const { layers, products, steps } = await rollout(store, { from: 1 });
    expect(layers).toEqual([1]);
    expect(products[0]).toEqual(steps[0]);
  });

  it("refuses cross-attention, long texts and weights that are not numbers", async () => {
    const cross = storeFrom(randomInput(3, { Nq: 4, Nk: 6, recipe: {} }));
    await expect(rollout(cross)).rejects.toThrow("rollout needs self-attention");
    const broken = storeFrom({
      blocks: [
        { tokens: ["a"], layers: [{ weights: { data: Float32Array.of(Number.NaN), shape: [1, 1, 1] } }] },
      ],
    });
    await expect(rollout(broken)).rejects.toThrow("layer 0, head 0 has weights that are not numbers");
    const small = storeFrom(sampleBundle("causal"));
    await expect(rollout(small, { alpha: 2 })).rejects.toThrow("alpha must be a number from 0 to 1, got 2");
    await expect(rollout(small, { from: 9 })).rejects.toThrow("from must be one of the layers 0, 1, got 9");
  });
});

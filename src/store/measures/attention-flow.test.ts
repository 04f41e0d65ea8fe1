import { describe, expect, it } from "vitest";
import { type Random, random } from "../../../tests/support/random.ts";
import { randomInput } from "../../../tests/support/store.ts";
import { storeFrom } from "../layout/from.ts";
import { sampleBundle } from "../sample.ts";
import { ATTENTION_FLOW_WARNING, attentionFlow, pairFlow } from "./attention-flow.ts";
import { rollout } from "./rollout.ts";

/** Layers' matrices with rows that sum to 1, some links of them missing. */
function matrices(r: Random, N: number, layers: number): Float64Array[] {
  return Array.from({ length: layers }, () => {
    const step = Float64Array.from({ length: N * N }, () => (r.int(0, 2) === 0 ? 0 : r.int(1, 99)));
    for (let i = 0; i < N; i++) {
      const row = step.subarray(i * N, (i + 1) * N);
      const sum = row.reduce((a, b) => a + b, 0);
      for (let j = 0; j < N; j++) row[j] = sum > 0 ? row[j] / sum : Number(i === j);
    }
    return step;
  });
}

/** The least capacity that parts target and input: every way to divide the positions between them is tried. */
function leastCut(steps: readonly Float64Array[], N: number, target: number, input: number): number {
  const between = (steps.length - 1) * N;
  let least = Infinity;
  for (let chosen = 0; chosen < 2 ** between; chosen++) {
    // The target's part; of the input tokens, the others lead nowhere and may be with the target.
    const has = (layer: number, i: number) =>
      layer === steps.length
        ? i === target
        : layer === 0
          ? i !== input
          : ((chosen >> ((layer - 1) * N + i)) & 1) === 1;
    let cut = 0;
    for (const [n, step] of steps.entries())
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++) if (has(n + 1, i) && !has(n, j)) cut += step[i * N + j];
    least = Math.min(least, cut);
  }
  return least;
}

describe("attention flow", () => {
  it("is the least cut between a position and an input token", () => {
    for (let seed = 0; seed < 60; seed++) {
      const r = random(seed);
      const N = r.int(1, 4);
      const steps = matrices(r, N, r.int(1, 3));
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++)
          expect(pairFlow(steps, N, i, j).value).toBeCloseTo(leastCut(steps, N, i, j), 9);
    }
  });

  it("carries what it says: at most its capacity on each link, as much out of a position as into it", () => {
    for (let seed = 0; seed < 30; seed++) {
      const r = random(seed);
      const [N, layers] = [r.int(2, 12), r.int(1, 5)];
      const steps = matrices(r, N, layers);
      const [target, input] = [r.int(0, N - 1), r.int(0, N - 1)];
      const { value, links } = pairFlow(steps, N, target, input);
      const into = (n: number, j: number) => links[n].reduce((sum, x, at) => sum + (at % N === j ? x : 0), 0);
      const outOf = (n: number, i: number) =>
        links[n].subarray(i * N, (i + 1) * N).reduce((sum, x) => sum + x, 0);
      for (const [n, link] of links.entries())
        for (let at = 0; at < link.length; at++) {
          expect(link[at]).toBeGreaterThanOrEqual(-1e-9);
          expect(link[at]).toBeLessThanOrEqual(steps[n][at] + 1e-9);
        }
      expect(outOf(layers - 1, target)).toBeCloseTo(value, 9);
      expect(into(0, input)).toBeCloseTo(value, 9);
      for (let n = 1; n < layers; n++)
        for (let i = 0; i < N; i++) expect(into(n, i)).toBeCloseTo(outOf(n - 1, i), 9);
    }
  });

  it("of one layer it is that layer's matrix", async () => {
    const store = storeFrom(sampleBundle("causal"));
    const { values, shares, rowSums, steps, warning } = await attentionFlow(store, { from: 1 });
    expect([...values]).toEqual([...steps[0]]);
    for (const sum of rowSums) expect(sum).toBeCloseTo(1, 9);
    for (let at = 0; at < values.length; at++) expect(shares[at]).toBeCloseTo(values[at], 9);
    expect(warning).toBe(ATTENTION_FLOW_WARNING);
  });

  it("is at least the rollout, which is one flow among all", async () => {
    const store = storeFrom(randomInput(5, { Nq: 7, Nk: 7, layers: 3 }));
    const { values } = await attentionFlow(store);
    const { products } = await rollout(store);
    const last = products[products.length - 1];
    for (let at = 0; at < last.length; at++) expect(values[at]).toBeGreaterThanOrEqual(last[at] - 1e-9);
  });

  it("refuses more than 64 tokens, and stops where it is given up", async () => {
    const long = storeFrom(randomInput(5, { Nq: 65, Nk: 65, recipe: {} }));
    await expect(attentionFlow(long)).rejects.toThrow("the text has 65 tokens; at most 64 are supported");
    const stopped = AbortSignal.abort(new Error("given up"));
    await expect(attentionFlow(storeFrom(sampleBundle("causal")), {}, { signal: stopped })).rejects.toThrow(
      "given up",
    );
  });
});

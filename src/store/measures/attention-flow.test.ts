import { describe, expect, it } from "vitest";
import { type Random, random } from "../../../tests/support/cases/random.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import { storeFrom } from "../layout/from.ts";
import { sampleBundle } from "../sample.ts";
import { ATTENTION_FLOW_WARNING, attentionFlow, pairFlow } from "./attention-flow.ts";
import { rollout } from "./rollout.ts";

/** Layer matrices with rows that sum to 1 and some zeros. */
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

/** The minimum cut between target and input, by brute force over all partitions of the positions. */
function minimumCut(steps: readonly Float64Array[], N: number, target: number, input: number): number {
  const between = (steps.length - 1) * N;
  let minimum = Infinity;
  for (let chosen = 0; chosen < 2 ** between; chosen++) {
    // Whether a node is in the target's part. The other input tokens have no edges onward, so they may be in it.
    const inTargetPart = (layer: number, i: number) =>
      layer === steps.length
        ? i === target
        : layer === 0
          ? i !== input
          : ((chosen >> ((layer - 1) * N + i)) & 1) === 1;
    let cut = 0;
    for (const [n, step] of steps.entries())
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++) if (inTargetPart(n + 1, i) && !inTargetPart(n, j)) cut += step[i * N + j];
    minimum = Math.min(minimum, cut);
  }
  return minimum;
}

describe("attention flow", () => {
  it("is the minimum cut between a position and an input token", () => {
    for (let seed = 0; seed < 60; seed++) {
      const r = random(seed);
      const N = r.int(1, 4);
      const steps = matrices(r, N, r.int(1, 3));
      for (let i = 0; i < N; i++)
        for (let j = 0; j < N; j++)
          expect(pairFlow(steps, N, i, j).value).toBeCloseTo(minimumCut(steps, N, i, j), 9);
    }
  });

  it("has at most its capacity on each edge, and as much flow out of a position as into it", () => {
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

  it("of one layer is that layer's matrix", async () => {
    const store = storeFrom(sampleBundle("causal"));
    const { values, shares, rowSums, steps, warning } = await attentionFlow(store, { from: 1 });
    expect([...values]).toEqual([...steps[0]]);
    for (const sum of rowSums) expect(sum).toBeCloseTo(1, 9);
    for (let at = 0; at < values.length; at++) expect(shares[at]).toBeCloseTo(values[at], 9);
    expect(warning).toBe(ATTENTION_FLOW_WARNING);
  });

  it("is at least the rollout, which is one of the flows", async () => {
    const store = storeFrom(randomInput(5, { Nq: 7, Nk: 7, layers: 3 }));
    const { values } = await attentionFlow(store);
    const { products } = await rollout(store);
    const last = products[products.length - 1];
    for (let at = 0; at < last.length; at++) expect(values[at]).toBeGreaterThanOrEqual(last[at] - 1e-9);
  });

  it("of a model without layers is the identity", () => {
    for (const i of [0, 1, 2])
      for (const j of [0, 1, 2]) expect(pairFlow([], 3, i, j)).toEqual({ value: Number(i === j), links: [] });
  });

  it("names itself in the errors of its options", async () => {
    const store = storeFrom(sampleBundle("causal"));
    await expect(attentionFlow(store, { alpha: 2 })).rejects.toThrow(
      "attentionFlow: alpha must be a number from 0 to 1, got 2",
    );
  });

  it("reports progress that never decreases", async () => {
    const reported: number[] = [];
    await attentionFlow(
      storeFrom(randomInput(5, { Nq: 32, Nk: 32, layers: 3, recipe: {} })),
      {},
      { onProgress: (done) => reported.push(done) },
    );
    expect(reported.length).toBeGreaterThan(1);
    expect(reported).toEqual([...reported].sort((a, b) => a - b));
  });

  it("refuses more than 64 tokens, and stops when it is aborted", async () => {
    const long = storeFrom(randomInput(5, { Nq: 65, Nk: 65, recipe: {} }));
    await expect(attentionFlow(long)).rejects.toThrow("the text has 65 tokens; at most 64 are supported");
    const stopped = AbortSignal.abort(new Error("aborted"));
    await expect(attentionFlow(storeFrom(sampleBundle("causal")), {}, { signal: stopped })).rejects.toThrow(
      "aborted",
    );
  });
});

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { entropyOf, headMetrics, strongestLinks } from "./metrics.ts";

/** A head of n tokens whose row i puts everything on key f(i). */
function pointing(n: number, f: (i: number) => number) {
  const weights = new Float64Array(n * n);
  for (let i = 0; i < n; i++) weights[i * n + f(i)] = 1;
  return { weights, queries: n, keys: n };
}

test("a head that looks at the token before has all its share there, and no entropy", () => {
  const m = headMetrics(pointing(8, (i) => Math.max(0, i - 1)));
  expect(m.previous).toBe(1);
  expect(m.entropy).toBe(0);
  expect(m.self).toBeCloseTo(1 / 8, 12);
  expect(m.next).toBe(0);
  expect(m.distance).toBeCloseTo(7 / 8, 12);
});

test("self, next and first heads score 1 on their own measure", () => {
  expect(headMetrics(pointing(5, (i) => i)).self).toBe(1);
  expect(headMetrics(pointing(5, (i) => Math.min(4, i + 1))).next).toBe(1);
  expect(headMetrics(pointing(5, () => 0)).first).toBe(1);
});

test("equal weights have the greatest entropy, log2 of the keys", () => {
  const m = headMetrics({ weights: new Float64Array(64).fill(1 / 8), queries: 8, keys: 8 });
  expect(m.entropy).toBeCloseTo(3, 12);
  expect(m.normalizedEntropy).toBeCloseTo(1, 12);
  expect(entropyOf([0.5, 0.25, 0.25, 0])).toBeCloseTo(1.5, 12);
});

test("one token has entropy 0, and a row that sees nothing is left out", () => {
  const one = headMetrics({ weights: [1], queries: 1, keys: 1 });
  expect([one.entropy, one.normalizedEntropy, one.previous, one.next, one.self]).toEqual([0, 0, 0, 0, 1]);
  const half = headMetrics({ weights: [1, 0, 0, 0], queries: 2, keys: 2 });
  expect([half.self, half.first, half.previous]).toEqual([1, 1, 0]);
  expect(headMetrics({ weights: [], queries: 0, keys: 0 }).entropy).toBe(0);
});

test("entropy lies between 0 and log2 of the keys for any row", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 1, maxLength: 40 }), (counts) => {
      const total = counts.reduce((sum, n) => sum + n, 0);
      fc.pre(total > 0);
      const bits = entropyOf(counts.map((n) => n / total));
      expect(bits).toBeGreaterThanOrEqual(0);
      expect(bits).toBeLessThanOrEqual(Math.log2(counts.length) + 1e-9);
    }),
  );
});

test("a token's links are its keys by their greatest weight, each key once, ties to the earlier head", () => {
  const heads = [
    { layer: 0, head: 0, queries: 1, keys: 3, weights: [0.5, 0.25, 0.25] },
    { layer: 0, head: 1, queries: 1, keys: 3, weights: [0.5, 0.1, 0.4] },
  ];
  expect(strongestLinks(heads, 2)).toEqual([
    [
      { layer: 0, head: 0, query: 0, key: 0, weight: 0.5 },
      { layer: 0, head: 1, query: 0, key: 2, weight: 0.4 },
    ],
  ]);
  expect(strongestLinks([], 2)).toEqual([]);
});

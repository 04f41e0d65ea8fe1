import { expect, it } from "vitest";
import { randn, scaledDotProductAttention, tensor } from "../index.ts";
import { exponentiateRow, softmaxRow, weightOf } from "../reference/index.ts";

it("a row with every key masked has the maximum and lse −∞, and weights 0", () => {
  const s = new Float64Array(3).fill(-Infinity);
  expect(softmaxRow(s, -Infinity)).toEqual({ m: -Infinity, l: 0, lse: -Infinity, entropy: 0 });
  expect([...s]).toEqual([0, 0, 0]);
  expect(weightOf(-Infinity, -Infinity)).toBe(0);
});

it("a NaN score makes every weight of its row NaN", () => {
  const s = Float64Array.of(1, Number.NaN, -Infinity);
  expect(softmaxRow(s, 1).lse).toBeNaN();
  expect([...s]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
});

it("what is no row, no maximum or no sink is refused before a weight is written", () => {
  const s = Float64Array.of(1, 2);
  const wrong: readonly (readonly [string, () => unknown])[] = [
    ["expected a row of scores, a Float64Array, got 7", () => softmaxRow(7 as never, 1)],
    ["scores must be a list of numbers", () => softmaxRow([1, "2"] as never, 2)],
    ["highest must be the largest score, 2, got 1", () => exponentiateRow(s, 1)],
    ["highest must be the largest score, 2, got", () => exponentiateRow(s, "2" as never)],
    ["sink must be a number, got NaN", () => softmaxRow(s, 2, Number.NaN)],
    ["sink must be a number, got", () => softmaxRow(s, 2, "0" as never)],
  ];
  for (const [message, call] of wrong) expect(call).toThrow(message);
  expect([...s]).toEqual([1, 2]);
  const list = [0, 0];
  softmaxRow(list as never, 0);
  expect(list).toEqual([0.5, 0.5]);
});

it("weights, lse and entropy of a row with a sink are those of scaledDotProductAttention", () => {
  const [q, k] = [
    randn([1, 8], { seed: 1, dtype: "float64" }),
    randn([20, 8], { seed: 2, dtype: "float64" }),
  ];
  const sink = 3;
  const { lse, weights } = scaledDotProductAttention(q, k, k, {
    sinks: tensor([sink], "float64"),
    returnWeights: true,
  });
  const s = Float64Array.from({ length: 20 }, (_, j) => {
    let dot = 0;
    for (let d = 0; d < 8; d++) dot += q.at(0, d) * k.at(j, d);
    return dot / Math.sqrt(8);
  });
  const highest = Math.max(...s);
  const p = s.slice();
  const sum = exponentiateRow(p, highest, sink);
  expect(Math.max(...p, Math.exp(sink - sum.m))).toBe(1);
  expect(softmaxRow(s, highest, sink)).toEqual(sum);
  const wanted = [...weights.toFloat64()];
  expect(sum.lse).toBeCloseTo(lse.toFloat64()[0], 12);
  wanted.forEach((w, j) => expect(s[j]).toBeCloseTo(w, 12));
  expect(sum.entropy).toBeCloseTo(-wanted.reduce((nats, w) => nats + w * Math.log(w), 0), 12);
});

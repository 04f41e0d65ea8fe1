import { expect, it } from "vitest";
import { randn, scaledDotProductAttention, tensor } from "../index.ts";
import { exponentiateRow, type RowTerms, scoreRow, softmaxRow, weightOf } from "./index.ts";

/** Products of a row: the key's number itself. */
const terms = (runs: readonly number[], change?: RowTerms["change"]): RowTerms => ({
  runs,
  products: (out, first, from, to) => {
    for (let j = from; j < to; j++) out[j - first] = j;
  },
  ...(change && { change }),
});

it("scores of a range of keys are those of the row, and masked keys are neither computed nor changed", () => {
  const seen: number[] = [];
  const change = (scaled: number, j: number) => {
    seen.push(j);
    return -scaled;
  };
  const s = new Float64Array(4);
  expect(scoreRow(terms([0, 3, 5, 7], change), s, 2, 6)).toBe(-2);
  expect([...s]).toEqual([-2, -Infinity, -Infinity, -5]);
  expect(seen).toEqual([2, 5]);
});

it("a row with every key masked has the maximum and lse −∞, and weights 0", () => {
  const s = new Float64Array(3);
  const highest = scoreRow(terms([]), s, 0, 3);
  expect(highest).toBe(-Infinity);
  expect(softmaxRow(s, highest)).toEqual({ m: -Infinity, l: 0, lse: -Infinity, entropy: 0 });
  expect([...s]).toEqual([0, 0, 0]);
  expect(weightOf(-Infinity, -Infinity)).toBe(0);
});

it("a NaN score makes every weight of its row NaN", () => {
  const s = Float64Array.of(1, Number.NaN, -Infinity);
  expect(softmaxRow(s, 1).lse).toBeNaN();
  expect([...s]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
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
  const s = new Float64Array(20);
  const highest = scoreRow(
    {
      runs: [0, 20],
      products: (out, first, from, to) => {
        for (let j = from; j < to; j++) {
          out[j - first] = 0;
          for (let d = 0; d < 8; d++) out[j - first] += (q.at(0, d) * k.at(j, d)) / Math.sqrt(8);
        }
      },
    },
    s,
    0,
    20,
  );
  const p = s.slice();
  const sum = exponentiateRow(p, highest, sink);
  expect(Math.max(...p, Math.exp(sink - sum.m))).toBe(1);
  expect(softmaxRow(s, highest, sink)).toEqual(sum);
  const wanted = [...weights.toFloat64()];
  expect(sum.lse).toBeCloseTo(lse.toFloat64()[0], 12);
  wanted.forEach((w, j) => expect(s[j]).toBeCloseTo(w, 12));
  expect(sum.entropy).toBeCloseTo(-wanted.reduce((nats, w) => nats + w * Math.log(w), 0), 12);
});

import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { type Becomes, type BecomesNumbers, compute, cosines } from "./compute.ts";
import { page } from "./page.ts";
import { type BecomesView, picture } from "./picture.ts";

const at = (change: Partial<Becomes>) => compute({ ...page.initial, ...change });
const digits = (list: readonly number[]) => list.map((x) => x.toFixed(3));

test("the two vectors of one word move apart layer by layer, as PyTorch computes them in float64", () => {
  expect(digits(at({}).full.apart)).toEqual(["1.000", "0.917", "0.903", "0.871", "0.807", "0.808", "0.631"]);
});

test("one is nearest to runs and the other to insect; without the head, both are nearest to insect", () => {
  const { words, full } = at({});
  expect(words).toEqual(["runs", "passes", "insect", "mosquito", "bugs", "soars"]);
  expect(digits(full.near[0][6].slice(0, 5))).toEqual(["0.401", "0.309", "0.265", "0.288", "0.272"]);
  expect(digits(full.near[1][6].slice(0, 5))).toEqual(["0.086", "0.170", "0.528", "0.495", "0.487"]);
  const off = at({ quarters: 0 }).path;
  expect(off.apart[6] - full.apart[6]).toBeCloseTo(0.14, 3);
  for (const sentence of [0, 1])
    expect(words[off.near[sentence][6].indexOf(Math.max(...off.near[sentence][6]))]).toBe("insect");
});

test("of all 72 heads, layer 0, head 4 keeps the two apart the most", () => {
  const rises = at({}).rises.flat();
  expect(rises).toHaveLength(72);
  expect(rises.indexOf(Math.max(...rises))).toBe(4);
  expect([...rises].sort((a, b) => b - a).slice(0, 3)).toEqual([0.1399, 0.0498, 0.0486]);
});

test("less of the head brings the two nearer to each other at each strength", () => {
  const last = [4, 3, 2, 1, 0].map((quarters) => at({ quarters }).path.apart[6]);
  expect(last).toEqual(last.toSorted((a, b) => a - b));
  expect(new Set(last).size).toBe(5);
});

test("cosines are those of the formula", () => {
  const [[self, between], [, last]] = cosines([
    [3, 4],
    [4, 3],
  ]);
  expect([self, between, last].map((x) => x.toFixed(12))).toEqual([
    "1.000000000000",
    "0.960000000000",
    "1.000000000000",
  ]);
});

test("before the guess the picture does not show the cosine that is asked for", async () => {
  const step = page.steps[1];
  const before = (await viewOf("becomes", step.state as never)) as unknown as BecomesView;
  const after = (await viewOf(
    "becomes",
    step.state as never,
    step.predict?.show as never,
  )) as unknown as BecomesView;
  const answer = (after.numbers as BecomesNumbers).full.apart[6].toFixed(3);
  for (const wide of [true, false]) {
    expect(picture({ ...before, wide })).not.toContain(answer);
    expect(picture({ ...after, wide })).toContain(answer);
  }
});

import { expect, test } from "vitest";
import { compute } from "./compute.ts";
import { page } from "./page.ts";

const only = (...heads: number[]) => Array.from({ length: 12 }, (_, h) => Number(heads.includes(h)));

test("the code computes the average of the outputs, which is not the output of the averages", async () => {
  const numbers = await compute(page.initial);
  const { weights, values, printed } = numbers.part;
  const products = weights.map((weight, h) => weight * values[h]);
  const mean = (all: readonly number[]) => all.reduce((a, b) => a + b, 0) / all.length;
  expect(printed[0]).toBeCloseTo(numbers.average[numbers.target], 3);
  expect(printed[1]).toBeCloseTo(mean(products), 12);
  expect(printed[2]).toBeCloseTo(mean(weights) * mean(values), 12);
  expect(printed[1]).toBeGreaterThan(1.5 * printed[2]);
  const view = { state: { ...page.initial, hide: false }, numbers, wide: true, changed: false };
  for (const text of [page.code.typescript(view), page.code.python(view)])
    expect(text).toMatch(/The average weight; the average of the outputs;/);
  expect(page.code.printed(view).split("\n")).toHaveLength(3);
});

test("one head alone has the same output either way, and no head at all has none", async () => {
  const alone = await compute({ ...page.initial, on: only(11) });
  expect(alone.part.printed[1]).toBeCloseTo(alone.part.printed[2], 12);
  expect(alone.apart).toBeCloseTo(0, 6);
  expect((await compute({ ...page.initial, on: only() })).part.printed).toEqual([0, 0, 0]);
});

test("outputs longer than those of the common sentence stay in the picture, with their lengths", async () => {
  const numbers = await compute(page.initial);
  const lengths = numbers.lengths.map((length, h) => (h === 2 ? 7 : length));
  const drawn = page.picture({
    state: page.initial,
    numbers: { ...numbers, lengths },
    wide: true,
    changed: false,
  });
  const [, outputs] = drawn.split('data-name="outputs"');
  const ends = [...outputs.matchAll(/<text x="([\d.]+)"[^>]*>[\d.]+</g)].map(([, x]) => Number(x));
  expect(ends).toHaveLength(lengths.length);
  // Four characters of 11 px.
  expect(Math.max(...ends)).toBeLessThanOrEqual(860 - 28);
});

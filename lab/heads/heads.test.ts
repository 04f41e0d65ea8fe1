import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openStore } from "../../src/store/formats/open.ts";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
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
  const alone = await compute({ ...page.initial, on: only(4) });
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

test("what the first step says of heads 2, 4 and 11 is true of this sentence, and of head 2 in every capture", async () => {
  const numbers = await compute(page.initial);
  expect(numbers.words[numbers.target]).toBe("time");
  expect(numbers.weights[2][numbers.query - 1]).toBeGreaterThan(0.99);
  expect(numbers.weights[11].indexOf(Math.max(...numbers.weights[11]))).toBe(0);
  const view = { state: page.initial, numbers, wide: true, changed: false };
  expect(textOf(page.steps[0].text(view))).toMatch(
    /head 4, which gives “time” <b>80.%<\/b>\. Head 2 gives it (?:>|&gt;)99\.9.%, .* Head 11 gives 80.% to the start mark/,
  );
  // “The word before, whatever that is”: every token but the first, whose own place is the only one before it.
  const folder = new URL("../../models/captures/", import.meta.url);
  for (const name of [
    "time-flies",
    "fruit-flies",
    "bank-of-the-river",
    "savings-bank",
    "bank-of-the-table",
  ]) {
    const store = await openStore(fileURLToPath(new URL(`${name}.safetensors`, folder)));
    const ref = { block: 0, layer: 0, head: 2 };
    await store.load(ref);
    for (let row = 1; row < store.blocks[0].Nq; row++)
      expect(store.row(ref, row, "weights")[row - 1], `${name}, ${row}`).toBeGreaterThan(0.9);
    store.dispose();
  }
});

test("seven heads on are enough for “time” to lead; all twelve are not, and the average hides it", async () => {
  const all = await compute({ ...page.initial, on: only(...Array(12).keys()) });
  expect(all.average[all.target]).toBeLessThan(all.average[0] / 2);
  const seven = await compute({ ...page.initial, on: only(0, 1, 2, 3, 4, 5, 10) });
  expect(seven.average[seven.target]).toBeGreaterThan(seven.average[0]);
  const { reached } = page.tasks[0];
  const viewOf = (numbers: typeof all) => ({ state: page.initial, numbers, wide: true, changed: false });
  expect([reached(viewOf(all)), reached(viewOf(seven))]).toEqual([false, true]);
});

test("what each head adds through W^O is what PyTorch computes in float64, and adds up to the sum", async () => {
  const { mix, ...numbers } = await compute({ ...page.initial, on: only(...Array(12).keys()) });
  const close = (list: readonly number[], expected: readonly number[]) => {
    for (const [i, x] of expected.entries()) expect(list[i], String(i)).toBeCloseTo(x, 2);
  };
  close(numbers.lengths, [0.575, 0.733, 2.292, 0.878, 3.124, 0.752, 0.556, 0.311, 0.458, 0.351, 0.623, 0.25]);
  close(mix.lengths, [0.576, 0.742, 1.573, 0.724, 2.404, 0.917, 0.453, 0.415, 0.362, 0.311, 0.679, 0.236]);
  close(
    mix.parts,
    [0.0051, 0.0598, 0.2515, 0.0296, 0.522, 0.0928, 0.0185, -0.0226, 0.011, 0.007, 0.0203, 0.0049],
  );
  expect(Math.hypot(...mix.sum)).toBeCloseTo(3.2227, 3);
  expect(mix.parts.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
  expect(mix.largest).toEqual([4, 2]);
  // The chain of arrows ends at the sum, which is in the plane.
  const [x, y] = mix.path[12];
  expect([x, Math.abs(y)]).toEqual([expect.closeTo(3.2227, 3), expect.closeTo(0, 9)]);
  // Muted heads add nothing.
  const alone = (await compute({ ...page.initial, on: only(4) })).mix;
  expect(alone.parts).toEqual(only(4));
  const places = alone.concat.flatMap((x, i) => (x === 0 ? [] : [Math.floor(i / 32)]));
  expect([...new Set(places)]).toEqual([4]);
  const none = (await compute({ ...page.initial, on: only() })).mix;
  expect(none.path.flat().every((x) => x === 0)).toBe(true);
});

test("a phone shows the percentages of the heads", async () => {
  const narrow = page.picture({ ...(await viewOf("heads")), wide: false } as never);
  expect(narrow).toContain(">80</text>");
  expect(narrow).toContain(">67</text>");
});

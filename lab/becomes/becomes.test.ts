import { expect, test } from "vitest";
import { tensor } from "../../src/index.ts";
import { EncoderBlock } from "../../src/nn/index.ts";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { type Becomes, type BecomesNumbers, cosines, pathNumbers } from "./compute.ts";
import { layerOf } from "./layer.ts";
import { LAYER_STEPS } from "./layer-steps.ts";
import { page } from "./page.ts";
import { type BecomesView, picture } from "./picture.ts";

const at = (change: Partial<Becomes>) => pathNumbers({ ...page.initial, ...change });
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

test("before the guess the picture shows neither the cosine that is asked for nor the heads; the question has its numbers", async () => {
  for (const at of [1, 3]) {
    const { state, predict } = page.steps[at];
    const viewAt = async (...changes: object[]) =>
      (await viewOf("becomes", ...(changes as never[]))) as unknown as BecomesView;
    const [before, after] = [await viewAt(state), await viewAt(state, predict!.show)];
    const { path, full } = after.numbers as BecomesNumbers;
    for (const wide of [true, false]) {
      expect(picture({ ...before, wide })).not.toContain(path.apart[6].toFixed(3));
      expect(picture({ ...before, wide })).not.toContain('data-name="heads"');
      expect(picture({ ...after, wide })).toContain(path.apart[6].toFixed(3));
    }
    expect(picture({ ...after, wide: true }).includes('data-name="heads"')).toBe(at === 3);
    expect(predict!.question).toContain(full.apart[at === 1 ? 1 : 6].toFixed(3));
  }
});

test("the steps of the layer lead to what EncoderBlock returns, at every seed, through sums and norms", () => {
  for (const seed of [1, 2, 77, 9999]) {
    const steps = layerOf(seed);
    expect(steps).toHaveLength(LAYER_STEPS.length);
    const block = new EncoderBlock(8, 2, { feedForward: 32, seed });
    const x = tensor(Float32Array.from(steps[1].flat()), [4, 8]);
    const wanted = block.forward(x).output.toFloat64();
    for (const [i, value] of steps[8].flat().entries()) expect(value).toBeCloseTo(wanted[i], 5);
    for (const step of [5, 8])
      for (const row of steps[step]) {
        expect(row.reduce((a, b) => a + b, 0) / 8).toBeCloseTo(0, 5);
        expect(row.reduce((a, b) => a + b * b, 0) / 8).toBeCloseTo(1, 3);
      }
    for (const [from, what, to] of [
      [1, 3, 4],
      [5, 6, 7],
    ])
      for (const [i, value] of steps[to].flat().entries())
        expect(value).toBeCloseTo(steps[from].flat()[i] + steps[what].flat()[i], 5);
  }
});

test("the picture of the layer has the numbers of the chosen word, wide and narrow, and the table all digits", async () => {
  const view = (await viewOf("becomes", { shown: "layer", word: 2, seed: 5 } as never)) as BecomesView;
  for (const wide of [true, false]) {
    const drawn = picture({ ...view, wide });
    for (const value of view.numbers.steps.flatMap((rows) => rows[2]))
      expect(drawn).toContain(`>${value.toFixed(wide ? 2 : 1).replace("-", "−")}<`);
  }
  expect(page.table(view).rows.map(([, first]) => first)).toEqual(
    view.numbers.steps.map((rows) => Number(rows[2][0].toFixed(4))),
  );
});

test("the cosine falls most in the last layer, less than half of the way; the places in the plane are as the text says", () => {
  const { apart, near } = at({}).full;
  const falls = apart.slice(1).map((cosine, i) => apart[i] - cosine);
  expect(Math.max(...falls)).toBe(falls[5]);
  expect(falls[5] / (apart[0] - apart[6])).toBeLessThan(0.5);
  // Right is nearer to runs, the first word, and up nearer to insect, the third.
  for (let layer = 1; layer <= 6; layer++) {
    expect(near[0][layer][0], `runs, layer ${layer}`).toBeGreaterThan(near[1][layer][0]);
    expect(near[1][layer][2], `insect, layer ${layer}`).toBeGreaterThan(near[0][layer][2]);
  }
});

test("the slider that the text of the head names is there without any change by the reader", async () => {
  const view = await viewOf("becomes", page.steps[4].state as never);
  expect(textOf(page.steps[4].text(view as never))).toContain("<b>Move the slider</b> “head”");
  expect(textOf(page.control(view as never))).toContain('data-act="quarters"');
});

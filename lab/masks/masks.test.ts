import { expect, test } from "vitest";
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import * as masks from "../../src/masks/index.ts";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { compute, type MasksNumbers } from "./compute.ts";
import { page } from "./page.ts";
import { callOf, JOINS, joined, RECIPES, SIZE } from "./recipes.ts";

const sum = (row: readonly number[]) => row.reduce((a, b) => a + b, 0);

test("−∞ and −1e9 give the same shares, hidden words get exactly 0", async () => {
  const { formula, finite, heed } = await compute(page.initial);
  for (const [j, weight] of heed.entries()) {
    expect(formula[j]).toBeCloseTo(weight, 6);
    expect(finite[j]).toBeCloseTo(weight, 6);
    if (j > page.initial.row) expect([formula[j], finite[j], weight]).toEqual([0, 0, 0]);
  }
  expect(sum(heed)).toBeCloseTo(1, 6);
});

test("a fully masked row gives NaN, the mean of all words, or zeros", async () => {
  const empty = {
    ...page.initial,
    mask: page.initial.mask.map((bit, at) => (Math.floor(at / 10) === 4 ? 0 : bit)),
  };
  const { formula, finite, heed, outputs } = await compute(empty);
  expect(formula.every(Number.isNaN)).toBe(true);
  for (const weight of finite) expect(weight).toBeCloseTo(0.1, 12);
  expect(heed).toEqual(Array(10).fill(0));
  expect(outputs.heed).toBe(0);
});

test("scores of −10³⁰ lose to −1e9, and do not to −∞", async () => {
  const { finite, heed } = await compute({ ...page.initial, low: true });
  expect(sum(finite.slice(0, 5))).toBe(0);
  expect(sum(heed.slice(0, 5))).toBeCloseTo(1, 6);
});

test("−1e9 is −∞ in float16 where it is rounded, as NumPy does; the text says that PyTorch refuses it", async () => {
  expect((await compute(page.initial)).half).toBe(Number.NEGATIVE_INFINITY);
  const explained = textOf(page.steps[2].text((await viewOf("masks")) as never));
  expect(explained).toContain("NumPy makes −∞ of it");
  expect(explained).toContain("refuses it with an error");
});

test("hidden after softmax: the picture adds up the shares that are left, to the number of the text", async () => {
  const view = await viewOf("masks", page.steps[5].state as never);
  for (const wide of [true, false]) {
    const [, terms, total] = /0 after softmax: ([0-9. +]+) = (\d+)/.exec(
      page.picture({ ...view, wide } as never),
    )!;
    expect(Math.round(sum(terms.split(" + ").map(Number)))).toBe(Number(total));
    expect(textOf(page.steps[5].text(view as never))).toMatch(new RegExp(`adds up to ${total}\\s%`));
  }
  expect(page.picture((await viewOf("masks")) as never)).not.toContain("after softmax");
});

test("the first picture has one column of shares, the ways to hide have three, and bits are shown where they are the subject", async () => {
  const drawn = async (at: number, change: object = {}) =>
    page.picture((await viewOf("masks", page.steps[at].state as never, change as never)) as never);
  const columns = (picture: string) => picture.match(/data-name="(?:formula|finite|heed)"/g)!.length;
  expect([
    columns(await drawn(0)),
    columns(await drawn(1)),
    columns(await drawn(2)),
    columns(await drawn(4)),
  ]).toEqual([1, 1, 3, 1]);
  expect(columns(await drawn(1, page.steps[1].predict!.show))).toBe(1);
  for (const at of [0, 1, 2, 3, 4, 5])
    expect((await drawn(at)).includes('data-name="polarity"'), `${at}`).toBe(at === 4);
});

test("a phone shows the percentages of the cells and the whole names of short words", async () => {
  const narrow = page.picture({ ...(await viewOf("masks")), wide: false } as never);
  expect(narrow).toContain(">49</text>");
  expect(narrow).not.toContain("…");
});

test("the same bits read the other way hide what was visible", async () => {
  const { heed } = await compute({ ...page.initial, inverted: true });
  expect(heed.slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
  expect(sum(heed)).toBeCloseTo(1, 6);
});

test("without a mask the two pads take a quarter of the attention of “sat”", async () => {
  const { numbers } = await viewOf("masks", page.steps[1].state as never);
  const { plain } = numbers as MasksNumbers;
  expect(plain[3][8] + plain[3][9]).toBeCloseTo(0.25, 2);
});

test("each recipe, alone and joined, is the mask that its call builds in heed", () => {
  const { names, builders } = { names: Object.keys(masks), builders: Object.values(masks) };
  const zeros = tensor(new Float32Array(SIZE), [SIZE, 1]);
  const built = (call: string): number[] => {
    if (call === "") return Array(SIZE * SIZE).fill(1);
    const attnMask = new Function(...names, `return ${call}`)(...builders);
    const { weights } = scaledDotProductAttention(zeros, zeros, zeros, { attnMask, returnWeights: true });
    return Array.from(weights!.toFloat64(), (weight) => (weight > 0 ? 1 : 0));
  };
  const all = Object.keys(RECIPES);
  for (const first of all)
    for (const second of all)
      for (const join of JOINS)
        expect(joined(first, join, second), `${first} ${join} ${second}`).toEqual(
          built(callOf(first, join, second)),
        );
});

test("a drag can begin anywhere on the cells: no line is above what takes it", async () => {
  const picture = page.picture((await viewOf("masks")) as never);
  expect(picture.indexOf('class="none lq"')).toBeLessThan(picture.indexOf('class="hit"'));
});

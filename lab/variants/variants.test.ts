import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { percent } from "../frame/words.ts";
import { compute, type VariantsNumbers } from "./compute.ts";
import { Draws } from "./data.ts";
import { page } from "./page.ts";

/** Errors on other data. Those on random data, and the share of a window, are compared in the page itself (tests/lab/lab.spec.mjs). */
const errorsOf = async (change: object) => {
  const { ways } = await compute({ ...page.initial, visited: [], ...change });
  return { flash: ways[1].error, longformer: ways[2].error, performer: ways[3].error };
};

test("the draws are normal: mean 0, variance 1", () => {
  const z = new Draws(1).normals(100_000);
  const mean = z.reduce((a, b) => a + b, 0) / z.length;
  const variance = z.reduce((a, b) => a + (b - mean) ** 2, 0) / z.length;
  expect(Math.abs(mean)).toBeLessThan(0.01);
  expect(Math.abs(variance - 1)).toBeLessThan(0.02);
});

test("the ranking of Longformer and Performer flips with the data, and Flash is exact on all", {
  timeout: 120_000,
}, async () => {
  for (const seed of [1, 2, 7, 9999])
    for (const data of ["random", "local", "sink", "previous", "average"]) {
      const { flash, longformer, performer } = await errorsOf({ data, seed });
      expect(flash, data).toBeLessThan(2e-6);
      expect(longformer < performer, `${data}, seed ${seed}`).toBe(data !== "average");
    }
  const average = await errorsOf({ data: "average" });
  expect(average.longformer).toBeGreaterThan(0.8);
  expect(average.performer).toBeLessThan(0.25);
  expect((await errorsOf({ data: "local" })).longformer).toBeLessThan(0.03);
});

test("after eight tiles Flash has the row of the whole matrix", async () => {
  const { numbers } = await viewOf("variants", { show: "tiles", tile: 8, data: "local" } as never);
  const { tiles, merged } = numbers as VariantsNumbers;
  const last = tiles[tiles.length - 1];
  expect(merged[7][0]).toBeCloseTo(last.maximum + Math.log(last.sum), 2);
  expect(merged[7][1]).toBeCloseTo(last.output, 2);
});

test("a race measures all four, and nothing is measured before", async () => {
  const before = await compute({ ...page.initial, show: "cost" });
  expect(before.costs.every(({ ms }) => Number.isNaN(ms))).toBe(true);
  const { costs } = await compute({ ...page.initial, show: "cost", n: 512, race: 1 });
  expect(costs.every(({ ms }) => ms > 0)).toBe(true);
  // Scores and weights.
  expect(costs[0].bytes).toBe(2 * 4 * 512 * 512);
});

test("the race measures the three passes of the whole matrix, and the text names where the time went", async () => {
  const view = await viewOf("variants", { show: "cost", n: 512, race: 1 } as never);
  const { costs } = view.numbers as VariantsNumbers;
  expect(costs[0].passes).toHaveLength(3);
  expect(costs[0].passes.reduce((a, b) => a + b, 0)).toBeCloseTo(costs[0].ms, 9);
  const text = textOf(page.steps[5].text(view as never));
  expect(text).toContain("of the time is the separate pass of softmax");
  expect(text).not.toContain("memory traffic");
});

test("window and features of the race are fixed, so twice the words are twice the work", async () => {
  const [short, long] = await Promise.all(
    [2048, 4096].map(async (n) => (await compute({ ...page.initial, show: "cost", n })).costs),
  );
  expect(long[3].operations / short[3].operations).toBe(2);
  expect(long[1].operations / short[1].operations).toBe(4);
  expect(long[2].operations / short[2].operations).toBeLessThan(2.3);
});

test("the race has its own sizes, and no map or error of another length beside them", async () => {
  const view = await viewOf("variants", { show: "cost", n: 2048 } as never);
  const picture = page.picture(view as never);
  expect(picture).toContain("n = 2,048");
  expect(textOf(page.steps[5].text(view as never))).toContain(
    "64 neighbors to each side and Performer 256 features",
  );
  for (const part of ["wrong by", "512", "words 256"]) expect(picture).not.toContain(part);
});

test("the first task can be done, and random data is worse than answering 0 without it, at every seed", {
  timeout: 60_000,
}, async () => {
  for (const seed of [2, 3, 6]) {
    expect((await errorsOf({ data: "random", seed })).performer).toBeGreaterThan(1);
    expect((await errorsOf({ data: "random", seed, spread: 0.25 })).performer).toBeLessThan(1);
  }
});

test("the caption and the bands have the smallest and the largest error over the seeds thrown", async () => {
  const change = { data: "average", visited: [4], spread: 0.5 } as never;
  const once = await viewOf("variants", change, { seed: 31 } as never);
  expect(textOf(page.caption(once as never))).not.toContain("throws");
  const twice = await viewOf("variants", change, { seed: 32 } as never);
  const [a, b] = [once, twice].map((view) => (view.numbers as VariantsNumbers).ways[3].error);
  expect(a).not.toBe(b);
  const [low, high] = [a, b].sort((x, y) => x - y).map((error) => percent(error));
  expect(textOf(page.caption(twice as never))).toContain(`Over 2 throws (bands): Longformer`);
  expect(textOf(page.caption(twice as never))).toContain(`Performer ${low} to ${high}`);
});

test("what a tile has is called the log of the sum so far", async () => {
  const view = await viewOf("variants", { show: "tiles", tile: 3 } as never);
  expect(page.picture(view as never)).toContain("maximum + log of the sum so far");
});

test("the axes of work stay when n changes: of the matrix's bar a 64th is left at 512, of Performer's an eighth", async () => {
  const bars = async (n: number) => {
    const view = await viewOf("variants", { show: "cost", n } as never);
    const widths = [
      ...page.picture(view as never).matchAll(/<rect [^>]*width="([\d.]+)"[^>]*class="f(?:third|w|k|v)"/g),
    ];
    return widths.slice(0, 4).map(([, width]) => Number(width));
  };
  const [small, large] = [await bars(512), await bars(4096)];
  const [matrix, flash, longformer, performer] = large.map((width, w) => width / small[w]);
  for (const share of [matrix / 64, flash / 64, performer / 8]) expect(share).toBeCloseTo(1, 1);
  expect(longformer).toBeLessThan(16);
});

test("the first stop says what an error is, and the window's explains one above 100 %", async () => {
  const text = async (at: number) =>
    textOf(page.steps[at].text((await viewOf("variants", page.steps[at].state as object)) as never));
  expect(await text(0)).toContain("as a share of the exact one’s size");
  expect(await text(2)).toMatch(
    /the output is wrong by <b>1\d\d.%<\/b>. The exact output is an average of 512/,
  );
  const { ways } = await compute({ ...page.initial, data: "random" });
  // A small output: of a value's size the error is small.
  expect(ways[2].errorOverValues).toBeLessThan(0.2);
});

test("the race's Longformer computes whole tiles, more than its window, and the text says so", async () => {
  const view = await viewOf("variants", { show: "cost" });
  const { costs } = view.numbers as VariantsNumbers;
  expect(costs[2].operations).toBeGreaterThan(2 * 4 * 64 * 2048 * 130);
  expect(textOf(page.steps[5].text(view as never))).toContain("all tiles that its window touches");
});

test("the ways differ by their marks, not by the colors of queries, keys and values", async () => {
  const view = await viewOf("variants", {});
  expect(page.picture(view as never)).not.toMatch(/class="[^"]*\b[flt][qkv]\b/);
  // On a phone the errors are numbers, too.
  expect(page.picture({ ...view, wide: false } as never)).toMatch(/>2\.4.%<\/text>/);
});

import { expect, test } from "vitest";
import { textOf } from "../../ui/text-of.ts";
import { reasonOf } from "../frame/render.ts";
import { compute } from "./compute.ts";
import { page } from "./page.ts";
import { HEADS } from "./sizes.ts";

test("attention takes 4·n²·d operations, the projections 8·n·d², and they are equal at n = 2·d", async () => {
  const { curve, even, now } = await compute(page.initial);
  const d = 768;
  expect(curve.map(({ n }) => n)).toEqual(Array.from({ length: 17 }, (_, i) => 2 ** (i + 4)));
  for (const { n, attention, projections, one } of [...curve, now]) {
    expect(attention).toBe(4 * n * n * d);
    expect(projections).toBe(8 * n * d * d);
    expect(one).toBe(4 * n * d);
  }
  expect(even).toBe(2 * d);
});

test("all weights fill 2 GiB from 6,689 words on, and heed's own memory does not grow with them", async () => {
  const { full, weights, cache } = await compute(page.initial);
  expect(full).toBe(Math.ceil(Math.sqrt(2 ** 31 / 48)));
  expect(weights).toBe(4 * 12 * 32768 ** 2);
  expect(cache).toBe(2 * 2 * 12 * 768 * 32768);
  const [some, many] = await Promise.all([15, 20].map((power) => compute({ ...page.initial, power })));
  expect(many.workspace).toBe(some.workspace);
});

test("the answer to “how many words fill the frame” is the number of words that the picture then shows", async () => {
  const predict = page.steps[1].predict!;
  const { now, full } = await compute(page.check({ ...page.initial, ...predict.show }));
  expect(now.n).toBe(full);
});

test("one new word has one row of weights in each head", async () => {
  const { now, newWord, weights } = await compute(page.initial);
  expect(newWord.weights).toBe(weights / now.n);
});

test("a run hands out each time as it is measured, keeps it while the guess moves, and Reset forgets it", async () => {
  const counts: number[] = [];
  const first = await compute({ ...page.initial, run: 1 }, ({ measured }) => counts.push(measured.length));
  expect(counts).toEqual([1, 2, 3, 4, 5]);
  expect(first.measured.map(([n]) => n)).toEqual([64, 128, 256, 512, 1024]);
  for (const [, ms] of first.measured) expect(ms).toBeGreaterThan(0);
  const again = await compute({ ...page.initial, run: 1, ghost: 12 });
  expect(again.measured).toEqual(first.measured);
  expect((await compute(page.initial)).measured).toEqual([]);
}, 60_000);

test("the reason for a low guess counts the heads of this page, and frames are counted where they are drawn", async () => {
  const view = { state: page.initial, numbers: await compute(page.initial), wide: true, changed: false };
  expect(reasonOf(page.steps[1].predict!, 2000, view)).toContain(
    `${HEADS} heads of n · n numbers of 4 bytes are ${4 * HEADS} · n² bytes`,
  );
  expect(textOf(page.caption(view))).not.toContain("frames");
  expect(textOf(page.caption({ ...view, state: { ...view.state, show: "memory" } }))).toContain("24 frames");
});

test("the memory in which a page computes ends at 4 GiB", () => {
  const pages = (4 * 2 ** 30) / 2 ** 16;
  expect(() => new WebAssembly.Memory({ initial: 1, maximum: pages })).not.toThrow();
  expect(() => new WebAssembly.Memory({ initial: 1, maximum: pages + 1 })).toThrow();
});

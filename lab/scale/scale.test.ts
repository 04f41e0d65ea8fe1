import { expect, test, vi } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { Normals } from "../frame/chance.ts";
import type { WordsNumbers } from "../words/compute.ts";
import { compute, prepare } from "./compute.ts";
import { divisorOf } from "./divisor.ts";
import { page } from "./page.ts";

// Appendix B of the design: 20,000 pairs; without and with scaling, mean entropy of softmax of ten.
const ANCHORS = [
  [0, 1.99, 1.99],
  [2, 1.44, 1.95],
  [4, 0.76, 1.94],
  [6, 0.37, 1.92],
  [8, 0.15, 1.92],
  [10, 0.07, 1.91],
] as const;

// Ten products share a query, so a variance of short lists is known to 4 % only; at 256 and above to 2 %.
test("the variance of 20,000 products is d_k, for every d_k", () => {
  const { points } = compute({ ...page.initial, visited: ANCHORS.map(([power]) => power) });
  for (const [dk, variance] of points)
    expect(Math.abs(variance / dk - 1), `d_k = ${dk}`).toBeLessThan(dk < 64 ? 0.05 : 0.02);
});

test("softmax of ten has the entropy of the anchors, and the division keeps it", () => {
  for (const [power, without, scaled] of ANCHORS) {
    expect(Math.abs(compute({ ...page.initial, power }).entropy - without), `2^${power}`).toBeLessThan(0.05);
    expect(Math.abs(compute({ ...page.initial, power, divisor: "√dk" }).entropy - scaled)).toBeLessThan(0.05);
  }
});

test("nothing in the picture answers the first prediction before the guess, and the lines are there after it", async () => {
  const [question, answer] = [
    await viewOf("scale", page.steps[1].state as object),
    await viewOf("scale", page.steps[1].state as object, page.steps[1].predict!.show as object),
  ];
  for (const wide of [true, false]) {
    const before = page.picture({ ...question, state: { ...question.state, show: "plot" }, wide } as never);
    expect(before).not.toContain("variance = dₖ");
    // Three dots in a row would be the line.
    expect(/data-name="variance">(.*?)<\/g>/.exec(before)![1].match(/<circle/g)).toHaveLength(1);
    expect(page.picture({ ...answer, wide } as never)).toContain("variance = dₖ");
  }
  const first = await viewOf("scale");
  for (const view of [first, question])
    expect(textOf(page.caption(view as never)) + page.label(view as never)).not.toContain("variance");
  expect(textOf(page.caption(answer as never))).toContain("variance");
});

test("another seed throws other vectors of the same variance", () => {
  const [first, second] = [1, 2].map((seed) => compute({ ...page.initial, seed }));
  expect(first.shares).not.toEqual(second.shares);
  expect(Math.abs(first.variance / second.variance - 1)).toBeLessThan(0.1);
  // Of 1.4 million normal numbers the largest is near 4.9, not the largest of a short list.
  for (const { largestNumber } of [first, second]) {
    expect(largestNumber).toBeGreaterThan(4.4);
    expect(largestNumber).toBeLessThan(6.5);
  }
});

test("all products are counted, those outside the axis in its ends", () => {
  const { bins, count } = compute({ ...page.initial, power: 10 });
  expect(count).toBe(20_000);
  expect(bins.reduce((a, b) => a + b, 0)).toBe(count);
  expect(bins[0] + bins[99]).toBeGreaterThan(0);
});

test("the divisors are 1, √d_k, d_k and the root of a model of 512", () => {
  expect(["1", "√dk", "dk", "√dmodel"].map((name) => divisorOf(name, 16))).toEqual([
    1,
    4,
    16,
    Math.sqrt(512),
  ]);
});

test("a trained head has a variance that is not 1", () => {
  const { divided } = compute({ ...page.initial, data: "trained", divisor: "√dk" });
  expect(divided).toBeGreaterThan(2);
});

// D23 of the review: "a variance of 8" beside a head with 3.65.
test("the questions at the end name no numbers but 0, 1 and the variance of the page's own head", () => {
  const { divided } = compute({ ...page.initial, data: "trained", divisor: "√dk" });
  const numbers = [...page.recall.flat(), page.limits]
    .join(" ")
    .match(/\d+(?:\.\d+)?/g)!
    .map(Number);
  expect(numbers.length).toBeGreaterThan(2);
  expect(numbers.filter((x) => ![0, 1, Number(divided.toPrecision(3))].includes(x))).toEqual([]);
  expect(page.recall[1][0]).toContain("well above 1");
});

test("the text on the division does not call the variance without it that of every d_k", async () => {
  const view = await viewOf("scale", { ...page.steps[2].state, divisor: "1" });
  expect(textOf(page.steps[2].text(view as never))).toMatch(
    /the variance is 1 for every d<sub>k<\/sub>\. In the picture it is now 25\d/,
  );
});

test("the variances of earlier throws stay in the picture", () => {
  const first = compute({ ...page.initial, seed: 71 });
  const second = compute({ ...page.initial, seed: 72 });
  expect(second.earlier).toContainEqual([first.points[0][0], first.points[0][2]]);
  expect(second.points[0][1]).not.toBe(first.points[0][1]);
});

test("no share of the picture is called 0 that is not, and on a phone the unit is in the title", async () => {
  const view = await viewOf("scale", { power: 4 });
  for (const wide of [true, false]) {
    const picture = page.picture({ ...view, wide } as never);
    const labels = [...picture.matchAll(/class="mid s11 mono [^"]*">([^<]+)</g)].map(([, label]) => label);
    expect(labels).toHaveLength(10);
    expect(labels).not.toContain("0");
    expect(labels.some((label) => label.startsWith("&lt;1"))).toBe(true);
    expect(labels.some((label) => label.includes("%"))).toBe(wide);
  }
});

test("each ten products are those of one query, of a trained head, too: softmax of them is a row of its attention", async () => {
  const { shares, rows } = compute({ ...page.initial, data: "trained", divisor: "√dk" });
  const river = (await viewOf("words", { line: "river", query: 0 })) as { numbers: WordsNumbers };
  expect(rows).toBe(20);
  for (const [i, share] of river.numbers.lines[0].shares.entries()) expect(shares[i]).toBeCloseTo(share, 4);
});

test("what is prepared in short pieces is what a visit would draw, and a visit draws no more of it", () => {
  const draw = vi.spyOn(Normals.prototype, "list");
  const seed = 77;
  const steps = prepare({ ...page.initial, seed });
  // d_k = 1 to 64: 22,000 numbers each, in pieces.
  const all = 22_000 * 127;
  let drawn = 0;
  while (drawn <= all) {
    steps.next();
    const lengths = draw.mock.calls.splice(0).map(([length]) => length);
    expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(2 ** 16);
    drawn += lengths.reduce((a, b) => a + b, 0);
  }
  expect(compute({ ...page.initial, power: 6, seed, visited: [0, 2, 4, 6] }).points).toHaveLength(4);
  expect(draw).not.toHaveBeenCalled();
  draw.mockRestore();
});

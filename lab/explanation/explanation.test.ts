import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { reasonOf } from "../frame/render.ts";
import { compute } from "./compute.ts";
import { page } from "./page.ts";

const { initial } = page;

test("the larger weight of two heads on the same word has the smaller effect, as MiniLM was measured", async () => {
  const { words, query, row } = await compute(initial);
  const other = await compute({ ...initial, head: 2 });
  const time = words.indexOf("time");
  expect(words[query]).toBe("flies");
  // Cosines 0.9581 and 0.9987 without the link: 16.6° and 2.9°.
  expect(row.weights[time]).toBeCloseTo(0.802, 2);
  expect(row.angles[time]).toBeCloseTo((180 / Math.PI) * Math.acos(1 - 0.0419), 0);
  expect(other.row.weights[time]).toBeGreaterThan(0.999);
  expect(other.row.angles[time]).toBeCloseTo((180 / Math.PI) * Math.acos(1 - 0.0013), 1);
});

test("what the text says of all links is counted: most large weights go to marks and change next to nothing", async () => {
  const { weights, angles, words, strong, correlation, correlationMoves } = await compute({
    ...initial,
    shown: "all",
  });
  const isMark = (i: number) => i % words.length === 0 || i % words.length === words.length - 1;
  const large = weights.map((weight, i) => ({ weight, i })).filter(({ weight }) => weight > 0.5);
  expect(strong).toMatchObject({ count: large.length, marks: large.filter(({ i }) => isMark(i)).length });
  expect(strong.marks / strong.count).toBeGreaterThan(0.8);
  for (const { i } of large) if (isMark(i)) expect(angles[i]).toBeLessThan(1.1);
  expect(correlation).toBeLessThan(0.8);
  expect(correlationMoves).toBeGreaterThan(0.95);
});

test("hidden by a mask, links to marks matter", async () => {
  const silent = await compute({ ...initial, layer: 1, head: 11 });
  const hidden = await compute({ ...initial, layer: 1, head: 11, how: "hidden" });
  expect(silent.row.angles[0]).toBeLessThan(2);
  expect(hidden.row.angles[0]).toBeGreaterThan(10);
});

test("a guess above the effect of the smaller weight gets the reason why it is wrong", async () => {
  const numbers = await compute({ ...initial, head: 2 });
  const view = { state: initial, numbers, wide: true, changed: true };
  const say = (guess: number) => reasonOf(page.steps[1].predict!, guess, view);
  expect(say(19)).toContain("You expected more weight to have more effect");
  expect(say(3)).not.toContain("You expected");
});

test("a typed sentence of the page is its own picture, any other is read in the page", () => {
  expect(page.sentence?.("Fruit flies like a banana.")).toMatchObject({ ownText: "", data: "fruit" });
  expect(page.sentence?.("time flies like an arrow!")).toMatchObject({ ownText: "", data: "time" });
  expect(page.sentence?.("old kings love young queens")).toMatchObject({
    ownText: "old kings love young queens",
  });
});

test("what may be said names the effect of the link whose weight it names, in each head", async () => {
  for (const change of [{}, { head: 2 }, { layer: 1, head: 11, how: "hidden" }, { layer: 5, head: 3 }]) {
    const view = await viewOf("explanation", { shown: "all" }, change);
    const { row } = view.numbers as Awaited<ReturnType<typeof compute>>;
    const angle = row.angles[row.weights.indexOf(Math.max(...row.weights))];
    const turned = /turns by ([\d.]+)°/.exec(textOf(page.steps[5].text(view as never)))![1];
    expect(Number(turned), JSON.stringify(change)).toBeCloseTo(angle, 0);
  }
});

test("the text on weight × value has the ratios of its numbers, and values of marks are shorter than those of words", async () => {
  const view = await viewOf("explanation", { shown: "all" });
  const { weights, moves, words } = view.numbers as Awaited<ReturnType<typeof compute>>;
  const lengths: [number[], number[]] = [[], []];
  for (const [i, weight] of weights.entries())
    if (weight > 1e-3)
      lengths[i % words.length === 0 || i % words.length === words.length - 1 ? 0 : 1].push(
        moves[i] / weight,
      );
  const [marks, others] = lengths.map((list) => list.sort((a, b) => a - b)[list.length >> 1]);
  expect(marks).toBeLessThan(others / 3);
  const content = textOf(page.steps[3].text(view as never));
  const [, high, low, ratio] = /It is ([\d.]+) in head 4 and ([\d.]+) in head 2, a ratio of ([\d.]+)/.exec(
    content,
  )!;
  expect(Number(high) / Number(low)).toBeCloseTo(Number(ratio), 1);
});

test("the first text says how far each other link of the head turns the word at most", async () => {
  const view = await viewOf("explanation", {});
  const { row } = view.numbers as Awaited<ReturnType<typeof compute>>;
  const [, second] = row.angles.toSorted((a, b) => b - a);
  const [, bound] = /each turns it by at most ([\d.]+)°/.exec(textOf(page.steps[0].text(view as never)))!;
  expect(Number(bound)).toBeCloseTo(second, 1);
});

test("no weight or effect is called 0 or all: what is stored is rounded", async () => {
  const view = await viewOf(
    "explanation",
    page.steps[1].state as never,
    page.steps[1].predict!.show as never,
  );
  const picture = page.picture(view as never);
  expect(picture).not.toMatch(/mono">(?:0|100)\s%<|mono">0°</u);
  expect(textOf(page.steps[1].text(view as never))).toContain("&gt;99.9");
});

test("on a phone, where no table is beside the plot, the largest effect is a number in it", async () => {
  const picture = page.picture({ ...(await viewOf("explanation")), wide: false } as never);
  expect(picture).toContain("time 16.7°");
});

test("a phone has every weight and effect of the head, and what is below a tenth of a degree is written in one way", async () => {
  for (const change of [{}, { layer: 1, head: 11, how: "hidden" }]) {
    const view = (await viewOf("explanation", change as never)) as never as Parameters<
      typeof page.picture
    >[0];
    const narrow = page.picture({ ...view, wide: false });
    for (const word of view.numbers.words) expect(narrow).toContain(`>${word}</text>`);
    expect(narrow.match(/°<\/text>/g)!.length).toBeGreaterThanOrEqual(view.numbers.words.length);
    expect(page.label(view)).toContain("<0.1°");
    expect(page.label(view)).not.toContain("0.069°");
  }
});

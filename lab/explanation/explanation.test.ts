import { expect, test } from "vitest";
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

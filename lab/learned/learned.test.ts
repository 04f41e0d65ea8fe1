import { expect, test } from "vitest";
import { configure } from "../../src/index.ts";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { runOf } from "../../tools/captures/learned.ts";
import { textOf } from "../../ui/text-of.ts";
import { LEARNED } from "./captures.ts";
import { type LearnedNumbers, momentsOf } from "./compute.ts";
import { OTHERS } from "./others.ts";
import { page, STEPS } from "./page.ts";
import { angleOf, type LearnedView, plane } from "./picture.ts";

const numbersOf = async (change: object) =>
  (await viewOf("learned", change as never)).numbers as LearnedNumbers;

test("the page knows the steps of every run", async () => {
  for (const run of ["learned", "tossed", "fast"])
    for (const sentence of ["cat", "dog"])
      expect((await momentsOf(run, sentence)).map(({ step }) => step)).toEqual(STEPS[run]);
});

test("the table does not answer the question that the curve hides", async () => {
  const { state, predict } = page.steps[4];
  const names = async (...changes: object[]) =>
    page.table((await viewOf("learned", ...(changes as never[]))) as never).rows.map(([name]) => name);
  expect(await names(state as object)).not.toContain("share of cat at step 3,000");
  expect(await names(state as object, predict!.show as object, { guess4: 50 })).toContain(
    "share of cat at step 3,000",
  );
});

test("“was” looks everywhere at step 0, at the animal at step 3,000, and never where the last word is tossed", async () => {
  const { shares, surprises, steps } = await numbersOf({});
  const at = (step: number) => shares[steps.indexOf(step)];
  expect(at(0)).toBeCloseTo(0.1, 1);
  expect(at(300)).toBeGreaterThan(0.15);
  expect(at(900)).toBeGreaterThan(0.5);
  expect(at(3000)).toBeGreaterThan(0.65);
  expect(surprises[0]).toBeGreaterThan(3.5);
  expect(surprises.at(-1)).toBeLessThan(0.05);
  const tossed = await numbersOf({ run: "tossed" });
  expect(Math.max(...tossed.shares)).toBeLessThan(0.15);
  expect(Math.abs(tossed.surprises.at(-1)! - Math.log(8))).toBeLessThan(0.1);
  const { weights, was } = await numbersOf({ sentence: "dog" });
  expect(weights[was][2]).toBeGreaterThan(0.7);
  expect(weights[was][7]).toBeLessThan(0.05);
});

test("with steps that are too large the head is stuck elsewhere, while the model is right", async () => {
  const { shares, says, right } = await numbersOf({ run: "fast", step: 3000 });
  expect(shares.at(-1)).toBeLessThan(0.01);
  expect(says[right]).toBeGreaterThan(0.9);
});

test("the runs begin with the same head, and the tool makes the kept moments again, bit for bit", {
  timeout: 240_000,
}, async () => {
  for (const run of ["tossed", "fast"])
    expect([OTHERS[`${run} cat`][0].query, OTHERS[`${run} cat`][0].key]).toEqual([
      LEARNED[0].query,
      LEARNED[0].key,
    ]);
  configure({ simd: "strict", threads: 1 });
  for (const [i, { step, surprise, sentences }] of (await runOf("learned", 50)).entries()) {
    expect({ step, surprise, ...sentences.cat }).toEqual(LEARNED[i]);
    expect({ step, surprise, ...sentences.dog }).toEqual(OTHERS["learned dog"][i]);
  }
});

test("the run with nothing to learn ends at the chosen step until the reader has guessed", async () => {
  const { state, predict } = page.steps[4];
  const before = await viewOf("learned", state as object);
  const answered = await viewOf("learned", state as object, { ...(predict!.show as object), guess4: 50 });
  const points = (view: typeof before) =>
    page.picture(view as never).match(/data-name="surprise".*?<\/g>/s)![0];
  expect(points(before).match(/<circle/g)).toHaveLength(1);
  expect(points(answered).match(/<circle/g)!.length).toBe(4);
});

test("the text says that the surprise falls before the share rises, as the table has it", async () => {
  const view = await viewOf("learned", page.steps[1].state as object);
  const { surprises, shares, steps } = view.numbers as LearnedNumbers;
  const at = steps.indexOf(200);
  // Nearly half of the surprise is gone while the share has hardly moved.
  expect(surprises[at] / surprises[0]).toBeLessThan(0.6);
  expect(shares[at] - shares[0]).toBeLessThan(0.1);
  expect(shares.at(-1)! - shares[steps.indexOf(600)]).toBeGreaterThan(0.2);
  const text = textOf(page.steps[1].text(view as never));
  expect(text).toContain("The surprise falls first");
  expect(text).toContain("a mean over many sentences");
  expect(text).not.toContain("neither comes first");
});

test("queries and keys: the angle of the question and its answer, the scores, and nothing of the answer before the guess", async () => {
  const { state, predict } = page.steps[2];
  const viewAt = async (...changes: object[]) =>
    (await viewOf("learned", ...(changes as never[]))) as unknown as LearnedView;
  const [before, after] = [await viewAt(state), await viewAt(state, predict!.show)];
  const { planes, was, animal, scores } = after.numbers;
  const [first, last] = [planes[0], planes[planes.length - 1]];
  expect(predict!.question).toContain(`${angleOf(first.keys[animal])}° to the query`);
  expect(angleOf(last.keys[animal])).toBe(39);
  for (const [at, { length, keys }] of [first, last].entries())
    for (const [j, [along]] of keys.entries()) expect((along * length) / 4).toBeCloseTo(scores[at][j], 2);
  for (const wide of [true, false]) {
    expect(plane({ ...before, wide })).toContain("cat: 85°");
    expect(plane({ ...before, wide })).not.toContain("39°");
    expect(plane({ ...after, wide })).toContain("cat: 39°");
  }
  const above = ({ keys }: typeof first) => keys.filter((key, j) => j !== animal && angleOf(key) > 90).length;
  expect([above(first), above(last), last.keys.length - 1]).toEqual([3, 8, was]);
  expect(textOf(predict!.result(after as never))).toContain(
    "Of the 9 other keys, 8 are at more than 90° now, and 3",
  );
  // In the sentence of two animals, the key of the second one stays away.
  const { planes: pair } = (await viewAt(page.steps[3].state, { shown: "plane" })).numbers;
  expect([2, 7].map((j) => angleOf(pair[pair.length - 1].keys[j]))).toEqual([37, 112]);
});

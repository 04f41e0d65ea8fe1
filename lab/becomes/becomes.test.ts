import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { tensor } from "../../src/index.ts";
import { EncoderBlock } from "../../src/nn/index.ts";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { type Becomes, type BecomesNumbers, pathNumbers } from "./compute.ts";
import { layerOf } from "./layer.ts";
import { LAYER_STEPS } from "./layer-steps.ts";
import { page } from "./page.ts";
import type { BecomesView } from "./shown.ts";
import { cosines } from "./vectors.ts";

const { picture } = page;
const { minilm } = JSON.parse(
  readFileSync(new URL("../../tests/golden/evidence/evidence.json", import.meta.url), "utf8"),
);
const sharesView = async (shares: readonly number[]) =>
  (await viewOf("becomes", { shares } as never)) as unknown as BecomesView;
const drag = (view: BecomesView, token: number, share: number) => {
  const { left, width } = barOf(picture(view), token);
  const gesture = { first: true };
  const at = (x: number) => page.drags.share.move(view, String(token), { x, y: 0 }, gesture)!;
  at(left);
  return at(left + share * width);
};
/** Where the track of a bar is. */
const barOf = (svg: string, token: number) => {
  const bar = svg.slice(svg.indexOf(`data-drag="share:${token}"`));
  const [, left, width] = /<rect x="([\d.]+)"[^>]*width="([\d.]+)"[^>]*class="fhover"/.exec(bar)!.map(Number);
  return { left, width };
};

test("context vector and word are PyTorch's, with the model's shares and with others", async () => {
  expect(minilm.context.length).toBeGreaterThan(5);
  for (const { shares, point, length, cosines: wanted, near } of minilm.context) {
    const context = (await sharesView(shares)).numbers.context!;
    const numbers = [...context.context, context.length, ...context.cosines, ...context.near];
    for (const [i, value] of [...point, length, ...wanted, ...near].entries())
      expect(Math.abs(numbers[i] - value), `${shares}: number ${i}`).toBeLessThan(1e-4);
  }
});

test("shares have a sum of 1 after each drag and key, the others keep their proportions, a drag goes back to its start", async () => {
  for (const wide of [true, false])
    for (const [token, share] of [
      [7, 0.81],
      [1, 0],
      [0, 1],
    ]) {
      const view = { ...(await sharesView([])), wide };
      const before = view.numbers.context!.shares;
      const { state, numbers } = await viewOf("becomes", drag(view, token, share) as never);
      const after = (numbers as BecomesNumbers).context!.shares;
      expect(after.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
      expect(after[token]).toBeCloseTo(Math.min(share, 0.999), 3);
      const [a, b] = token === 0 ? [1, 6] : [0, 6];
      expect(after[a] / after[b]).toBeCloseTo(before[a] / before[b], 1);
      expect(page.check(state as never), "the address keeps it").toEqual(state);
    }
  const moved = await sharesView(drag(await sharesView([]), 7, 0.5).shares!);
  const pressed = page.drags.share.key!(moved, "7", -10, 0)!.shares!;
  expect(pressed[7]).toBeCloseTo(40, 2);
  expect(pressed.reduce((a, b) => a + b)).toBeCloseTo(100, 6);
  // All of one word, by address: the others share the rest alike.
  const all = await sharesView([0, 100, 0, 0, 0, 0, 0, 0]);
  expect(page.drags.share.key!(all, "1", -10, 0)!.shares!.map((x) => Number(x.toFixed(2)))).toEqual([
    1.43, 90, 1.43, 1.43, 1.43, 1.43, 1.43, 1.43,
  ]);
});

test("an address may have any shares: their sum becomes 100, and of zeros only the model's own are shown", () => {
  const sharesOf = (shares: number[]) => page.check({ ...page.initial, shares }).shares;
  expect(sharesOf([1, 1, 1, 1, 1, 1, 1, 1])).toEqual(Array(8).fill(12.5));
  for (const shares of [
    [0, 0, 0, 0, 0, 0, 0, 0],
    [1, 2],
    [50, 50, 50],
  ])
    expect(sharesOf(shares)).toEqual([]);
});

test("the text of the first stop, its picture and its sentence are from the numbers, and follow a drag", async () => {
  const view = await sharesView([]);
  const text = textOf(page.steps[0].text(view));
  for (const part of [
    "takes 80 % from “time”",
    "0.80 ×",
    "Give “fruit” 81 %",
    "cosine of the two is −0.08",
    "of 0.398 with “runs”",
    "0.428",
  ])
    expect(text.replaceAll("\u202f", " ").replaceAll("\u00a0", " ")).toContain(part);
  const moved = await sharesView(drag(view, 7, 0.81).shares!);
  const { near, cosines: now, shares } = moved.numbers.context!;
  // Less of “time”: away from runs, towards insect.
  expect(near[0]).toBeLessThan(view.numbers.context!.near[0]);
  expect(near[1]).toBeGreaterThan(view.numbers.context!.near[1]);
  expect(textOf(page.caption(moved))).toMatch(
    /from “fruit”\. .*: 0\.14 in “time flies”, 0\.97 in “fruit flies”/,
  );
  expect(now.map((x) => x.toFixed(2))).toEqual(["0.14", "0.97"]);
  for (const wide of [true, false])
    for (const number of [
      ...shares.map((x) => `${(100 * x).toFixed(1)} %`),
      ...near.map((x) => x.toFixed(3)),
    ])
      expect(picture({ ...moved, wide })).toContain(`>${number}<`);
  expect(
    page
      .table(moved)
      .rows.map(([, share]) => share)
      .slice(0, 8),
  ).toEqual(shares.map((x) => Number(x.toFixed(4))));
  expect(textOf(page.caption(await sharesView(Array(8).fill(12.5))))).toContain("the same from all eight");
});

test("soars: the mean of its pieces on the picture, its last piece in the text, as PyTorch has it", async () => {
  const view = (await viewOf("becomes", page.steps[2].state as never)) as BecomesView;
  const text = textOf(page.steps[2].text(view));
  expect(text).toContain("0.157 and 0.105");
  expect(text).toContain(minilm.becomes["##ars"].map((x: number) => x.toFixed(3)).join(" and "));
});

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
    // What is below 0 has no color of keys.
    expect(drawn).not.toContain('class="fk"');
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

import { expect, test } from "vitest";
import { explain, explainMatmul, zeros } from "../../src/index.ts";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { pictureOf } from "../frame/render.ts";
import { number as formatted, superscript } from "../frame/words.ts";
import type { BeforeNumbers } from "./compute.ts";
import { paceOperations } from "./letters.ts";
import { page } from "./page.ts";
import { reachOf } from "./reach.ts";

test("the state that asks is drawn in the color of queries, and what is below 0 in no color of another thing", async () => {
  const picture = page.picture((await viewOf("before", { row: 2 })) as never);
  expect(picture).toMatch(/class="fq"/);
  expect(picture).not.toMatch(/class="f[kv]"/);
});

test("a phone shows the loss and the state that asks, too", async () => {
  const view = await viewOf("before", { row: 2 });
  const narrow = pictureOf(page as never, { ...view, wide: false });
  for (const name of ["weights", "loss", "states"]) expect(narrow).toContain(`data-name="${name}"`);
  expect(narrow).toContain("the query: the state before letter 3");
});

test("a word that cannot be read is named, and another is read instead", async () => {
  for (const word of ["zzz", "hello1", "", "🙂"]) {
    const view = await viewOf("before", { word });
    expect((view.numbers as BeforeNumbers).word).toBe("chageb");
    expect(textOf(page.caption(view as never))).toContain(`“${word}” is not six letters from a to h`);
  }
});

test("the second task accepts a network that fails, and not a word of one letter", async () => {
  const view = await viewOf("before", { steps: 120, at: 120 });
  const numbers = view.numbers as BeforeNumbers;
  const withWord = (word: string) =>
    ({
      ...view,
      state: { ...view.state, word },
      numbers: { ...numbers, word, losses: Array(120).fill(0), frames: [] },
    }) as never;
  expect(page.tasks[1].reached(withWord("aabbcc"))).toBe(true);
  expect(page.tasks[1].reached(withWord("aaaaaa"))).not.toBe(true);
});

test("the first of 32 words is lost in the gradient of a recurrent network, and not in attention's, at every seed", () => {
  for (const seed of [1, 2, 40, 333, 9999]) {
    const { recurrent, attention } = reachOf(seed);
    // Over all eight draws: less than a millionth, and no less than a tenth of an equal part.
    expect(recurrent.high[0], `${seed}`).toBeLessThan(1e-6);
    expect(attention.low[0], `${seed}`).toBeGreaterThan(1 / 320);
    for (const { low, middle, high } of [recurrent, attention])
      for (let i = 0; i < 32; i++) {
        expect(low[i]).toBeLessThanOrEqual(middle[i]);
        expect(middle[i]).toBeLessThanOrEqual(high[i]);
      }
  }
});

test("the picture of the reach has the recurrent network only with the answer, and the text names its numbers", async () => {
  const [before, after] = await Promise.all(
    [{ reach: 1 }, { reach: 2 }].map((change) => viewOf("before", change)),
  );
  expect(page.picture(before as never)).not.toContain('data-name="recurrent"');
  expect(page.picture(after as never)).toContain('data-name="recurrent"');
  expect(page.table(before as never).columns).not.toContain("recurrent network");
  const { reach } = after.numbers as BeforeNumbers;
  const power = Math.floor(Math.log10(reach!.recurrent.middle[0]));
  expect(textOf(page.steps[5].predict!.result(after as never))).toContain(`·10${superscript(power)}`);
});

test("another seed is another network; the losses of earlier seeds stay in the picture, and the text counts where letters look", {
  timeout: 240_000,
}, async () => {
  const first = await viewOf("before", { steps: 120, at: 120, seed: 2 });
  const second = await viewOf("before", { steps: 120, at: 120, seed: 6 });
  const [a, b] = [first, second].map((view) => view.numbers as BeforeNumbers);
  expect(b.losses).not.toEqual(a.losses);
  expect(b.earlier).toContainEqual(a.losses);
  for (const view of [first, second]) {
    const { weights, wrote } = (view.numbers as BeforeNumbers).frames.at(-1)!;
    expect(wrote).toBe("begahc");
    // What the answer to the prediction says of every seed.
    expect(weights[0][5]).toBeGreaterThan(0.5);
    const right = weights.filter((row, i) => row.indexOf(Math.max(...row)) === 5 - i).length;
    expect(textOf(page.steps[2].text(view as never))).toContain(
      right === 6 ? "Every letter gives the most" : `${right} of the six letters give the most`,
    );
  }
});

test("the race has its times only once it was run, keeps them, and the text names the numbers of the table", async () => {
  const before = await viewOf("before", { pace: 1 });
  const textAt = (view: typeof before) => textOf(page.steps[4].text(view as never));
  expect(page.picture(before as never)).toContain("press Race");
  expect(textAt(before)).not.toContain(" ms");
  // By hand: 4 · 1,024² · 64 + 8 · 1,024 · 64² over 12 · 1,024 · 64².
  expect(textAt(before)).toContain("attention has 6 times as many operations");
  const after = await viewOf("before", { pace: 2 });
  const table = page.table(after as never).rows;
  const [, recurrent, attention] = table[3].map(Number);
  expect(Number.isFinite(recurrent + attention)).toBe(true);
  for (const name of ["recurrent", "attention"])
    expect(page.picture(after as never)).toContain(`data-name="${name}"`);
  // The table rounds them to three digits, the text to two.
  const { pace } = after.numbers as BeforeNumbers;
  for (const ms of [pace?.recurrent[3] ?? Number.NaN, pace?.attention[3] ?? Number.NaN]) {
    expect(textAt(after)).toContain(`${formatted(ms)} ms`);
    expect(textOf(page.caption(after as never))).toContain(`${formatted(ms)} ms`);
  }
  // The operations that the formula counts are those that heed plans: two products of weights, and four of the layer.
  const [n, d] = [1024, 64];
  const x = zeros([n, d]);
  const planned = explain(x, x, x).operations + 4 * explainMatmul(x, zeros([d, d])).operations;
  expect(paceOperations(n).attention).toBe(planned);
  expect(paceOperations(n).recurrent).toBe(6 * explainMatmul(x, zeros([d, d])).operations);
  // Back at the stop, the measured times are still there.
  expect(page.table((await viewOf("before", { pace: 1 })) as never).rows).toEqual(table);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { textOf } from "../../ui/text-of.ts";
import { decodeFloat16 } from "../head/packed.ts";
import { CAPTURE } from "./captures.ts";
import { compute, type Shapes } from "./compute.ts";
import { ASKED } from "./draw-translation.ts";
import { page } from "./page.ts";

const numbers = (change: Partial<Shapes>) => compute(page.check({ ...page.initial, ...change }));

test("weights are queries × keys, the output has the rows of Q and the columns of V", async () => {
  const size = fc.integer({ min: 1, max: 24 });
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(size, size, size, size),
      fc.integer({ min: 1, max: 3 }),
      async ([n, m, dk, dv], h) => {
        const got = await numbers({ b: 2, h, n, m, dk, dv, self: false });
        const lead = h === 1 ? [2] : [2, h];
        expect(got.weights).toEqual([...lead, n, m]);
        expect(got.output).toEqual([...lead, n, dv]);
        expect(got.operations).toBe(2 * 2 * h * n * m * (dk + dv));
        expect(got.bytes).toBe(4 * 2 * h * n * m);
      },
    ),
    { numRuns: 30 },
  );
});

test("keys of another length and a V turned over are refused with the library's own message", async () => {
  expect((await numbers({ wrong: "key", kd: 48 })).error).toMatch(/same head size dk, got 64 and 48/);
  expect((await numbers({ wrong: "value" })).error).toMatch(/same length Nk, got 10 and 64/);
  expect(await numbers({ wrong: "value", dv: 10 })).toMatchObject({ error: "", output: [32, 10, 10] });
});

test("with swapped axes nothing is refused, and heads look at heads", async () => {
  expect(await numbers({ wrong: "axes", h: 8 })).toMatchObject({
    error: "",
    weights: [32, 10, 8, 8],
    output: [32, 10, 8, 64],
  });
});

test("a layer has the same parameters with any number of heads, and refuses a number that does not divide", async () => {
  for (const h of [1, 2, 4, 8, 16]) {
    const { layer } = await numbers({ view: "layer", h });
    expect(layer).toMatchObject({
      parameters: 4 * 64 * 64,
      query: [h, 10, 64 / h],
      output: [10, 64],
      error: "",
    });
    expect(layer.operations).toBe(4 * 2 * 10 * 64 * 64 + 4 * 10 * 10 * 64);
  }
  expect((await numbers({ view: "layer", h: 7 })).layer.error).toMatch(/numHeads must divide embedDim/);
});

test("the label of n is inside the picture of a phone however wide Q is", async () => {
  for (const dk of [1, 64, 128]) {
    const state = page.check({ ...page.initial, n: 40, dk });
    const picture = page.picture({ state, numbers: await compute(state), wide: false, changed: true });
    const [, x] = /<text x="([\d.-]+)"[^>]*>n = 40</.exec(picture) ?? [];
    // About 40 units of letters end there.
    expect(Number(x)).toBeGreaterThanOrEqual(44);
  }
});

test("the translator's call has the sizes of its words, and each row is the softmax of q · k / √32", async () => {
  const { translation, weights } = await numbers({ view: "translation", n: 3 });
  expect(weights).toEqual([1, 10, 10]);
  const rows = translation.rows.length;
  const [q, k] = [CAPTURE.query, CAPTURE.key].map(decodeFloat16);
  for (let i = 0; i < rows; i++) {
    const scores = translation.columns.map((_, j) =>
      Array.from({ length: 32 }, (_, c) => q[32 * i + c] * k[32 * j + c]).reduce((a, b) => a + b, 0),
    );
    const powers = scores.map((score) => Math.exp((score - Math.max(...scores)) / Math.sqrt(32)));
    const sum = powers.reduce((a, b) => a + b, 0);
    for (const [j, power] of powers.entries())
      expect(Math.abs(translation.weights[i][j] - power / sum)).toBeLessThan(1e-5);
  }
  // The row of "Hund" looks at the English word of "nicht", which comes next.
  const { row, column } = ASKED;
  expect([translation.rows[row], translation.rows[row + 1], translation.columns[column]]).toEqual([
    "Hund",
    "nicht",
    "not",
  ]);
  expect(translation.weights[row][column]).toBeGreaterThan(0.9);
});

test("the caption beside the question about the heads does not answer it, and a phone has the counts of a call", async () => {
  const state = page.check({ ...page.initial, ...(page.steps[5].state as object) });
  const caption = page.caption({ state, numbers: await compute(state), wide: true, changed: false });
  expect(textOf(caption)).toMatch(/16,384 parameters\.$/);
  const call = { state: page.initial, numbers: await compute(page.initial), wide: false, changed: false };
  expect(page.picture(call)).toMatch(/12.5 KiB if kept.*819,200 multiplications/s);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { compute } from "./compute.ts";
import { page } from "./page.ts";

const numbers = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 8, maxLength: 8 });

test("the steps that are written out lead to heed's shares and outputs", () => {
  fc.assert(
    fc.property(numbers, numbers, numbers, fc.boolean(), fc.boolean(), (q, k, v, causal, big) => {
      const n = compute({ ...page.initial, q, k, v, causal, big });
      for (let i = 0; i < 4; i++) {
        for (let j = 0; j < 4; j++) expect(n.shares[i][j]).toBeCloseTo(n.exps[i][j] / n.sums[i], 9);
        for (let d = 0; d < 2; d++) {
          const want = n.shares[i].reduce((sum, share, j) => sum + share * v[j * 2 + d], 0);
          expect(n.output[i][d]).toBeCloseTo(want, 9);
        }
      }
    }),
  );
});

test("without the subtraction, scores of 1,000 make a row of NaN", () => {
  const { exps, shares, output } = compute({ ...page.initial, big: true, unsafe: true });
  expect(exps.flat().every((x) => x === Number.POSITIVE_INFINITY)).toBe(true);
  expect([...shares.flat(), ...output.flat()].every(Number.isNaN)).toBe(true);
});

test("the page's own example: 10 of 19 points take 96 %", () => {
  const { dots, shares } = compute(page.initial);
  expect(dots[3]).toEqual([10, 1, 5, 3]);
  expect(shares[3][0]).toBeCloseTo(0.963, 2);
});

test("the text on the subtraction says that e^1000 overflows, with and without the subtraction", async () => {
  for (const unsafe of [true, false]) {
    const view = await viewOf("steps", { ...page.steps[4].state, unsafe });
    expect(textOf(page.steps[4].text(view as never))).toMatch(/it becomes ∞, and ∞ ÷ ∞ is NaN/);
  }
});

test("the question about the shares names the reader's own word", async () => {
  const view = await viewOf("steps", { ownText: "old kings love young queens" });
  const { question } = page.steps[1].predict!;
  expect((question as (view: unknown) => string)(view)).toContain("“young” has the scores 10, 1, 5 and 3");
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { matmul } from "../../src/nn/index.ts";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { textOf } from "../../ui/text-of.ts";
import { percent } from "../frame/words.ts";
import { compute, type StepsNumbers } from "./compute.ts";
import { page } from "./page.ts";
import { integerText, short } from "./picture.ts";

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

/** Numbers of a box of the flow, as the picture writes them. */
const boxOf = (drawn: string, name: string): string[] => {
  const [, after] = drawn.split(`<g data-name="${name}">`);
  // A box ends where the next named group or the title of the next box begins.
  return [
    ...after.split('<g data-name="')[0].matchAll(/<text[^>]*class="mid mono[^"]*"[^>]*>([^<]*)<\/text>/g),
  ].map(([, content]) => content.replace("&lt;", "<").replace("&gt;", ">"));
};

test("the flow's boxes hold what the library computes from X and the three matrices, wherever they are dragged", async () => {
  const integers = (length: number) =>
    fc.array(fc.integer({ min: -9, max: 9 }), { minLength: length, maxLength: length });
  await fc.assert(
    fc.asyncProperty(
      integers(8),
      integers(4),
      integers(4),
      integers(4),
      fc.boolean(),
      async (x, wq, wk, wv, causal) => {
        const view = await viewOf("steps", { flow: true, x, wq, wk, wv, causal });
        const drawn = page.picture(view as never);
        const [q, k, v] = [wq, wk, wv].map((w) =>
          matmul(tensor(Float64Array.from(x), [4, 2]), tensor(Float64Array.from(w), [2, 2])),
        );
        const { output, weights } = scaledDotProductAttention(q, k, v, {
          returnWeights: true,
          isCausal: causal,
        });
        for (const [name, numbers] of Object.entries({ q, k, v }))
          expect(boxOf(drawn, name), name).toEqual([...numbers.toFloat64()].map((n) => integerText(n + 0)));
        expect(boxOf(drawn, "x")).toEqual(x.map(integerText));
        expect(boxOf(drawn, "scores")).toEqual(
          [...matmul(q, k.transpose()).toFloat64()].map((n) => short(n + 0)),
        );
        expect(boxOf(drawn, "shares")).toEqual(
          [...weights.toFloat64()].map((share) => (share > 0 ? percent(share) : "0")),
        );
        expect(boxOf(drawn, "output")).toEqual([...output.toFloat64()].map(short));
      },
    ),
    { numRuns: 40 },
  );
});

test("a number of X moves a row of Q, K and V, and the narrow flow shows the chosen word's numbers", async () => {
  const before = await viewOf("steps", { flow: true });
  const { x } = page.drags;
  const after = await viewOf("steps", { flow: true, ...x.key!(before as never, "6", 0, 1) });
  const changed = (name: "q" | "k" | "v") =>
    [0, 1, 2, 3].filter((i) =>
      [0, 1].some(
        (d) => (before.state[name] as number[])[2 * i + d] !== (after.state[name] as number[])[2 * i + d],
      ),
    );
  expect([changed("q"), changed("k"), changed("v")]).toEqual([[3], [3], [3]]);
  const narrow = page.picture({ ...before, wide: false } as never);
  const { shares, output } = before.numbers as StepsNumbers;
  for (const share of shares[3]) expect(narrow).toContain(`>${percent(share)}<`);
  expect(narrow).toContain(`(${output[3].map(short).join(", ")})`);
});

test("the text names the slider, which has the answer, after the question", async () => {
  const { text, predict } = page.steps[1];
  const [before, after] = [
    await viewOf("steps", page.steps[1].state as object),
    await viewOf("steps", page.steps[1].state as object, predict!.show as object),
  ];
  expect(textOf(text(before as never))).not.toContain("slider");
  expect(textOf(predict!.result(after as never))).toContain("slider");
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { style } from "../frame/style.ts";
import { eight, manyRows } from "./compute.ts";
import { jacobianNorm } from "./jacobian.ts";
import { page, positionOf, timesAt } from "./page.ts";
import { bound } from "./picture.ts";

/** ‖diag(p) − p·pᵀ‖, cell by cell. */
function naive(p: readonly number[]): number {
  let sum = 0;
  for (const [i, a] of p.entries())
    for (const [j, b] of p.entries()) {
      const cell = i === j ? a * p.reduce((rest, c, k) => (k === i ? rest : rest + c), 0) : a * b;
      sum += cell * cell;
    }
  return Math.sqrt(sum);
}

test("the norm of softmax's derivative is that of the matrix, and of equal shares √(n − 1)/n", () => {
  const row = fc.array(fc.double({ min: 1e-12, max: 1, noNaN: true }), { minLength: 2, maxLength: 12 });
  fc.assert(
    fc.property(row, (numbers) => {
      const sum = numbers.reduce((a, b) => a + b, 0);
      const p = numbers.map((x) => x / sum);
      const [got, want] = [jacobianNorm(p), naive(p)];
      expect(Math.abs(got - want)).toBeLessThanOrEqual(1e-12 * want);
    }),
  );
  expect(jacobianNorm(Array(10).fill(0.1))).toBeCloseTo(0.3, 12);
});

test("a saturated row keeps its derivative, where the closed form cancels to 0", () => {
  const p = [1, 1e-20, 1e-30];
  expect(jacobianNorm(p)).toBeCloseTo(2e-20, 25);
  const [s2, s3] = [2, 3].map((power) => p.reduce((sum, x) => sum + x ** power, 0));
  expect(s2 - 2 * s3 + s2 * s2).toBe(0);
});

// Means over 200,000 independent rows of 10 keys, d_k = 64 (NumPy, float64): multiplier, entropy, largest weight, gradient norm, share of
// rows with a weight above 0.99; then the relative standard error of a mean over 2,000 rows. The anchors that were here before came from
// one draw of 2,000 rows and were up to 17 % higher.
const ANCHORS = [
  [0, Math.LN10, 0.1, 0.3, 0, 0.0001],
  [0.1, 2.298, 0.1162, 0.3009, 0, 0.0003],
  [1, 1.925, 0.3195, 0.3471, 0, 0.002],
  [2, 1.34, 0.5296, 0.3418, 0.0011, 0.007],
  [5, 0.5721, 0.7858, 0.226, 0.1517, 0.017],
  [10, 0.2752, 0.8915, 0.1335, 0.4399, 0.028],
  [20, 0.1332, 0.9458, 0.07228, 0.681, 0.043],
  [50, 0.05191, 0.9785, 0.03013, 0.8631, 0.071],
  [100, 0.02559, 0.9893, 0.01518, 0.9301, 0.102],
] as const;

test("2,000 rows have the means of 200,000, within four standard errors, whatever the seed", () => {
  for (const seed of [1, 2])
    for (const [times, entropy, largest, gradient, settled, error] of ANCHORS) {
      const rows = manyRows(times, 10, seed);
      const near = (got: number, want: number, relative: number) =>
        expect(Math.abs(got - want) / want, `× ${times}: ${got} for ${want}`).toBeLessThan(relative);
      near(rows.entropy, entropy, 4 * error + 1e-3);
      near(rows.gradient, gradient, 4 * error + 1e-3);
      near(rows.largest, largest, 0.03);
      expect(Math.abs(rows.settled - settled)).toBeLessThan(0.045);
    }
});

test("at × 100 half of the gradients are of the order of 10⁻¹⁸, and a few are 0.5", () => {
  const { quartiles, maximum } = manyRows(100, 10, 1);
  expect(Math.log10(quartiles[1])).toBeLessThan(-15);
  expect(Math.log10(quartiles[1])).toBeGreaterThan(-21);
  expect(maximum).toBeGreaterThan(0.49);
});

test("the gradient of the largest share is p·(δ − p)", () => {
  const { shares, gradient, top } = eight([0.13, -0.13, 0.64, 0.1, -0.54, 0.36, 1.3, 0.95], 1);
  for (const [i, share] of shares.entries())
    expect(gradient[i]).toBeCloseTo(shares[top] * ((i === top ? 1 : 0) - share), 12);
});

test("positions of the slider and what they multiply by are each other's inverse", () => {
  for (const position of [0, 10, 20, 45, 70, 120])
    expect(positionOf(timesAt(position))).toBeCloseTo(position, 1);
  expect([timesAt(20), timesAt(70), timesAt(120)]).toEqual([1, 10, 100]);
});

test("the gradient of the largest share keeps its digits at × 100: a row of gradients adds up to 0", () => {
  const { gradient, top } = eight([0.13, -0.13, 0.64, 0.1, -0.54, 0.36, 1.3, 0.95], 100);
  // e^(−35)·(1 + smaller terms); 1 − p was rounded to 6.661e-16.
  expect(gradient[top] / Math.exp(-35)).toBeCloseTo(1, 10);
  expect(Math.abs(gradient.reduce((a, b) => a + b, 0))).toBeLessThan(1e-30);
});

test("what half of the rows are below is above their median", () => {
  expect(bound(1.28e-18)).toBe("10⁻¹⁷");
  expect(bound(0.25)).toBe("0.250");
});

test("rows are independent: none has the keys of another, and another seed has other rows", () => {
  const [first, second] = [1, 2].map((seed) => manyRows(1, 10, seed));
  expect(new Set(first.logs).size).toBeGreaterThan(1990);
  expect(first.entropy).not.toBe(second.entropy);
});

test("the entropy that the second task asks for is in the picture, wide and narrow", async () => {
  const view = await viewOf("saturation", page.steps[3].state as never);
  for (const wide of [true, false])
    expect(page.picture({ ...view, wide } as never)).toContain("mean entropy");
});

test("a phone has each share and each gradient as a number", async () => {
  const view = await viewOf("saturation", { times: 8 });
  const picture = page.picture({ ...view, wide: false } as never);
  expect(picture).toContain(">0.5\u202f%<");
  expect(picture).not.toContain("≈");
  const gradient = /data-name="gradient">(.*?)<\/g>/.exec(picture)![1];
  expect(gradient.match(/<text/g)).toHaveLength(8);
  expect(gradient).toContain(">−0.053<");
});

test("gradients have no color of shares", () => {
  expect(style(":root")).toContain("svg .dots{stroke:var(--third)");
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { eight, manyRows } from "./compute.ts";
import { jacobianNorm } from "./jacobian.ts";
import { positionOf, timesAt } from "./page.ts";

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

// Appendix B of the design: 10 keys, d_k = 64, 2,000 rows. Its last rows are of one draw; the spread of a mean over 2,000
// rows is 3 to 6 % there, so the tolerance grows with the multiplier.
const ANCHORS = [
  [0, Math.LN10, 0.1, 0.3, 0],
  [0.1, 2.3, 0.116, 0.301, 0],
  [1, 1.92, 0.321, 0.346, 0],
  [2, 1.34, 0.529, 0.339, 0.003],
  [5, 0.58, 0.781, 0.228, 0.157],
  [10, 0.284, 0.887, 0.137, 0.433],
  [20, 0.141, 0.942, 0.076, 0.668],
  [50, 0.057, 0.976, 0.033, 0.857],
  [100, 0.03, 0.987, 0.018, 0.924],
] as const;

test("2,000 rows have the entropy, largest weight, gradient and share of settled rows of the anchors", () => {
  for (const [times, entropy, largest, gradient, settled] of ANCHORS) {
    const rows = manyRows(times, 10);
    const near = (got: number, want: number, relative: number) =>
      expect(Math.abs(got - want) / want, `× ${times}: ${got} for ${want}`).toBeLessThan(relative);
    near(rows.entropy, entropy, times <= 2 ? 0.03 : times <= 10 ? 0.09 : 0.25);
    near(rows.largest, largest, 0.03);
    near(rows.gradient, gradient, times <= 2 ? 0.03 : times <= 10 ? 0.09 : 0.25);
    expect(Math.abs(rows.settled - settled)).toBeLessThan(0.03);
  }
});

test("at × 100 half of the gradients are of the order of 10⁻¹⁸, and a few are 0.5", () => {
  const { quartiles, maximum } = manyRows(100, 10);
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

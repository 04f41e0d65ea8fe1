import { expect, it } from "vitest";
import { type FormulaSizes, forward } from "./forward.ts";
import { finiteMask, unscaled, withoutMaximum } from "./textbook.ts";

const sizes: FormulaSizes = { Nq: 2, Nk: 3, dk: 4, dv: 1 };
const q = Float64Array.from({ length: 8 }, (_, i) => Math.sin(i + 1));
const k = Float64Array.from({ length: 12 }, (_, i) => Math.cos(3 * i));
const v = Float64Array.of(1, 2, 4);
const one: FormulaSizes = { Nq: 1, Nk: 2, dk: 1, dv: 1 };

it("where nothing is masked or large, all but the unscaled one agree with the formula", () => {
  const want = forward(q, k, v, sizes);
  for (const variant of [finiteMask, withoutMaximum])
    variant(q, k, v, sizes).output.forEach((x, i) => {
      expect(x).toBeCloseTo(want.output[i], 14);
    });
  const sharp = unscaled(q, k, v, sizes);
  expect(sharp.output).toEqual(forward(q, k, v, sizes, { scale: 1 }).output);
  expect(sharp.output[0]).not.toBeCloseTo(want.output[0], 3);
});

it("without the scale, weights of unit-variance vectors concentrate on one key", () => {
  const dk = 256;
  const many: FormulaSizes = { Nq: 1, Nk: 64, dk, dv: 1 };
  // Sums of 12 uniform numbers: close to a standard normal.
  let seed = 1;
  const uniform = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const normal = () => Array.from({ length: 12 }, uniform).reduce((a, b) => a + b, -6);
  const [query, key] = [dk, 64 * dk].map((n) => Float64Array.from({ length: n }, normal));
  const value = new Float64Array(64);
  expect(Math.max(...unscaled(query, key, value, many).weights)).toBeGreaterThan(0.95);
  expect(Math.max(...forward(query, key, value, many).weights)).toBeLessThan(0.5);
});

it("with −1e9 a fully masked row is the mean of the masked values", () => {
  const allowed = (i: number) => i !== 0;
  expect(finiteMask(q, k, v, sizes, { allowed }).output[0]).toBeCloseTo(7 / 3, 15);
  expect(forward(q, k, v, sizes, { allowed }).output[0]).toBe(0);
});

it("with −1e9 a masked key has more weight than a real score of −1e30", () => {
  const low = { q: Float64Array.of(1), k: Float64Array.of(-1e30, 5), v: Float64Array.of(10, 20) };
  const allowed = (_: number, j: number) => j === 0;
  expect(finiteMask(low.q, low.k, low.v, one, { allowed }).output[0]).toBe(20);
  expect(forward(low.q, low.k, low.v, one, { allowed }).output[0]).toBe(10);
});

it("with −1e9 NaN in a masked value reaches the output", () => {
  const allowed = (_: number, j: number) => j === 0;
  const value = Float64Array.of(1, Number.NaN);
  expect(finiteMask(q.slice(0, 1), k.slice(0, 2), value, one, { allowed }).output[0]).toBeNaN();
  expect(forward(q.slice(0, 1), k.slice(0, 2), value, one, { allowed }).output[0]).toBe(1);
});

it("without the maximum a score of 710 gives NaN, and one of −746 too", () => {
  for (const s of [710, -746]) {
    const [query, key, value] = [Float64Array.of(1), Float64Array.of(s, s), Float64Array.of(3, 5)];
    expect(withoutMaximum(query, key, value, one).output[0]).toBeNaN();
    expect(forward(query, key, value, one).output[0]).toBe(4);
  }
});

it("without the maximum a score of 709 still works", () => {
  const [query, key, value] = [Float64Array.of(1), Float64Array.of(709, 0), Float64Array.of(3, 5)];
  expect(withoutMaximum(query, key, value, one).output[0]).toBe(3);
});

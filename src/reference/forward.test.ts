import { describe, expect, it } from "vitest";
import { type FormulaSizes, forward } from "./forward.ts";
import { finiteMask, unscaled, withoutMaximum } from "./textbook.ts";

const sizes: FormulaSizes = { Nq: 3, Nk: 4, dk: 2, dv: 3 };
const q = Float64Array.from({ length: 6 }, (_, i) => Math.sin(i + 1));
const k = Float64Array.from({ length: 8 }, (_, i) => Math.cos(2 * i));
const v = Float64Array.from({ length: 12 }, (_, i) => i - 5);

it("one query over two keys gives the numbers computed by hand", () => {
  // Scores 1·ln 3 and 0 (scale 1): weights 3/4 and 1/4.
  const { output, weights, lse } = forward(
    Float64Array.of(1),
    Float64Array.of(Math.log(3), 0),
    Float64Array.of(8, 4),
    { Nq: 1, Nk: 2, dk: 1, dv: 1 },
  );
  expect(weights[0]).toBeCloseTo(0.75, 15);
  expect(weights[1]).toBeCloseTo(0.25, 15);
  expect(output[0]).toBeCloseTo(7, 14);
  expect(lse[0]).toBeCloseTo(Math.log(4), 15);
});

it("each row of weights sums to 1 and each weight is exp(s − lse)", () => {
  const { weights, lse } = forward(q, k, v, sizes);
  for (let i = 0; i < 3; i++) {
    let sum = 0;
    for (let j = 0; j < 4; j++) {
      const s = (q[2 * i] * k[2 * j] + q[2 * i + 1] * k[2 * j + 1]) / Math.SQRT2;
      expect(weights[4 * i + j]).toBeCloseTo(Math.exp(s - lse[i]), 14);
      sum += weights[4 * i + j];
    }
    expect(sum).toBeCloseTo(1, 15);
  }
});

it("a key that is not allowed is not read, NaN or not", () => {
  const broken = { k: k.slice().fill(Number.NaN, 6), v: v.slice().fill(Number.NaN, 9) };
  const masked = forward(q, k, v, sizes, { allowed: (_, j) => j < 3 });
  expect(forward(q, broken.k, broken.v, sizes, { allowed: (_, j) => j < 3 })).toEqual(masked);
});

it("a fully masked row returns zeros and lse −∞", () => {
  const { output, weights, lse } = forward(q, k, v, sizes, { allowed: (i) => i !== 1 });
  expect([...output.subarray(3, 6)]).toEqual([0, 0, 0]);
  expect([...weights.subarray(4, 8)]).toEqual([0, 0, 0, 0]);
  expect(lse[1]).toBe(-Infinity);
});

it("zero keys give zeros, and zero queries an empty result", () => {
  const none = new Float64Array(0);
  expect([...forward(q, none, none, { ...sizes, Nk: 0 }).output]).toEqual(new Array(9).fill(0));
  expect(forward(none, k, v, { ...sizes, Nq: 0 }).output).toHaveLength(0);
});

it("a head of size 0 gives all keys the same weight", () => {
  const none = new Float64Array(0);
  const { weights } = forward(none, none, v, { ...sizes, dk: 0 });
  expect([...weights]).toEqual(new Array(12).fill(0.25));
});

it("scores of ±10,000 do not overflow", () => {
  const { output, lse } = forward(Float64Array.of(1), Float64Array.of(1e4, -1e4), Float64Array.of(2, 3), {
    Nq: 1,
    Nk: 2,
    dk: 1,
    dv: 1,
  });
  expect(output[0]).toBe(2);
  expect(lse[0]).toBe(1e4);
});

it("NaN in a visible value reaches the output, even where its weight underflows to 0", () => {
  const { output, weights } = forward(
    Float64Array.of(1),
    Float64Array.of(0, -1e4),
    Float64Array.of(2, Number.NaN),
    { Nq: 1, Nk: 2, dk: 1, dv: 1 },
  );
  expect(weights[1]).toBe(0);
  expect(output[0]).toBeNaN();
});

it("an array of the wrong length is rejected by name", () => {
  expect(() => forward(q, k, v.subarray(1), sizes)).toThrow(
    /forward: v must hold Nk × dv = 12 numbers, got .* 11/,
  );
  expect(() => forward(q, k, v, { ...sizes, Nk: -1 })).toThrow(/Nk must be an integer ≥ 0, got -1/);
});

describe("the textbooks' variants", () => {
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
});

import * as fc from "fast-check";
import { ShapeError } from "heed";
import { expect, test } from "vitest";
import { linear } from "../../examples/universal-sentence-encoder/linear.ts";

test("y = x·W + b for one row", () => {
  const weight = Float32Array.of(1, 2, 3, 4, 5, 6); // [2, 3]
  const bias = Float32Array.of(10, 20, 30);
  expect([...linear(Float32Array.of(1, -1), 1, { weight, bias })]).toEqual([7, 17, 27]);
});

test("every size gives the exact sum rounded once, on edges of pairs, fours and panels", () => {
  const sizes = fc.tuple(
    fc.integer({ min: 0, max: 5 }),
    fc.integer({ min: 0, max: 9 }),
    fc.constantFrom(1, 2, 511, 512, 513, 1030),
  );
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 2 ** 30 }), ([rows, depth, width], seed) => {
      // Small integers: every sum is exact in float32.
      let state = seed;
      const next = () => ((state = (Math.imul(state, 1664525) + 1013904223) | 0) >>> 24) - 128;
      const x = Float32Array.from({ length: rows * depth }, next);
      const weight = Float32Array.from({ length: depth * width }, next);
      const bias = Float32Array.from({ length: width }, next);
      const y = linear(x, rows, { weight, bias });
      expect(y.length).toBe(rows * width);
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < width; j++) {
          let sum = bias[j];
          for (let k = 0; k < depth; k++) sum += x[i * depth + k] * weight[k * width + j];
          if (y[i * width + j] !== sum) expect(y[i * width + j]).toBe(sum);
        }
    }),
    { numRuns: 60 },
  );
});

test("sizes that do not fit are refused", () => {
  const map = { weight: new Float32Array(6), bias: new Float32Array(3) };
  expect(() => linear(new Float32Array(3), 1, map)).toThrow(ShapeError);
  expect(() => linear(new Float32Array(2), 1, { ...map, bias: new Float32Array(4) })).toThrow(ShapeError);
});

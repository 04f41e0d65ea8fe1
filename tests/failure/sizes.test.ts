/** Sizes larger than any array, or than 32-bit integers: typed errors before any work, or a slower correct method. */
import { configure, explain, scaledDotProductAttention, UnsupportedError } from "heed";
import { afterAll, beforeEach, expect, it } from "vitest";
import { restore } from "../support/backends/levels.ts";

beforeEach(() => void configure({ threads: 1, onWarning: () => {} }));
afterAll(restore);

/** [heads, N, d] of one row repeated: no memory, any length. */
const repeated = (N: number, d: number) => ({
  data: new Float32Array(d).fill(1),
  shape: [1, N, d],
  strides: [0, 0, 1],
});

it("an output larger than any array is rejected with its number of bytes", () => {
  for (const N of [2 ** 32, 2 ** 40]) {
    let error: unknown;
    try {
      scaledDotProductAttention(repeated(N, 4), repeated(2, 4), repeated(2, 4));
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error).toMatchObject({ code: "memory", fields: { requested: 16 * N } });
  }
});

it("keys and rows past 2^31 are not the kernels' to count", () => {
  const few = repeated(1, 4);
  for (const N of [2 ** 31 - 1, 2 ** 31 + 8, 2 ** 40]) {
    expect(explain(few, repeated(N, 4), repeated(N, 4)).backend).toBe("reference");
    expect(explain(repeated(N, 4), few, few).backend).toBe("reference");
  }
  expect(explain(few, repeated(2 ** 30, 4), repeated(2 ** 30, 4)).backend).toBe("wasm");
});

it("tables of one row and large heads are computed like any other", () => {
  const { output } = scaledDotProductAttention(repeated(9, 2 ** 18), repeated(9, 2 ** 18), repeated(9, 3));
  expect([...output.data]).toEqual(new Array(27).fill(1));
  const wide = scaledDotProductAttention(repeated(5, 4), repeated(5, 4), repeated(5, 2 ** 18));
  expect(wide.output.data.every((x) => x === 1)).toBe(true);
});

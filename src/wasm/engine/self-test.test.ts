/** The self-test accepts wide kernels only where every bit of every call agrees. */

import { expect, it } from "vitest";
import type { Result } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import { computeAll } from "../../backend/results.ts";
import { matmul } from "../../reference/matmul.ts";
import { forward } from "../../reference/problem-forward.ts";
import { backwardAgrees, forwardAgrees, matmulAgrees } from "./self-test.ts";

/** A kernel of both levels that is the reference, except that `change` may touch the wide one's n-th result. */
function tested(change: (n: number, output: Float32Array) => void): { passed: boolean; calls: number } {
  let calls = 0;
  const outputs = new Map<boolean, Float32Array>();
  const passed = forwardAgrees((problem: Problem, out: Result, level) => {
    const output = out.output as Float32Array;
    const masked = problem.mask !== undefined;
    if (!outputs.has(masked)) {
      computeAll(forward(problem, out));
      outputs.set(masked, output.slice());
    }
    output.set(outputs.get(masked) as Float32Array);
    if (level === "wide") change(calls++, output);
  });
  return { passed, calls };
}

it("equal kernels pass, with and without a mask", () => {
  const { passed, calls } = tested(() => {});
  expect(passed).toBe(true);
  expect(calls).toBeGreaterThanOrEqual(4);
});

it("a difference in the last bit of one number in one late call fails", () => {
  const { calls } = tested(() => {});
  for (const late of [0, 1, calls >> 1, calls - 1])
    for (const place of [0, 17, 96 * 64 - 1]) {
      const { passed } = tested((n, output) => {
        if (n === late) new Int32Array(output.buffer)[place] ^= 1;
      });
      expect(passed, `call ${late}, number ${place}`).toBe(false);
    }
});

it("NaN instead of a number, and −0 instead of 0, fail", () => {
  expect(tested((_, output) => output.fill(Number.NaN, 5, 6)).passed).toBe(false);
  expect(tested((n, output) => n === 3 && new Int32Array(output.buffer).fill(0x80000000, 9, 10)).passed).toBe(
    false,
  );
});

it("a difference in any bit of any gradient of the backward kernels fails", () => {
  const run = (change: (n: number, gradient: Float32Array) => void) => {
    let calls = 0;
    const passed = backwardAgrees((_, __, { dQuery, dKey, dValue }, level) => {
      [dQuery, dKey, dValue].forEach((x, n) => void x.fill(n + 1));
      if (level === "wide") change(calls++, [dQuery, dKey, dValue][calls % 3] as Float32Array);
    });
    return { passed, calls };
  };
  const { passed, calls } = run(() => {});
  expect([passed, calls >= 4]).toEqual([true, true]);
  for (const late of [0, 1, 2, calls - 3, calls - 2, calls - 1])
    expect(run((n, x) => n === late && x.fill(1.0000001, 100, 101)).passed).toBe(false);
});

it("products pass where all bits agree, with operands along K and across it; one bit in one late call fails", () => {
  let calls = 0;
  const tested = (change: (n: number, output: Int32Array) => void) => {
    calls = 0;
    return matmulAgrees((product, level) => {
      matmul(product);
      if (level === "wide") change(calls++, new Int32Array(product.out.buffer));
    });
  };
  expect(tested(() => {})).toBe(true);
  const all = calls;
  expect(all).toBeGreaterThanOrEqual(4);
  for (const late of [0, all >> 1, all - 1])
    for (const place of [0, 999, 50 * 40 - 1])
      expect(tested((n, output) => void (n === late && (output[place] ^= 1)))).toBe(false);
});

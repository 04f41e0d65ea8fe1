/**
 * The self-test of wide kernels: V8's revectorizer is experimental, so before the level is used its results must equal
 * those of the 128-bit kernel bit for bit. Where wide kernels are optimized at once, one call tests the code that later calls run, and
 * the second shows that a call leaves nothing behind that changes the next. Elsewhere the optimized code runs after 2 to 5 calls.
 */

import type { BackwardInputs, Gradients, Result } from "../../backend/contract.ts";
import { optimizesAtOnce } from "../../backend/levels.ts";
import { type Problem, resolve } from "../../backend/problem.ts";
import { allocateResult, type ProductInto, resolveProduct } from "../../backend/product.ts";
import { operandOf } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";

/** Calls of the wide kernel. */
const callCount = (): number => (optimizesAtOnce() ? 2 : 24);

/** Numbers for a test, the same on every run. */
export function sines(length: number, salt: number): Float32Array {
  const all = new Float32Array(length);
  for (let n = 0; n < length; n++) all[n] = Math.sin(n * 12.9898 + salt) * 3;
  return all;
}

/** True where the bits of all calls of the wide kernel are those of the relaxed one. */
export function wideAgrees(bitsOf: (level: "wide" | "relaxed") => Int32Array): boolean {
  const want = bitsOf("relaxed");
  return Array.from({ length: callCount() }, () => bitsOf("wide")).every((got) =>
    got.every((bits, n) => bits === want[n]),
  );
}

const numbers = (salt: number, shape: readonly number[]): Tensor =>
  new Tensor(sines(shape[0] * shape[1], salt), shape, "float32");

/** True where wide and relaxed kernels of attention agree to the bit. */
export function forwardAgrees(
  forward: (problem: Problem, out: Result, level: "wide" | "relaxed") => void,
): boolean {
  const [N, d] = [96, 64];
  const [q, k, v] = [1, 2, 3].map((salt) => numbers(salt, [N, d]));
  return [{}, { isCausal: true }].every((options) => {
    const problem = resolve("self-test", q, k, v, options);
    return wideAgrees((level) => {
      const output = new Float32Array(N * d);
      forward(problem, { output, lse: new Float32Array(N), batch: N * d, head: N * d, row: d }, level);
      return new Int32Array(output.buffer);
    });
  });
}

/** True where wide and relaxed backward kernels agree to the bit, over a full and an incomplete tile. */
export function backwardAgrees(
  backward: (
    problem: Problem,
    upstream: BackwardInputs,
    gradients: Gradients,
    level: "wide" | "relaxed",
  ) => void,
): boolean {
  const [N, d] = [224, 48];
  const [q, k, v, dOutput, output] = [1, 2, 3, 4, 5].map((salt) => numbers(salt, [N, d]));
  return [{}, { isCausal: true }].every((options) => {
    const problem = resolve("self-test", q, k, v, { ...options, scale: 0.02 });
    const { shape } = problem;
    const upstream = {
      dOutput: operandOf(shape, dOutput),
      output: operandOf(shape, output),
      lse: (_: number, __: number, row: number) => Math.log(row + 1),
    };
    return wideAgrees((level) => {
      const all = new Float32Array(3 * N * d);
      const [dQuery, dKey, dValue] = [0, 1, 2].map((n) => all.subarray(n * N * d, (n + 1) * N * d));
      backward(problem, upstream, { dQuery, dKey, dValue, masks: [], tables: new Map() }, level);
      return new Int32Array(all.buffer);
    });
  });
}

/** True where wide and relaxed products agree to the bit, with operands along K and across it, over one and a half blocks of K. */
export function matmulAgrees(multiply: (product: ProductInto, level: "wide" | "relaxed") => void): boolean {
  const [M, N, K] = [50, 40, 384];
  return [false, true].every((transposed) => {
    const a = numbers(1, transposed ? [K, M] : [M, K]);
    const b = numbers(2, transposed ? [K, N] : [N, K]);
    const bias = numbers(3, [N, 1]).reshape([N]);
    const options = { transposeA: transposed, transposeB: !transposed, bias };
    return wideAgrees((level) => {
      const { product, result } = allocateResult(resolveProduct("self-test", a, b, options));
      result.data.fill(0);
      multiply(product, level);
      return new Int32Array(result.data.slice().buffer);
    });
  });
}

/** Helpers that create inputs and compare results, for tests of laws. */
import { type AttentionOptions, type AttentionResult, scaledDotProductAttention, Tensor } from "heed";
import { expect } from "vitest";
import { difference } from "../oracles/tolerance.ts";
import { random } from "./random.ts";

/** A float32 tensor of standard normal numbers (times `spread`) from a seed. */
export function normal(seed: number, shape: readonly number[], spread = 1): Tensor {
  const r = random(seed);
  const size = shape.reduce((a, b) => a * b, 1);
  return new Tensor(
    Float32Array.from({ length: size }, () => spread * r.normal()),
    shape,
    "float32",
  );
}

/** A float32 tensor from a rule over its flat index. */
export function filledWith(shape: readonly number[], rule: (n: number) => number): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  return new Tensor(
    Float32Array.from({ length: size }, (_, n) => rule(n)),
    shape,
    "float32",
  );
}

/** The call, under a short name. */
export const attend = (q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions = {}): AttentionResult =>
  scaledDotProductAttention(q, k, v, options);

/** Fails unless two tensors have the same shape and the same bits. */
export function expectBits(got: Tensor, want: Tensor, what = ""): void {
  expect([what, got.shape, got.dtype]).toEqual([what, want.shape, want.dtype]);
  const [a, b] = [got, want].map((t) => (t.isContiguous() && t.offset === 0 ? t : t.contiguous()).data);
  for (let i = 0; i < want.size; i++)
    if (!Object.is(a[i], b[i])) expect.fail(`${what} element ${i}: ${a[i]}, expected exactly ${b[i]}`);
}

/** Fails unless two tensors have the same shape and differ by at most `tolerance`, relative to the larger of 1 and the value. */
export function expectNear(got: Tensor, want: Tensor, tolerance: number, what = ""): void {
  expect([what, got.shape]).toEqual([what, want.shape]);
  const b = want.toFloat64();
  const wrong = difference(got.toFloat64(), b, (i) => tolerance * Math.max(1, Math.abs(b[i])));
  if (wrong) expect.fail(`${what} ${wrong}`);
}

/** Fails unless both the output and lse have the same bits. */
export function expectSame(got: AttentionResult, want: AttentionResult, what = ""): void {
  expectBits(got.output, want.output, `${what} output`);
  expectBits(got.lse, want.lse, `${what} lse`);
}

/** Rows `from` to `to` of axis −2, as a view. */
export function rows(t: Tensor, from: number, to: number): Tensor {
  const axis = t.shape.length - 2;
  const shape = t.shape.map((n, i) => (i === axis ? to - from : n));
  return new Tensor(t.data, shape, t.dtype, t.strides, t.offset + from * t.strides[axis]);
}

/** Entries `from` to `to` of axis 0, as a view. */
export function entries(t: Tensor, from: number, to: number): Tensor {
  return new Tensor(
    t.data,
    [to - from, ...t.shape.slice(1)],
    t.dtype,
    t.strides,
    t.offset + from * t.strides[0],
  );
}

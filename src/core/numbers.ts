/** Arrays of float32 and float64 numbers on the CPU, for layers and their operations. */

import { resultArray, zeroArray } from "./arena.ts";
import { refuseValue } from "./errors.ts";
import { denseOf, type Tensor } from "./tensor.ts";

/** Dtypes that layers compute in. */
export type Precision = "float32" | "float64";
/** Arrays of these dtypes. */
export type Numbers = Float32Array | Float64Array;

/** Throws an OptionError for a dtype that layers do not compute in. */
export function checkPrecision(what: string, dtype: unknown): void {
  if (dtype !== "float32" && dtype !== "float64") refuseValue(what, "dtype", '"float32" or "float64"', dtype);
}

/** Elements of a CPU tensor in row-major order, for reading only: a view of its array where that is row-major, else a copy. */
export function numbersOf(t: Tensor): Numbers {
  const dense = denseOf(t);
  const { data, offset, size } = dense as Tensor<Precision>;
  return offset === 0 && data.length === size ? data : data.subarray(offset, offset + size);
}

/** A new array of `length` zeros in a dtype. */
export function numbers(dtype: Precision, length: number): Numbers {
  return dtype === "float64" ? new Float64Array(length) : zeroArray(length);
}

/** A new array in a dtype, uninitialized: the caller writes all of it. */
export function uninitialized(dtype: Precision, length: number): Numbers {
  return dtype === "float64" ? new Float64Array(length) : resultArray(length);
}

/** Σ aᵢ·bᵢ. */
export const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** The cosine of two vectors; NaN where one of them is 0. */
export const cosine = (a: Float64Array, b: Float64Array): number =>
  dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

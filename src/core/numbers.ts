/** Arrays of float32 and float64 numbers on the CPU: what layers and their operations compute with. */
import { resultArray, zeroArray } from "./arena.ts";
import type { Tensor } from "./tensor.ts";

/** Dtypes that layers compute in. float64 is the oracle of float32. */
export type Precision = "float32" | "float64";
/** Arrays of numbers that layers compute with. */
export type Numbers = Float32Array | Float64Array;

/** Elements in row-major order, for reading only: the tensor's own array where they are stored so, else a copy. CPU tensors only. */
export function numbersOf(t: Tensor): Numbers {
  const dense = t.dense();
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

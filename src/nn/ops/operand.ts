/**
 * What every operation does first and last: it reads its tensors as float32 or float64, all of one dtype, and makes a
 * new tensor of that dtype. 16-bit tensors are refused: layers compute in the dtype of their parameters, and loading
 * 16-bit parameters (`Module.load`) widens them. Sums run in float64 and are rounded once when stored.
 */

import { resultArray, zeroArray } from "../../core/arena.ts";
import type { TypedData } from "../../core/dtype.ts";
import { DTypeError, formatTensor, formatValue, ShapeError } from "../../core/errors.ts";
import { asTensor, Tensor, type TensorLike } from "../../core/tensor.ts";

/** Dtypes that layers compute in. float64 is the oracle of float32. */
export type Precision = "float32" | "float64";
/** Arrays of numbers that layers compute with. */
export type Numbers = Float32Array | Float64Array;
/** A tensor that layers compute with. */
export type FloatTensor = Tensor<Precision>;

/** `value` as a tensor of float32 or float64, of the dtype `like` has where that is given. A Tensor stays the same object. */
export function operand(what: string, name: string, value: TensorLike, like?: Tensor): FloatTensor {
  const t = asTensor(`${what}: ${name}`, value);
  if (t.dtype !== "float32" && t.dtype !== "float64")
    throw new DTypeError("dtype", `${what}: computes in float32 and float64, got ${formatTensor(name, t)}`, {
      name,
      dtype: t.dtype,
    });
  if (like && t.dtype !== like.dtype)
    throw new DTypeError(
      "dtype-mixed",
      `${what}: all tensors must have one dtype; the first is ${like.dtype}, got ${formatTensor(name, t)}`,
      { name, dtype: t.dtype, expected: like.dtype },
    );
  return t as FloatTensor;
}

/** Elements in row-major order: the tensor's own array where they lie so, else a copy. For reading only. */
export function numbersOf(t: Tensor): Numbers {
  const dense = t.dense();
  const { data, offset, size } = dense as FloatTensor;
  return offset === 0 && data.length === size ? data : data.subarray(offset, offset + size);
}

/** A new array of `length` zeros in a dtype. */
export function numbers(dtype: Precision, length: number): Numbers {
  return dtype === "float64" ? new Float64Array(length) : zeroArray(length);
}

/** A new array in a dtype, of any content: the caller writes all of it. */
export function unwritten(dtype: Precision, length: number): Numbers {
  return dtype === "float64" ? new Float64Array(length) : resultArray(length);
}

/** A new array like another, of any content. */
export const unwrittenLike = (x: Numbers): Numbers =>
  unwritten(x instanceof Float64Array ? "float64" : "float32", x.length);

/** True for float32 arrays so long that a kernel pays: below some 1,000 numbers its start costs more than the loop (measured). */
export const isWorthTheEngine = (x: Numbers): x is Float32Array =>
  x instanceof Float32Array && x.length >= 1024;

/** A row-major tensor over a new array. */
export function made(data: Numbers, shape: readonly number[]): FloatTensor {
  return new Tensor(data as TypedData, shape, data instanceof Float64Array ? "float64" : "float32");
}

/** The axis that `axis` names, counted from the end where it is negative. */
export function axisOf(what: string, axis: number, rank: number): number {
  const n = axis < 0 ? axis + rank : axis;
  if (!(Number.isInteger(n) && n >= 0 && n < rank))
    throw new ShapeError("axis", `${what}: axis ${formatValue(axis)} of a tensor of ${rank} axes`, {
      axis,
      rank,
    });
  return n;
}

/** Throws unless `t` has exactly this shape. */
export function checkShapeIs(what: string, name: string, t: Tensor, want: readonly number[]): void {
  if (t.shape.length !== want.length || t.shape.some((n, i) => n !== want[i]))
    throw new ShapeError(
      name,
      `${what}: ${name} must be [${want.join(", ")}], got ${formatTensor(name, t)}`,
      {
        got: t.shape,
        want,
      },
    );
}

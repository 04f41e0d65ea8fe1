/**
 * What every operation does first and last: it reads its tensors as float32 or float64, all of one dtype, and makes a
 * new tensor of that dtype. 16-bit tensors are refused: layers compute in the dtype of their parameters, and loading
 * 16-bit parameters (`Module.load`) widens them. Sums run in float64 and are rounded once when stored.
 */

import { resultArray, zeroArray } from "../../core/arena.ts";
import { isDeviceData, type TensorStorage } from "../../core/device.ts";
import { tensorOver } from "../../core/device-tensor.ts";
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

/** Elements in row-major order, for reading only: the tensor's own array where they are stored so, else a copy. CPU tensors only. */
export function numbersOf(t: Tensor): Numbers {
  const dense = t.dense();
  const { data, offset, size } = dense as FloatTensor;
  return offset === 0 && data.length === size ? data : data.subarray(offset, offset + size);
}

/** What the elements are stored in, row-major, for reading only: the tensor's own storage where it is so, else a copy. */
export function storageOf(t: Tensor): TensorStorage {
  const dense = t.dense();
  const { storage } = dense;
  if (!isDeviceData(storage)) return numbersOf(dense);
  return dense.offset === 0 && storage.length === dense.size
    ? storage
    : storage.device.copy(storage, dense.shape, dense.strides, dense.offset);
}

/** A new array of `length` zeros in a dtype. */
export function numbers(dtype: Precision, length: number): Numbers {
  return dtype === "float64" ? new Float64Array(length) : zeroArray(length);
}

/** A new array in a dtype, uninitialized: the caller writes all of it. */
export function uninitialized(dtype: Precision, length: number): Numbers {
  return dtype === "float64" ? new Float64Array(length) : resultArray(length);
}

/** A new array of the kind of another, uninitialized. */
export const uninitializedLike = (x: Numbers): Numbers =>
  uninitialized(x instanceof Float64Array ? "float64" : "float32", x.length);

/** New storage of a dtype on the device of `like`; the caller writes all of it. */
export const allocateResult = (like: TensorStorage, dtype: Precision, length: number): TensorStorage =>
  isDeviceData(like) ? like.device.allocate(dtype, length) : uninitialized(dtype, length);

/** A row-major tensor over new storage. */
export function tensorFrom(storage: TensorStorage, shape: readonly number[]): FloatTensor {
  if (isDeviceData(storage)) return tensorOver(storage, shape, storage.dtype as Precision);
  return new Tensor(storage, shape, storage instanceof Float64Array ? "float64" : "float32");
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

/**
 * Operands and results of every operation: operands are float32 or float64 tensors of one dtype, and the result has that
 * dtype. 16-bit tensors are refused: layers compute in the dtype of their parameters, and `Module.loadStateDict` widens 16-bit
 * values. Sums are accumulated in float64 and rounded once when stored.
 */
import { tensor } from "../../core/create/construct.ts";
import { isNested, type NestedBooleans } from "../../core/create/nested.ts";
import { allocateLike, isDeviceData, placed, type TensorStorage } from "../../core/device/device.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { isMask } from "../../core/dtype.ts";
import { DTypeError, formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { numbersOf, type Precision, uninitialized } from "../../core/numbers.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/recording/record.ts";
import type { DTypeIn, TensorLike } from "../../core/tensor.ts";
import { asTensor, COPY, denseOf, sameDevice, sizeOf, Tensor } from "../../core/tensor.ts";
import { BoolExpression } from "../../masks/expression/expr.ts";

export { type Numbers, numbers, numbersOf, type Precision } from "../../core/numbers.ts";

/** A tensor that layers compute with: float32 or float64, or the one that `D` says. */
export type FloatTensor<D extends Precision = Precision> = Tensor<D>;

/** The dtype in the type of an operand; both dtypes where the type does not say. A number alone gives float32. */
export type PrecisionOf<T> = T extends number ? "float32" : DTypeIn<T, Precision>;

/** What an operation returns for an operand of type `T`: a tensor of the dtype of that operand. */
export type FloatTensorOf<T> = FloatTensor<PrecisionOf<T>>;

/** A mask of keys as a tensor: true where a key is attended to. */
export function keyMaskOperand(what: string, keyMask: TensorLike | readonly NestedBooleans[]): Tensor {
  if (keyMask instanceof BoolExpression)
    throw new OptionError(
      "key-mask",
      `${what}: keyMask takes a flag for each key; a mask such as keyLengths(lengths) goes into attnMask`,
    );
  const mask = isNested(keyMask)
    ? tensor(keyMask as NestedBooleans)
    : asTensor(`${what}: keyMask`, keyMask as TensorLike);
  if (!isMask(mask.dtype))
    throw new DTypeError(
      "key-mask",
      `${what}: keyMask must be bool, true where a key is attended to, got ${formatTensor("keyMask", mask)}; for 1 = attend pass cast(mask, "bool")`,
      { dtype: mask.dtype },
    );
  return mask;
}

/** Throws an OptionError for a mask of attention where an operation takes flags. */
export function refuseMask(what: string, name: string, value: unknown): void {
  if (value instanceof BoolExpression)
    throw new OptionError(
      name,
      `${what}: ${name} takes a tensor; a mask such as causal() is for attnMask, a triangle is tril(ones([n, n]))`,
    );
}

/** `value` as a tensor of float32 or float64, of the dtype and on the device of `like` where that is given. A Tensor stays the same object. */
export function operand<T extends TensorLike>(
  what: string,
  name: string,
  value: T,
  like?: Tensor,
): FloatTensorOf<T> {
  if (typeof value === "number" && what in Math)
    throw new ShapeError(
      "tensor",
      `${what}: ${name}: expected a tensor, got ${value}; of a number it is Math.${what}(${value})`,
      { got: value },
    );
  const t = asTensor(`${what}: ${name}`, value, like);
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
  if (like && like.device !== t.device)
    sameDevice(what, [
      ["the first tensor", like.device],
      [name, t.device],
    ]);
  return t as FloatTensorOf<T>;
}

/** Row-major storage of the elements, for reading only: the tensor's own storage where it is row-major, else a copy. */
export function storageOf(t: Tensor): TensorStorage {
  const dense = denseOf(t);
  const { storage } = dense;
  if (!isDeviceData(storage)) return numbersOf(dense);
  return dense.offset === 0 && storage.length === dense.size
    ? storage
    : storage.device.copy(storage, dense.shape, dense.strides, dense.offset);
}

/** New storage of a dtype on the device of `like`; the caller writes all of it. */
export const allocateResult = (like: TensorStorage, dtype: Precision, length: number): TensorStorage =>
  isDeviceData(like) ? like.device.allocate(dtype, length) : uninitialized(dtype, length);

/** A new tensor of a shape with the dtype and on the device of `like`, for an operation that writes all of it. */
export const resultLike = <D extends Precision>(
  like: FloatTensor<D>,
  shape: readonly number[],
): FloatTensor<D> =>
  tensorFrom(allocateResult(like.storage, like.dtype, sizeOf(shape)), shape) as FloatTensor<D>;

/** Zeros of a shape with the dtype and on the device of `like`. */
export const zerosLike = <D extends Precision>(
  like: FloatTensor<D>,
  shape: readonly number[] = like.shape,
): FloatTensor<D> =>
  tensorFrom(allocateLike(like.storage, like.dtype, sizeOf(shape)), shape) as FloatTensor<D>;

/** A number as a tensor of shape [] with the dtype and on the device of `like`. */
export function constantLike(like: FloatTensor, value: number): FloatTensor {
  const number = like.dtype === "float64" ? Float64Array.of(value) : Float32Array.of(value);
  return placed("constant", tensorFrom(number, []), like.device);
}

/** A row-major copy in storage of its own: it outlives an arena. */
export function copyOf<T extends Tensor>(t: T): T {
  if (t.device !== "cpu") return t[COPY]() as T;
  const { data, offset, size } = denseOf(t);
  return new Tensor(data.slice(offset, offset + size), t.shape, t.dtype) as Tensor as T;
}

/** A row-major tensor over new storage. */
export function tensorFrom(storage: TensorStorage, shape: readonly number[]): FloatTensor {
  if (isDeviceData(storage)) return tensorOver(storage, shape, storage.dtype as Precision);
  return new Tensor(storage, shape, storage instanceof Float64Array ? "float64" : "float32");
}

/**
 * Records an operation with one differentiable input. `write` fills the gradient of x, which is row-major and uninitialized,
 * from the gradient of y.
 */
export function recordUnary(
  name: string,
  x: FloatTensor,
  y: Tensor,
  write: (dy: FloatTensor, dx: FloatTensor) => void,
): void {
  record({
    name,
    inputs: [x],
    outputs: [y],
    backward: ([dy]) => {
      if (!dy) return [undefined];
      const dx = resultLike(x, x.shape);
      write(dy as FloatTensor, dx);
      return [dx];
    },
  });
}

/** An axis, counted from the end where it is negative: `-1`, as a list `[-1]`, or as an option `{ axis: -1 }`. */
export type AxisArgument = number | readonly [axis: number] | { readonly axis: number };

/** The axis that `axis` names, counted from the start. */
export function axisOf(what: string, axis: AxisArgument, rank: number): number {
  const isOption = typeof axis === "object" && axis !== null && !Array.isArray(axis);
  if (isOption) checkOptionNames(what, axis, ["axis"]);
  const one = isOption ? (axis as { readonly axis: number }).axis : axis;
  const named = (Array.isArray(one) && one.length === 1 ? one[0] : one) as number;
  const n = Number.isInteger(named) && named < 0 ? named + rank : named;
  if (!(Number.isInteger(n) && n >= 0 && n < rank))
    throw new ShapeError(
      "axis",
      Number.isInteger(named)
        ? `${what}: axis ${formatValue(named)} of a tensor of ${rank} axes`
        : `${what}: the axis must be one integer, got ${formatValue(named)}`,
      { axis: named, rank },
    );
  return n;
}

/** Throws unless `t` has exactly this shape. */
export function checkShapeIs(what: string, name: string, t: Tensor, want: readonly number[]): void {
  if (t.shape.length !== want.length || t.shape.some((n, i) => n !== want[i]))
    throw new ShapeError(
      name,
      `${what}: ${name} must be [${want.join(", ")}], got ${formatTensor(name, t)}`,
      { got: t.shape, want },
    );
}

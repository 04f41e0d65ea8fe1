/**
 * Element-wise sums, differences, products and quotients, and sums along axes. Two tensors broadcast as in NumPy: shapes are
 * aligned at their last axes, and an axis of length 1 (or a missing one) repeats. The gradient of a broadcast operand is
 * summed over its repetitions.
 */
import * as arrays from "../../api/array.ts";
import { rowwise } from "../../api/rowwise.ts";
import { formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/recording/record.ts";
import { type NestedList, reshaped, sizeOf, Tensor, type TensorLike, viewOf } from "../../core/tensor.ts";
import {
  allocateResult,
  axisOf,
  constantLike,
  type FloatTensor,
  type FloatTensorOf,
  operand,
  resultLike,
  storageOf,
  tensorFrom,
} from "./operand.ts";

/**
 * x + y, broadcast; either may be a number.
 *
 * @example
 * add(tensor([1, 2]), tensor([[10], [20]])); // → [[11, 12], [21, 22]]
 */
export function add<X extends Operand, Y extends Operand>(
  x: X,
  y: Y,
): FloatTensorOf<X extends number | NestedList ? Y : X> {
  const same = (d: FloatTensor) => d;
  return binary("add", x, y, same, same, sumOf);
}

/**
 * x − y, broadcast; either may be a number.
 *
 * @example
 * sub(tensor([1, 2]), 1); // → [0, 1]
 */
export function sub<X extends Operand, Y extends Operand>(
  x: X,
  y: Y,
): FloatTensorOf<X extends number | NestedList ? Y : X> {
  return binary(
    "sub",
    x,
    y,
    (d) => d,
    (d) => scaled(d, -1),
  );
}

/**
 * x · y element by element, broadcast; either may be a number.
 *
 * @example
 * multiply(tensor([1, 2]), tensor([3, 4])); // → [3, 8]
 */
export function multiply<X extends Operand, Y extends Operand>(
  x: X,
  y: Y,
): FloatTensorOf<X extends number | NestedList ? Y : X> {
  return binary(
    "multiply",
    x,
    y,
    (d, { b }) => combined(d, b, d.shape, "multiply"),
    (d, { a }) => combined(d, a, d.shape, "multiply"),
  );
}

/**
 * x / y element by element, broadcast; either may be a number.
 *
 * @example
 * divide(tensor([1, 2]), 2); // → [0.5, 1]
 */
export function divide<X extends Operand, Y extends Operand>(
  x: X,
  y: Y,
): FloatTensorOf<X extends number | NestedList ? Y : X> {
  return binary(
    "divide",
    x,
    y,
    (d, { b }) => combined(d, b, d.shape, "divide"),
    (d, { z, b }) => quotientGradient(d, z, b),
  );
}

type BinaryFunction = "add" | "sub" | "multiply" | "divide";

/** The gradient of one operand of z = a ∘ b, in the shape of z, from the gradient d of z. */
type Derivative = (
  d: FloatTensor,
  tensors: { a: FloatTensor; b: FloatTensor; z: FloatTensor },
) => FloatTensor;

/** z = x ∘ y, recorded; a gradient is summed over the repetitions of its operand. */
function binary<X extends Operand, Y extends Operand>(
  name: BinaryFunction,
  x: X,
  y: Y,
  byX: Derivative,
  byY: Derivative,
  compute = combined,
): FloatTensorOf<X extends number | NestedList ? Y : X> {
  const [a, b]: FloatTensor[] = operands(name, x, y);
  const z = compute(a, b, broadcastShape(name, a, b), name);
  const backward = ([d]: readonly (Tensor | undefined)[], wanted: readonly boolean[] = [true, true]) =>
    [byX, byY].map((derivative, n) =>
      d && wanted[n] ? sumTo(derivative(d as FloatTensor, { a, b, z }), [a, b][n].shape) : undefined,
    );
  record({ name, inputs: [a, b], outputs: [z], backward });
  return z as FloatTensorOf<X extends number | NestedList ? Y : X>;
}

/** a + b. The row-wise kernel adds operands of equal size. */
function sumOf(a: FloatTensor, b: FloatTensor, shape: readonly number[]): FloatTensor {
  const z = resultLike(a, shape);
  if (a.size === z.size && b.size === z.size)
    rowwise({ name: "add", a: storageOf(a), b: storageOf(b), scale: 1, y: z.storage });
  else arrays.binary({ name: "binary", function: "add", a, b, y: z });
  return z;
}

/** a ∘ b in a shape to which both broadcast. */
function combined(
  a: FloatTensor,
  b: FloatTensor,
  shape: readonly number[],
  name: BinaryFunction,
): FloatTensor {
  const y = resultLike(a, shape);
  arrays.binary({ name: "binary", function: name, a, b, y });
  return y;
}

/** −d·z/b: the gradient of b in z = a/b, in the shape of z. */
function quotientGradient(d: Tensor, z: FloatTensor, b: Tensor): FloatTensor {
  const db = resultLike(z, z.shape);
  arrays.divideBackward({ name: "divide-backward", dy: d, y: z, b, db });
  return db;
}

/**
 * factor · x for a constant factor.
 *
 * @example
 * scale(tensor([1, 2]), 0.5); // → [0.5, 1]
 */
export function scale<T extends TensorLike>(x: T, factor: number): FloatTensorOf<T> {
  const a = operand("scale", "x", x);
  if (typeof factor !== "number" || factor !== factor)
    throw new OptionError("factor", `scale: factor must be a number, got ${formatValue(factor)}`, {
      got: factor,
    });
  const z = scaled(a, factor);
  record({ name: "scale", inputs: [a], outputs: [z], backward: ([d]) => [d && scaled(d, factor)] });
  return z;
}

/**
 * The sum over one axis, which is removed (or kept with length 1: `keepAxis`), or over all axes by default: shape [].
 *
 * @example
 * sum(tensor([[1, 2], [3, 4]]), 0); // → [4, 6]
 */
export function sum<T extends TensorLike>(
  x: T,
  axis?: number,
  options: { keepAxis?: boolean } = {},
): FloatTensorOf<T> {
  return reduce("sum", x, axis, options, false);
}

/**
 * The mean over one axis, or over all of them, as `sum`.
 *
 * @example
 * mean(tensor([[1, 2], [3, 4]]), -1); // → [1.5, 3.5]
 */
export function mean<T extends TensorLike>(
  x: T,
  axis?: number,
  options: { keepAxis?: boolean } = {},
): FloatTensorOf<T> {
  return reduce("mean", x, axis, options, true);
}

function reduce<T extends TensorLike>(
  name: string,
  x: T,
  axis: number | undefined,
  options: { keepAxis?: boolean },
  isMean: boolean,
): FloatTensorOf<T> {
  checkOptionNames(name, options, ["keepAxis"]);
  const { keepAxis = false } = options;
  const from = operand(name, "x", x);
  const rank = from.shape.length;
  const at = axis === undefined ? undefined : axisOf(name, axis, rank);
  // With the summed axes at length 1 the result broadcasts back over x, which is also its gradient.
  const keptShape = from.shape.map((n, i) => (at === undefined || i === at ? 1 : n));
  const factor = isMean ? sizeOf(keptShape) / from.size : 1;
  const shape = keepAxis ? keptShape : at === undefined ? [] : keptShape.filter((_, i) => i !== at);
  const total = reshaped(sumTo(from, keptShape) as typeof from, shape);
  const z = isMean ? scaled(total, factor) : viewOf(total, shape, undefined, total.offset);
  record({
    name,
    inputs: [from],
    outputs: [z],
    backward: ([d]) => {
      if (!d) return [undefined];
      return [broadcast(scaled(reshaped(d as FloatTensor, keptShape), factor), from.shape)];
    },
  });
  return z;
}

/** A tensor, or a number, which takes the dtype of the other operand. */
export type Operand = TensorLike | number;

/** Two operands of one dtype. Numbers become constant tensors of shape []. */
export function operands<X extends Operand, Y extends Operand>(what: string, x: X, y: Y): Pair<X, Y> {
  return resolved(what, x, y) as Pair<X, Y>;
}

/** Two operands as tensors of one dtype. */
type Pair<X, Y, T = FloatTensorOf<X extends number | NestedList ? Y : X>> = [T, T];

function resolved(what: string, x: Operand, y: Operand): [FloatTensor, FloatTensor] {
  if (typeof x === "number" && typeof y === "number")
    return [tensorFrom(Float32Array.of(x), []), tensorFrom(Float32Array.of(y), [])];
  const likeY = Array.isArray(x) && y instanceof Tensor ? y : undefined;
  if (typeof x === "number") {
    const b = operand(what, "y", y as TensorLike);
    return [constantLike(b, x), b];
  }
  const a = operand(what, "x", x, likeY as FloatTensor | undefined);
  return [a, typeof y === "number" ? constantLike(a, y) : operand(what, "y", y, a)];
}

/** The shape two tensors broadcast to, aligned at their last axes. */
export function broadcastShape(
  what: string,
  a: { readonly shape: readonly number[]; readonly dtype: string },
  b: { readonly shape: readonly number[]; readonly dtype: string },
): number[] {
  const rank = Math.max(a.shape.length, b.shape.length);
  return Array.from({ length: rank }, (_, i) => {
    const n = a.shape[i - rank + a.shape.length] ?? 1;
    const m = b.shape[i - rank + b.shape.length] ?? 1;
    if (n !== m && n !== 1 && m !== 1)
      throw new ShapeError(
        "broadcast",
        `${what}: shapes do not broadcast at their last axes; ${formatTensor("x", a)}, ${formatTensor("y", b)}`,
        { x: a.shape, y: b.shape },
      );
    return n === 1 ? m : n;
  });
}

/** `t` broadcast to `shape`. */
export function broadcast<T extends FloatTensor>(t: T, shape: readonly number[]): T {
  const y = resultLike(t, shape);
  arrays.assign({ name: "assign", x: t, y });
  return y as FloatTensor as T;
}

/** `t` summed over the axes along which `shape` broadcasts to it; the tensor itself where there are none. */
export function sumTo(t: Tensor, shape: readonly number[]): FloatTensor {
  const from = t as FloatTensor;
  const size = sizeOf(shape);
  if (from.size === size) return from.shape.length === shape.length ? from : reshaped(from, shape);
  // A bias: all axes but the last were broadcast.
  const columns =
    shape.length > 0 && size === from.shape[from.shape.length - 1] && size === shape[shape.length - 1];
  if (columns) {
    const x = storageOf(from);
    const sums = allocateResult(x, from.dtype, size);
    rowwise({ name: "column-sums", x, sums });
    return tensorFrom(sums, shape);
  }
  const y = resultLike(from, shape);
  arrays.sum({ name: "sum", x: from, y });
  return y;
}

function scaled<T extends Tensor>(x: T, factor: number): T {
  const y = resultLike(x as Tensor as FloatTensor, x.shape);
  arrays.scale({ name: "scale", x, factor, y });
  return y as Tensor as T;
}

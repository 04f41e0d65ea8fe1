/**
 * Element-wise sums, differences, products and quotients, and sums along axes. Two tensors broadcast as in NumPy: shapes are
 * aligned at their last axes, and an axis of length 1 (or a missing one) repeats. The gradient of a broadcast operand is
 * summed over its repetitions.
 */
import * as arrays from "../../array.ts";
import { formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/record.ts";
import { reshaped, sizeOf, type Tensor, type TensorLike, viewOf } from "../../core/tensor.ts";
import { rowwise } from "../../rowwise.ts";
import {
  allocateResult,
  axisOf,
  constantLike,
  type FloatTensor,
  type FloatTensorOf,
  operand,
  type Precision,
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
): FloatTensorOf<X extends number ? Y : X> {
  const [a, b, shape] = pair("add", x, y);
  const z = sumOf(a, b, shape);
  record({
    name: "add",
    inputs: [a, b],
    outputs: [z],
    backward: ([d]) => [d && sumTo(d, a.shape), d && sumTo(d, b.shape)],
  });
  return z;
}

/** a + b. The row-wise kernel adds operands of equal size. */
function sumOf<D extends Precision>(
  a: FloatTensor<D>,
  b: FloatTensor,
  shape: readonly number[],
): FloatTensor<D> {
  const z = resultLike(a, shape);
  if (a.size === z.size && b.size === z.size)
    rowwise({ name: "add", a: storageOf(a), b: storageOf(b), scale: 1, y: z.storage });
  else arrays.binary({ name: "binary", function: "add", a, b, y: z });
  return z;
}

/** a ∘ b in a shape to which both broadcast. */
function combined<T extends Tensor>(
  f: "sub" | "multiply" | "divide",
  a: T,
  b: Tensor,
  shape: readonly number[],
): T {
  const y = resultLike(a as FloatTensor, shape);
  arrays.binary({ name: "binary", function: f, a, b, y });
  return y as Tensor as T;
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
): FloatTensorOf<X extends number ? Y : X> {
  const [a, b, shape] = pair("sub", x, y);
  const z = combined("sub", a, b, shape);
  record({
    name: "sub",
    inputs: [a, b],
    outputs: [z],
    backward: ([d]) => [d && sumTo(d, a.shape), d && sumTo(scaled(d, -1), b.shape)],
  });
  return z;
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
): FloatTensorOf<X extends number ? Y : X> {
  const [a, b, shape] = pair("multiply", x, y);
  const z = combined("multiply", a, b, shape);
  record({
    name: "multiply",
    inputs: [a, b],
    outputs: [z],
    backward: ([d], wanted = [true, true]) => {
      if (!d) return [undefined, undefined];
      return [
        wanted[0] ? sumTo(combined("multiply", d, b, shape), a.shape) : undefined,
        wanted[1] ? sumTo(combined("multiply", d, a, shape), b.shape) : undefined,
      ];
    },
  });
  return z;
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
): FloatTensorOf<X extends number ? Y : X> {
  const [a, b, shape] = pair("divide", x, y);
  const z = combined("divide", a, b, shape);
  record({
    name: "divide",
    inputs: [a, b],
    outputs: [z],
    backward: ([d], wanted = [true, true]) => {
      if (!d) return [undefined, undefined];
      return [
        wanted[0] ? sumTo(combined("divide", d, b, shape), a.shape) : undefined,
        wanted[1] ? sumTo(quotientGradient(d, z, b), b.shape) : undefined,
      ];
    },
  });
  return z;
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
  const kept = from.shape.map((n, i) => (at === undefined || i === at ? 1 : n));
  const factor = isMean ? sizeOf(kept) / from.size : 1;
  const shape = keepAxis ? kept : at === undefined ? [] : kept.filter((_, i) => i !== at);
  const total = reshaped(sumTo(from, kept) as typeof from, shape);
  const z = isMean ? scaled(total, factor) : viewOf(total, shape, undefined, total.offset);
  record({
    name,
    inputs: [from],
    outputs: [z],
    backward: ([d]) => {
      if (!d) return [undefined];
      return [broadcast(scaled(reshaped(d as FloatTensor, kept), factor), from.shape)];
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
type Pair<X, Y, T = FloatTensorOf<X extends number ? Y : X>> = [T, T];

function resolved(what: string, x: Operand, y: Operand): [FloatTensor, FloatTensor] {
  if (typeof x === "number" && typeof y === "number")
    return [tensorFrom(Float32Array.of(x), []), tensorFrom(Float32Array.of(y), [])];
  if (typeof x === "number") {
    const b = operand(what, "y", y as TensorLike);
    return [constantLike(b, x), b];
  }
  const a = operand(what, "x", x);
  return [a, typeof y === "number" ? constantLike(a, y) : operand(what, "y", y, a)];
}

/** The two operands of one dtype, and the shape they broadcast to. */
function pair<X extends Operand, Y extends Operand>(
  what: string,
  x: X,
  y: Y,
): [...Pair<X, Y>, shape: number[]] {
  const [a, b] = operands(what, x, y);
  return [a, b, broadcastShape(what, a, b)];
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

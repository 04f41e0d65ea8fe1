/**
 * Element-wise sums, differences, products, quotients and powers. Two tensors broadcast as in NumPy: shapes are
 * aligned at their last axes, and an axis of length 1 (or a missing one) repeats. The gradient of a broadcast operand is
 * summed over its repetitions.
 */
import * as arrays from "../../api/array.ts";
import { rowwise } from "../../api/rowwise.ts";
import { checkCount, formatTensor, refuseValue, ShapeError } from "../../core/errors.ts";
import { record } from "../../core/recording/record.ts";
import { type NestedList, reshaped, sizeOf, Tensor, type TensorLike } from "../../core/tensor.ts";
import type { FloatTensor, FloatTensorOf } from "./operand.ts";
import { allocateResult, constantLike, operand, resultLike, storageOf, tensorFrom } from "./operand.ts";

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
  checkCount("add", arguments, 2);
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
  checkCount("sub", arguments, 2);
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
  checkCount("multiply", arguments, 2);
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
  checkCount("divide", arguments, 2);
  return binary(
    "divide",
    x,
    y,
    (d, { b }) => combined(d, b, d.shape, "divide"),
    (d, { z, b }) => quotientGradient(d, z, b),
  );
}

/**
 * The same function as `multiply`, by the name that masks and PyTorch have.
 *
 * @example
 * mul(tensor([1, 2]), 3); // → [3, 6]
 */
export const mul = multiply;

/**
 * The same function as `divide`, by the name that masks and PyTorch have.
 *
 * @example
 * div(tensor([1, 2]), 2); // → [0.5, 1]
 */
export const div = divide;

/**
 * x^y element by element, broadcast; either may be a number. The gradient of x is 0 where y = 0, and that of y is 0 where x = 0; that of
 * y is NaN where x < 0.
 *
 * @example
 * pow(tensor([1, 2, 3]), 2); // → [1, 4, 9]
 */
export function pow<X extends Operand, Y extends Operand>(
  x: X,
  y: Y,
): FloatTensorOf<X extends number | NestedList ? Y : X> {
  checkCount("pow", arguments, 2);
  return binary(
    "pow",
    x,
    y,
    (d, { a, b }) => {
      const lower = combined(b, constantLike(b, 1), b.shape, "sub");
      const slope = combined(powered(a, lower, d.shape), b, d.shape, "multiply");
      return combined(d, unless0(b, slope), d.shape, "multiply");
    },
    (d, { a, z }) => {
      const logs = resultLike(a, a.shape);
      arrays.elementwise({ name: "elementwise", function: "log", x: a, y: logs });
      return combined(d, unless0(a, combined(z, logs, d.shape, "multiply")), d.shape, "multiply");
    },
    powered,
  );
}

/** a^b in a shape to which both broadcast. */
function powered(a: FloatTensor, b: FloatTensor, shape: readonly number[]): FloatTensor {
  const y = resultLike(a, shape);
  arrays.power({ name: "power", a, b, y });
  return y;
}

/** `yes`, and 0 where `condition` is 0. */
function unless0(condition: FloatTensor, yes: FloatTensor): FloatTensor {
  const y = resultLike(yes, yes.shape);
  arrays.where({ name: "where", condition, a: yes, b: constantLike(yes, 0), y });
  return y;
}

type BinaryFunction = "add" | "sub" | "multiply" | "divide";

/** The gradient of one operand of z = a ∘ b, in the shape of z, from the gradient d of z. */
type Derivative = (
  d: FloatTensor,
  tensors: { a: FloatTensor; b: FloatTensor; z: FloatTensor },
) => FloatTensor;

/** z = x ∘ y, recorded; a gradient is summed over the repetitions of its operand. */
function binary<X extends Operand, Y extends Operand, N extends string = BinaryFunction>(
  name: N,
  x: X,
  y: Y,
  byX: Derivative,
  byY: Derivative,
  compute: (
    a: FloatTensor,
    b: FloatTensor,
    shape: readonly number[],
    name: N,
  ) => FloatTensor = combined as never,
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

/** a ∘ b in a shape to which both broadcast, not recorded. */
export function combined(
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
  checkCount("scale", arguments, 2);
  const a = operand("scale", "x", x);
  if (typeof factor !== "number" || factor !== factor) refuseValue("scale", "factor", "a number", factor);
  const z = scaled(a, factor);
  record({ name: "scale", inputs: [a], outputs: [z], backward: ([d]) => [d && scaled(d, factor)] });
  return z;
}

/** A tensor, or a number, which takes the dtype of the other operand. */
export type Operand = TensorLike | number;

/** Two operands as tensors of one dtype. */
type Pair<X, Y, T = FloatTensorOf<X extends number | NestedList ? Y : X>> = [T, T];

/** Two operands of one dtype. Numbers become constant tensors of shape []. */
export function operands<X extends Operand, Y extends Operand>(what: string, x: X, y: Y): Pair<X, Y>;
export function operands(what: string, x: Operand, y: Operand): [FloatTensor, FloatTensor] {
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
  // Of no elements, as many are left whatever the axes.
  if (from.size === size)
    return size > 0 && from.shape.length === shape.length ? from : reshaped(from, shape);
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

/** factor · x, not recorded. */
export function scaled<T extends Tensor>(x: T, factor: number): T {
  const y = resultLike(x as Tensor as FloatTensor, x.shape);
  arrays.scale({ name: "scale", x, factor, y });
  return y as Tensor as T;
}

/**
 * Sums, differences and products, number by number, and sums along axes. Two tensors broadcast as in NumPy: shapes are
 * aligned at their last axes, and an axis of length 1 (or a missing one) repeats. The gradient of what was repeated is
 * the sum over its repetitions.
 */

import type { TensorStorage } from "../../core/device.ts";
import { formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/record.ts";
import { eachRow, reshaped, rowMajor, sizeOf, type Tensor, type TensorLike } from "../../core/tensor.ts";
import { rowwise } from "../../rowwise.ts";
import {
  allocateResult,
  axisOf,
  type FloatTensor,
  type Numbers,
  numbersOf,
  operand,
  type Precision,
  storageOf,
  tensorFrom,
  uninitialized,
  uninitializedLike,
} from "./operand.ts";

/**
 * x + y, broadcast; either may be a number.
 *
 * @example
 * add(tensor([1, 2]), tensor([[10], [20]])); // → [[11, 12], [21, 22]]
 */
export function add(x: Operand, y: Operand): FloatTensor {
  const [a, b, shape] = pair("add", x, y);
  const z = tensorFrom(sumOf(a, b, shape), shape);
  record({
    name: "add",
    inputs: [a, b],
    outputs: [z],
    backward: ([d]) => [d && gathered(d, a.shape), d && gathered(d, b.shape)],
  });
  return z;
}

/** a + b in row-major order. Operands of one size are added by their device. */
function sumOf(a: FloatTensor, b: FloatTensor, shape: readonly number[]): TensorStorage {
  const size = sizeOf(shape);
  if (a.size !== size || b.size !== size) {
    const out = uninitialized(a.dtype, size);
    const [p, q] = [spread(a, shape), spread(b, shape)];
    for (let n = 0; n < size; n++) out[n] = p[n] + q[n];
    return out;
  }
  const [p, q] = [storageOf(a), storageOf(b)];
  const y = allocateResult(p, a.dtype, size);
  rowwise({ name: "add", a: p, b: q, scale: 1, y });
  return y;
}

/**
 * x − y, broadcast; either may be a number.
 *
 * @example
 * sub(tensor([1, 2]), 1); // → [0, 1]
 */
export function sub(x: Operand, y: Operand): FloatTensor {
  const [a, b, shape] = pair("sub", x, y);
  const out = uninitialized(a.dtype, sizeOf(shape));
  const [p, q] = [spread(a, shape), spread(b, shape)];
  for (let n = 0; n < out.length; n++) out[n] = p[n] - q[n];
  const z = tensorFrom(out, shape);
  record({
    name: "sub",
    inputs: [a, b],
    outputs: [z],
    backward: ([d]) => [d && gathered(d, a.shape), d && gathered(scaled(d, -1), b.shape)],
  });
  return z;
}

/**
 * x · y element by element, broadcast; either may be a number.
 *
 * @example
 * multiply(tensor([1, 2]), tensor([3, 4])); // → [3, 8]
 */
export function multiply(x: Operand, y: Operand): FloatTensor {
  const [a, b, shape] = pair("multiply", x, y);
  const [p, q] = [spread(a, shape), spread(b, shape)];
  const z = tensorFrom(product(p, q), shape);
  record({
    name: "multiply",
    inputs: [a, b],
    outputs: [z],
    backward: ([d], wanted = [true, true]) => {
      if (!d) return [undefined, undefined];
      const g = numbersOf(d);
      return [
        wanted[0] ? gathered(tensorFrom(product(g, q), shape), a.shape) : undefined,
        wanted[1] ? gathered(tensorFrom(product(g, p), shape), b.shape) : undefined,
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
export function divide(x: Operand, y: Operand): FloatTensor {
  const [a, b, shape] = pair("divide", x, y);
  const [p, q] = [spread(a, shape), spread(b, shape)];
  const out = uninitialized(a.dtype, sizeOf(shape));
  for (let n = 0; n < out.length; n++) out[n] = p[n] / q[n];
  const z = tensorFrom(out, shape);
  record({
    name: "divide",
    inputs: [a, b],
    outputs: [z],
    backward: ([d], wanted = [true, true]) => {
      if (!d) return [undefined, undefined];
      const g = numbersOf(d);
      const [da, db] = [uninitializedLike(g), uninitializedLike(g)];
      for (let n = 0; n < g.length; n++) {
        da[n] = g[n] / q[n];
        db[n] = (-g[n] * out[n]) / q[n];
      }
      return [
        wanted[0] ? gathered(tensorFrom(da, shape), a.shape) : undefined,
        wanted[1] ? gathered(tensorFrom(db, shape), b.shape) : undefined,
      ];
    },
  });
  return z;
}

/**
 * factor · x, for a number that no gradient flows to.
 *
 * @example
 * scale(tensor([1, 2]), 0.5); // → [0.5, 1]
 */
export function scale(x: TensorLike, factor: number): FloatTensor {
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
 * The sum over one axis, which goes (or stays with length 1: `keepAxis`); over all axes, shape [], where none is named.
 *
 * @example
 * sum(tensor([[1, 2], [3, 4]]), 0); // → [4, 6]
 */
export function sum(x: TensorLike, axis?: number, options: { keepAxis?: boolean } = {}): FloatTensor {
  return reduce("sum", x, axis, options, false);
}

/**
 * The mean over one axis, or over all of them, as `sum`.
 *
 * @example
 * mean(tensor([[1, 2], [3, 4]]), -1); // → [1.5, 3.5]
 */
export function mean(x: TensorLike, axis?: number, options: { keepAxis?: boolean } = {}): FloatTensor {
  return reduce("mean", x, axis, options, true);
}

function reduce(
  name: string,
  x: TensorLike,
  axis: number | undefined,
  options: { keepAxis?: boolean },
  isMean: boolean,
): FloatTensor {
  checkOptionNames(name, options, ["keepAxis"]);
  const { keepAxis = false } = options;
  const from = operand(name, "x", x);
  const rank = from.shape.length;
  const at = axis === undefined ? undefined : axisOf(name, axis, rank);
  // With the summed axes at length 1 the result broadcasts back over x, which is also its gradient.
  const kept = from.shape.map((n, i) => (at === undefined || i === at ? 1 : n));
  const factor = isMean ? sizeOf(kept) / from.size : 1;
  const total = numbersOf(gathered(from, kept));
  const shape = keepAxis ? kept : at === undefined ? [] : kept.filter((_, i) => i !== at);
  const z = isMean ? scaled(tensorFrom(total, shape), factor) : tensorFrom(total, shape);
  record({
    name,
    inputs: [from],
    outputs: [z],
    backward: ([d]) => {
      if (!d) return [undefined];
      const each = scaled(tensorFrom(numbersOf(d), kept), factor);
      return [tensorFrom(spread(each, from.shape), from.shape)];
    },
  });
  return z;
}

/** A tensor, or a number, which has the dtype of the other operand. */
export type Operand = TensorLike | number;

/** Two operands of one dtype. Numbers are tensors of shape [], to which no gradient is asked for. */
export function operands(what: string, x: Operand, y: Operand): [FloatTensor, FloatTensor] {
  const constant = (value: number, dtype: Precision) =>
    tensorFrom(dtype === "float64" ? Float64Array.of(value) : Float32Array.of(value), []);
  if (typeof x === "number" && typeof y === "number") return [constant(x, "float32"), constant(y, "float32")];
  if (typeof x === "number") {
    const b = operand(what, "y", y as TensorLike);
    return [constant(x, b.dtype), b];
  }
  const a = operand(what, "x", x);
  return [a, typeof y === "number" ? constant(y, a.dtype) : operand(what, "y", y, a)];
}

/** The two operands of one dtype, and the shape they broadcast to. */
function pair(what: string, x: Operand, y: Operand): [FloatTensor, FloatTensor, number[]] {
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

/** `t` repeated to `shape`, as numbers in row-major order. For reading only: the tensor's own where nothing repeats. */
export function spread(t: FloatTensor, shape: readonly number[]): Numbers {
  const size = sizeOf(shape);
  const own = t.shape.slice(t.shape.findIndex((n) => n !== 1));
  if (t.size === size) return numbersOf(t);
  const out = uninitialized(t.dtype, size);
  const from = t.data;
  const isSuffix = t.size === 1 || own.every((n, i) => n === shape[i - own.length + shape.length]);
  if (isSuffix && t.size > 0) {
    // A bias: the same row over and over. Each copy doubles what is there.
    const row = numbersOf(t);
    if (size > 0) out.set(row);
    for (let n = row.length; n < size; n *= 2) out.copyWithin(n, 0, Math.min(n, size - n));
    return out;
  }
  const strides = shape.map((_, i) => {
    const axis = i - shape.length + t.shape.length;
    return axis < 0 || t.shape[axis] === 1 ? 0 : t.strides[axis];
  });
  let next = 0;
  eachRow(shape, strides, t.offset, (start, count, step) => {
    for (let n = 0; n < count; n++) out[next + n] = from[start + n * step];
    next += count;
  });
  return out;
}

/** The sum over what `spread` repeated: `t` brought to `shape`. The tensor itself where nothing was repeated. */
export function gathered(t: Tensor, shape: readonly number[]): FloatTensor {
  const from = t as FloatTensor;
  const size = sizeOf(shape);
  if (from.size === size) return from.shape.length === shape.length ? from : reshaped(from, shape);
  // A bias: all axes but the last were repeated.
  const columns =
    shape.length > 0 && size === from.shape[from.shape.length - 1] && size === shape[shape.length - 1];
  if (columns) {
    const x = storageOf(from);
    const sums = allocateResult(x, from.dtype, size);
    rowwise({ name: "column-sums", x, sums });
    return tensorFrom(sums, shape);
  }
  const total = new Float64Array(size);
  const own = rowMajor(shape);
  const strides = from.shape.map((_, i) => {
    const axis = i - from.shape.length + shape.length;
    return axis < 0 || shape[axis] === 1 ? 0 : own[axis];
  });
  const x = numbersOf(from);
  let next = 0;
  eachRow(from.shape, strides, 0, (start, count, step) => {
    for (let n = 0; n < count; n++) total[start + n * step] += x[next + n];
    next += count;
  });
  return tensorFrom(from.dtype === "float64" ? total : Float32Array.from(total), shape);
}

function product(x: Numbers, y: Numbers): Numbers {
  const out = uninitializedLike(x);
  for (let n = 0; n < out.length; n++) out[n] = x[n] * y[n];
  return out;
}

function scaled(x: Tensor, factor: number): FloatTensor {
  const from = numbersOf(x);
  const out = uninitialized((x as FloatTensor).dtype, from.length);
  for (let n = 0; n < out.length; n++) out[n] = from[n] * factor;
  return tensorFrom(out, x.shape);
}

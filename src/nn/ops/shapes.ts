/**
 * Operations that rearrange elements and change no values: reshape, transpose, slice, split, concat, splitHeads, mergeHeads.
 * All but `concat` return views where strides allow it: nothing is copied. The gradient is rearranged in reverse.
 */
import { assign } from "../../api/array.ts";
import {
  checkCount,
  formatTensor,
  formatValue,
  OptionError,
  refuseValue,
  ShapeError,
} from "../../core/errors.ts";
import { record } from "../../core/recording/record.ts";
import { reshaped, type Tensor, type TensorLike, transposed, viewOf } from "../../core/tensor.ts";
import type { AxisArgument, FloatTensor, FloatTensorOf } from "./operand.ts";
import { axisOf, operand, resultLike, zerosLike } from "./operand.ts";

/**
 * The same elements in another shape; one axis may be −1. Copies only where the strides require it.
 *
 * @example
 * reshape(tensor([1, 2, 3, 4]), [2, 2]); // → [[1, 2], [3, 4]]
 */
export function reshape<T extends TensorLike>(x: T, shape: readonly number[]): FloatTensorOf<T> {
  checkCount("reshape", arguments, 2);
  const from = operand("reshape", "x", x);
  return from.reshape(shape);
}

/**
 * A view with two axes exchanged, the last two by default.
 *
 * @example
 * transpose(tensor([[1, 2], [3, 4]])); // → [[1, 3], [2, 4]]
 */
export function transpose<T extends TensorLike>(x: T, a = -2, b = -1): FloatTensorOf<T> {
  checkCount("transpose", arguments, 3);
  const from = operand("transpose", "x", x);
  const rank = from.shape.length;
  return from.transpose(axisOf("transpose", a, rank), axisOf("transpose", b, rank));
}

/**
 * A view of positions `start` to `end` (excluded) of one axis; negative numbers count from the end.
 *
 * @example
 * slice(tensor([1, 2, 3, 4]), 0, 1, 3); // → [2, 3]
 */
export function slice<T extends TensorLike>(
  x: T,
  axis: number,
  start: number,
  end?: number,
): FloatTensorOf<T> {
  checkCount("slice", arguments, 4);
  if (end === null) refuseValue("slice", "end", "an integer or left out", end);
  const from = operand("slice", "x", x);
  const at = axisOf("slice", axis, from.shape.length);
  const length = from.shape[at];
  const [first, last] = [start, end ?? length].map((n) => (Number.isInteger(n) && n < 0 ? n + length : n));
  if (!(Number.isInteger(first) && Number.isInteger(last) && 0 <= first && first <= last && last <= length))
    throw new ShapeError(
      "slice",
      `slice: from ${formatValue(start)} to ${formatValue(end ?? length)} of axis ${at} of length ${length}; ${formatTensor("x", from)}`,
      { axis, start, end, length },
    );
  const y = part(from, at, first, last - first);
  record({
    name: "slice",
    inputs: [from],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [undefined];
      const dx = zerosLike(from);
      assign({ name: "assign", x: d, y: part(dx, at, first, last - first) });
      return [dx];
    },
  });
  return y;
}

/**
 * Views of consecutive parts of one axis, `sizes[n]` positions each; the sizes add up to the length of the axis.
 *
 * @example
 * split(x, [4, 4]).map((part) => part.shape); // → [[2, 3, 4], [2, 3, 4]]
 */
export function split<T extends TensorLike>(
  x: T,
  sizes: readonly number[],
  axis: AxisArgument = -1,
): FloatTensorOf<T>[] {
  checkCount("split", arguments, 3);
  const from = operand("split", "x", x);
  const at = axisOf("split", axis, from.shape.length);
  if (!Array.isArray(sizes))
    throw new ShapeError(
      "split",
      `split: sizes must be a list of lengths such as [4, 4], got ${formatValue(sizes)}`,
      { got: sizes },
    );
  const total = sizes.every(Number.isInteger) ? sizes.reduce((sum, n) => sum + n, 0) : Number.NaN;
  if (total !== from.shape[at] || sizes.some((n) => !(Number.isInteger(n) && n >= 0)))
    throw new ShapeError(
      "split",
      `split: sizes ${formatValue(sizes)} do not make up axis ${typeof axis === "number" ? axis : at} of length ${from.shape[at]}; ${formatTensor("x", from)}`,
      { sizes, axis },
    );
  let start = 0;
  const parts = sizes.map((n) => part(from, at, (start += n) - n, n));
  record({
    name: "split",
    inputs: [from],
    outputs: parts,
    backward: (ds) => {
      if (ds.every((d) => d === undefined)) return [undefined];
      const dx = zerosLike(from);
      let next = 0;
      for (const [n, d] of ds.entries()) {
        if (d) assign({ name: "assign", x: d, y: part(dx, at, next, sizes[n]) });
        next += sizes[n];
      }
      return [dx];
    },
  });
  return parts;
}

/** Throws for what is not a list of one or more tensors. */
export function checkList(what: "concat" | "stack", xs: readonly TensorLike[]): void {
  if (!Array.isArray(xs) || xs.length === 0)
    throw new OptionError(
      what,
      `${what}: expected a list of one or more tensors, as in ${what}([a, b], axis), got ${formatValue(xs)}`,
      { got: xs },
    );
}

/**
 * Concatenates tensors along one axis, the first by default; all other axes have equal lengths.
 *
 * @example
 * concat([tensor([[1], [2]]), tensor([[3], [4]])], 1); // → [[1, 3], [2, 4]]
 */
export function concat<T extends TensorLike>(xs: readonly T[], axis: AxisArgument = 0): FloatTensorOf<T> {
  checkCount("concat", arguments, 2);
  checkList("concat", xs);
  const first = operand<T>("concat", "x[0]", xs[0]);
  const all = xs.map((x, n) => operand("concat", `x[${n}]`, x, first));
  const at = axisOf("concat", axis, first.shape.length);
  for (const [n, x] of all.entries())
    if (x.shape.length !== first.shape.length || x.shape.some((m, i) => i !== at && m !== first.shape[i]))
      throw new ShapeError(
        "concat",
        `concat: all axes but ${typeof axis === "number" ? axis : at} must agree; ${formatTensor("x[0]", first)}, ${formatTensor(`x[${n}]`, x)}`,
        { shapes: all.map((t) => t.shape), axis },
      );
  const shape = first.shape.map((n, i) => (i === at ? all.reduce((sum, x) => sum + x.shape[at], 0) : n));
  const y = resultLike(first, shape);
  let next = 0;
  for (const x of all) {
    assign({ name: "assign", x, y: part(y, at, next, x.shape[at]) });
    next += x.shape[at];
  }
  record({
    name: "concat",
    inputs: all,
    outputs: [y],
    backward: ([d]) => {
      let start = 0;
      return all.map((x) => d && part(d, at, (start += x.shape[at]) - x.shape[at], x.shape[at]));
    },
  });
  return y;
}

/**
 * [..., N, heads·D] as [..., heads, N, D]: a view. Head h holds columns h·D … h·D + D − 1.
 *
 * @example
 * splitHeads(x, 2).shape; // → [2, 2, 3, 4]
 */
export function splitHeads<T extends TensorLike>(x: T, heads: number): FloatTensorOf<T> {
  checkCount("splitHeads", arguments, 2);
  const from = operand("splitHeads", "x", x);
  const rank = from.shape.length;
  const width = from.shape[rank - 1];
  if (rank < 2 || !(Number.isInteger(heads) && heads > 0 && width % heads === 0))
    throw new ShapeError(
      "heads",
      `splitHeads: ${formatValue(heads)} heads do not divide the last axis; ${formatTensor("x", from)}`,
      { heads, shape: from.shape },
    );
  const D = width / heads;
  const [row, column] = from.strides.slice(-2);
  const y = viewOf(
    from,
    [...from.shape.slice(0, -2), heads, from.shape[rank - 2], D],
    [...from.strides.slice(0, -2), D * column, row, column],
    from.offset,
  );
  record({
    name: "splitHeads",
    inputs: [from],
    outputs: [y],
    backward: ([d]) => [d && headsMerged(d as FloatTensor)],
  });
  return y;
}

/**
 * [..., heads, N, D] as [..., N, heads·D]; a view where the elements are already in that order (a result in layout `bshd`).
 *
 * @example
 * mergeHeads(q).shape; // → [1, 4, 16]
 */
export function mergeHeads<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("mergeHeads", arguments, 1);
  const from = operand("mergeHeads", "x", x);
  const rank = from.shape.length;
  if (rank < 3)
    throw new ShapeError("rank", `mergeHeads: expected [..., heads, N, D], got ${formatTensor("x", from)}`, {
      shape: from.shape,
    });
  const heads = from.shape[rank - 3];
  const y = headsMerged(from);
  record({
    name: "mergeHeads",
    inputs: [from],
    outputs: [y],
    backward: ([d]) => [
      d && transposed(reshaped(d, [...d.shape.slice(0, -1), heads, from.shape[rank - 1]]), -3, -2),
    ],
  });
  return y;
}

function headsMerged<T extends FloatTensor>(x: T): T {
  const [heads, N, D] = x.shape.slice(-3);
  return reshaped(transposed(x, -3, -2), [...x.shape.slice(0, -3), N, heads * D]);
}

/** Overwrites a part of y, from `start` on along `axis`, with x. Not recorded. */
export function assignPart(x: Tensor, y: Tensor, axis: number, start: number): void {
  const place = part(y, axis, start, x.shape[axis]);
  assign({ name: "assign", x, y: place });
  // On a device a view holds the memory of its tensor.
  place.dispose();
}

/** A view of `count` positions of an axis. */
function part<T extends Tensor>(x: T, axis: number, start: number, count: number): T {
  const shape = x.shape.map((n, i) => (i === axis ? count : n));
  return viewOf(x, shape, x.strides, x.offset + start * x.strides[axis]);
}

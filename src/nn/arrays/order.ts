/** Order along an axis: `sort`, `topk`, `cumsum`. The gradient of a sorted element flows to the element it was. */
import * as arrays from "../../api/array.ts";
import { allocateLike } from "../../core/device/device.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { checkCount, formatTensor, formatValue, OptionError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { denseOf, reshaped, sizeOf, type Tensor, type TensorLike, viewOf } from "../../core/tensor.ts";
import type { AxisArgument, FloatTensor, FloatTensorOf } from "../ops/operand.ts";
import { axisOf, operand, recordUnary, resultLike } from "../ops/operand.ts";
import { rowsAround } from "../ops/select.ts";
import { slice } from "../ops/shapes.ts";

/** Elements in order, and the indices along the axis that they had. */
export interface Ordered<T = TensorLike> {
  readonly values: FloatTensorOf<T>;
  readonly indices: Tensor<"int32">;
}

/** The options of an order, of which the axis may be given alone. */
function orderOptions<O extends object>(
  what: string,
  options: number | readonly [number] | O,
  name: string,
): O {
  if (typeof options === "number" || Array.isArray(options)) return { axis: options } as unknown as O;
  checkOptionNames(what, options, ["axis", name]);
  return options as O;
}

/** Options of `sort`. */
export interface SortOptions {
  /** Default −1, the last one. */
  readonly axis?: number;
  /** Largest first. Default false. */
  readonly descending?: boolean;
}

/**
 * The elements in order along an axis, the last one by default, smallest first. Equal elements stay in order; NaN is larger than all.
 *
 * @example
 * sort(tensor([3, 1, 2])).values; // → [1, 2, 3], along the first axis: sort(x, 0)
 * sort(tensor([3, 1, 2]), { descending: true }).indices; // → [0, 2, 1]
 */
export function sort<T extends TensorLike>(x: T, options: AxisArgument | SortOptions = {}): Ordered<T> {
  checkCount("sort", arguments, 2);
  const { axis = -1, descending = false } = orderOptions<SortOptions>("sort", options, "descending");
  return sorted("sort", x, axis, descending);
}

function sorted<T extends TensorLike>(what: string, x: T, axis: number, descending: boolean): Ordered<T> {
  const from = operand(what, "x", x);
  const rows = rowsAround(from.shape, axisOf(what, axis, from.shape.length));
  const y = resultLike(from, rows);
  const position = tensorOver(allocateLike(from.storage, "int32", sizeOf(rows)), rows, "int32");
  arrays.sort({ name: "sort", x: reshaped(from as FloatTensor, rows), descending, y, position });
  const values = viewOf(y, from.shape);
  recordUnary(what, from, values, (dy, dx) =>
    arrays.extremeBackward({
      name: "extreme-backward",
      dy: reshaped(dy, rows),
      position,
      dx: viewOf(dx, rows),
    }),
  );
  return { values: values as FloatTensorOf<T>, indices: viewOf(position, from.shape) };
}

/** Options of `topk`. */
export interface TopkOptions {
  /** Default −1, the last one. */
  readonly axis?: number;
  /** False for the smallest. Default true. */
  readonly largest?: boolean;
}

/**
 * The `k` largest elements along an axis, the last one by default, largest first, and their indices.
 *
 * @example
 * topk(tensor([3, 1, 2]), 2).values; // → [3, 2]
 * topk(tensor([3, 1, 2]), 2).indices; // → [0, 2]
 */
export function topk<T extends TensorLike>(
  x: T,
  k: number,
  options: AxisArgument | TopkOptions = {},
): Ordered<T> {
  checkCount("topk", arguments, 3);
  const { axis = -1, largest = true } = orderOptions<TopkOptions>("topk", options, "largest");
  const from = operand("topk", "x", x);
  const at = axisOf("topk", axis, from.shape.length);
  const length = from.shape[at];
  if (!(Number.isInteger(k) && k >= 0 && k <= length))
    throw new OptionError(
      "k",
      `topk: k must be an integer from 0 to ${length}, the length of axis ${at}, got ${formatValue(k)}; ${formatTensor("x", from)}`,
      { got: k, length },
    );
  const { values, indices } = sorted("topk", from, at, largest);
  const shape = from.shape.map((n, i) => (i === at ? k : n));
  return {
    values: slice(values, at, 0, k) as FloatTensorOf<T>,
    indices: denseOf(viewOf(indices, shape, indices.strides, indices.offset)),
  };
}

/**
 * The sums of the elements up to each one along an axis, added in float64 and rounded once.
 *
 * @example
 * cumsum(tensor([1, 2, 3]), 0); // → [1, 3, 6]
 */
export function cumsum<T extends TensorLike>(x: T, axis: AxisArgument): FloatTensorOf<T> {
  checkCount("cumsum", arguments, 2);
  const from = operand("cumsum", "x", x);
  const rows = rowsAround(from.shape, axisOf("cumsum", axis, from.shape.length));
  const y = resultLike(from, from.shape);
  const run = (x: Tensor, y: Tensor, reverse: boolean) =>
    arrays.cumsum({ name: "cumsum", x: reshaped(x, rows), reverse, y: viewOf(y, rows) });
  run(from, y, false);
  recordUnary("cumsum", from, y, (dy, dx) => run(dy, dx, true));
  return y;
}

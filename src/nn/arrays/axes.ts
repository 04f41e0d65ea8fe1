/**
 * Axes: `permute`, `squeeze`, `expandDims`, and the axes that a reduction names. They change the shape and no values, so they take
 * tensors of every dtype; the results are views.
 */
import {
  argumentError,
  checkCount,
  formatTensor,
  formatValue,
  OptionError,
  ShapeError,
} from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { recordMove } from "../../core/recording/recording.ts";
import { asTensor, type Tensor, type TensorLike, viewOf } from "../../core/tensor.ts";
import { axisOf, type FloatTensorOf } from "../ops/operand.ts";

/** True for `{ axis }`. */
function isAxisOption(what: string, axis: unknown): axis is { readonly axis: AxesArgument } {
  const isOption = typeof axis === "object" && axis !== null && "axis" in axis;
  if (isOption) checkOptionNames(what, axis, ["axis"]);
  return isOption;
}

/** One axis or several, each counted from the end where it is negative. */
export type AxesArgument = number | readonly number[];

/** Options of functions that reduce axes. */
export interface ReduceOptions {
  /** The axes that are reduced. Default: all. */
  readonly axis?: AxesArgument;
  /** Keeps the reduced axes with length 1. Default false. */
  readonly keepAxis?: boolean;
}

/** A tensor of the dtype of its argument. */
export type MovedOf<T> = T extends Tensor<infer D> ? Tensor<D> : FloatTensorOf<T>;

/** AxesArgument as numbers from 0, in order and each once. */
export function axesOf(what: string, axes: AxesArgument, rank: number): number[] {
  if (typeof axes !== "number" && !Array.isArray(axes))
    throw argumentError(what, "an axis or a list of axes", axes);
  const list = [axes].flat().map((axis) => axisOf(what, axis, rank));
  const twice = list.find((axis, n) => list.indexOf(axis) < n);
  if (twice !== undefined)
    throw new ShapeError("axis", `${what}: ${formatValue(axes)} names axis ${twice} twice`, { axes });
  return list.sort((a, b) => a - b);
}

/**
 * The axes that the arguments of a reduction name, all by default, and its options: `options`, joined with those in the place of the axis;
 * the shape with those axes at length 1, and that of the result. `more` names options besides `axis` and `keepAxis`.
 */
export function reducedAxes<O extends ReduceOptions>(
  what: string,
  axis: AxesArgument | O | undefined,
  options: O,
  from: readonly number[],
  more: readonly string[] = [],
) {
  const names = ["axis", "keepAxis", ...more];
  const isOptions = typeof axis === "object" && axis !== null && !Array.isArray(axis);
  checkOptionNames(what, options, names);
  if (isOptions) checkOptionNames(what, axis, names);
  else if (axis !== undefined && options.axis !== undefined)
    throw new OptionError("axis", `${what}: the axis is named twice, as an argument and as an option`);
  const all: O = isOptions ? { ...(axis as O), ...options } : options;
  if (axis === null) throw argumentError(what, "an axis, a list of axes or options", axis);
  const named = isOptions ? all.axis : ((axis as AxesArgument | undefined) ?? all.axis);
  if (Array.isArray(named) && named.length === 0)
    throw new ShapeError("axis", `${what}: the list of axes is empty; leave it out for all axes`);
  const axes = named === undefined ? [...from.keys()] : axesOf(what, named, from.length);
  const keepAxis = all.keepAxis ?? false;
  const keptShape = from.map((n, i) => (axes.includes(i) ? 1 : n));
  return { axes, keepAxis, all, keptShape, shape: keptShape.filter((_, i) => keepAxis || !axes.includes(i)) };
}

/**
 * A view with the axes in another order: axis n of the result is axis `order[n]` of x. NumPy's `transpose(x, order)`.
 *
 * @example
 * permute(x, [2, 0, 1]).shape; // → [8, 2, 3]
 *
 * @throws ShapeError unless `order` has each axis once
 */
export function permute<T extends TensorLike>(x: T, order: readonly number[]): MovedOf<T> {
  checkCount("permute", arguments, 2, "the order is a list of axes, permute(x, [1, 0])");
  const from = asTensor("permute: x", x);
  const rank = from.shape.length;
  if (!Array.isArray(order) || order.length !== rank)
    throw new ShapeError(
      "axis",
      `permute: order must be a list of all ${rank} axes, such as [${from.shape.map((_, n) => rank - 1 - n).join(", ")}], got ${formatValue(order)}; ${formatTensor("x", from)}`,
      { got: order, rank },
    );
  axesOf("permute", order, rank);
  const axes = order.map((axis) => axisOf("permute", axis, rank));
  const y = permuted(from, axes);
  recordMove("permute", from, y, (d) =>
    permuted(
      d,
      axes.map((_, n) => axes.indexOf(n)),
    ),
  );
  return y as Tensor as MovedOf<T>;
}

const permuted = (x: Tensor, order: readonly number[]): Tensor =>
  viewOf(
    x,
    order.map((axis) => x.shape[axis]),
    order.map((axis) => x.strides[axis]),
    x.offset,
  );

/**
 * The tensor without axes of length 1: without all of them by default, or without those that are named.
 *
 * @example
 * squeeze(tensor([[[1, 2]]])); // → [1, 2]
 *
 * @throws ShapeError where a named axis has another length
 */
export function squeeze<T extends TensorLike>(
  x: T,
  axis?: AxesArgument | { readonly axis: AxesArgument },
): MovedOf<T> {
  checkCount("squeeze", arguments, 2);
  const from = asTensor("squeeze: x", x);
  const named = isAxisOption("squeeze", axis) ? axis.axis : (axis as AxesArgument | undefined);
  const { axes } = reducedAxes("squeeze", named, {}, from.shape);
  const long = axes.find((n) => from.shape[n] !== 1);
  if (named !== undefined && long !== undefined)
    throw new ShapeError(
      "axis",
      `squeeze: axis ${long} has length ${from.shape[long]}, and only axes of length 1 can be removed; ${formatTensor("x", from)}`,
      { axis: long, shape: from.shape },
    );
  const shape = from.shape.filter((length, n) => length !== 1 || !axes.includes(n));
  return from.reshape(shape) as Tensor as MovedOf<T>;
}

/**
 * The tensor with new axes of length 1 at these places of the result. PyTorch's `unsqueeze`.
 *
 * @example
 * expandDims(tensor([1, 2]), 0).shape; // → [1, 2]
 * expandDims(tensor([1, 2]), [0, -1]).shape; // → [1, 2, 1]
 */
export function expandDims<T extends TensorLike>(
  x: T,
  axis: AxesArgument | { readonly axis: AxesArgument },
): MovedOf<T> {
  checkCount("expandDims", arguments, 2);
  const from = asTensor("expandDims: x", x);
  const named = isAxisOption("expandDims", axis) ? axis.axis : (axis as AxesArgument);
  const axes = axesOf("expandDims", named, from.shape.length + [named].flat().length);
  const lengths = from.shape.slice();
  for (const n of axes) lengths.splice(n, 0, 1);
  return from.reshape(lengths) as Tensor as MovedOf<T>;
}

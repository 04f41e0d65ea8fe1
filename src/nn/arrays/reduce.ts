/** Sums along axes, and what follows from them: means, variances, norms. The gradient of a sum is broadcast over what was summed. */
import { cast, type ElementFunction, elementwise, where } from "../../api/array.ts";
import { checkCount, formatValue, OptionError } from "../../core/errors.ts";
import { record } from "../../core/recording/record.ts";
import { asTensor, reshaped, sizeOf, type Tensor, type TensorLike, viewOf } from "../../core/tensor.ts";
import { broadcast, combined, multiply, scaled, sub, sumTo } from "../ops/arithmetic.ts";
import { square } from "../ops/elementwise.ts";
import type { FloatTensor, FloatTensorOf } from "../ops/operand.ts";
import { allocateResult, constantLike, operand, resultLike, tensorFrom } from "../ops/operand.ts";
import { type AxesArgument, type ReduceOptions, reducedAxes } from "./axes.ts";

/** What a sum of a tensor of type T returns: float32 for bool, which counts. */
export type SumOf<T> = T extends { readonly dtype: "bool" } ? Tensor<"float32"> : FloatTensorOf<T>;

/**
 * The sum over one axis or several, which are removed (or kept with length 1: `keepAxis`), or over all axes by default: shape []. Of a
 * bool tensor it counts what is true, as float32, which is exact up to 2^24.
 *
 * @example
 * sum(tensor([[1, 2], [3, 4]]), 0); // → [4, 6]
 * sum(tensor([[true, false], [true, true]]), { axis: 1 }); // → [1, 2]
 */
export function sum<T extends TensorLike>(
  x: T,
  axis?: AxesArgument | ReduceOptions,
  options: ReduceOptions = {},
): SumOf<T> {
  checkCount("sum", arguments, 3);
  return reduce("sum", x, axis, options, false);
}

/**
 * The mean over one axis or several, or over all of them, as `sum`. Of a bool tensor it is the share that is true.
 *
 * @example
 * mean(tensor([[1, 2], [3, 4]]), -1); // → [1.5, 3.5]
 */
export function mean<T extends TensorLike>(
  x: T,
  axis?: AxesArgument | ReduceOptions,
  options: ReduceOptions = {},
): SumOf<T> {
  checkCount("mean", arguments, 3);
  return reduce("mean", x, axis, options, true);
}

/** A float operand, or the ones and zeros of a bool one. */
function countable(what: string, x: TensorLike): FloatTensor {
  const t = asTensor(`${what}: x`, x);
  if (t.dtype !== "bool") return operand(what, "x", t);
  const y = tensorFrom(allocateResult(t.storage, "float32", t.size), t.shape);
  cast({ name: "cast", x: t, y });
  return y;
}

function reduce<T extends TensorLike>(
  name: string,
  x: T,
  axis: AxesArgument | ReduceOptions | undefined,
  options: ReduceOptions,
  isMean: boolean,
): SumOf<T> {
  const from = countable(name, x);
  // With the summed axes at length 1 the result broadcasts back over x, which is also its gradient.
  const { keptShape, shape } = reducedAxes(name, axis, options, from.shape);
  const factor = isMean ? sizeOf(keptShape) / from.size : 1;
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
  return z as Tensor as SumOf<T>;
}

/** Options of `variance`. */
export interface VarianceOptions extends ReduceOptions {
  /** The sum of squares is divided by n − correction: 1 is the estimate from a sample (PyTorch's default), 0 that of NumPy. Default 1. */
  readonly correction?: number;
}

/**
 * The variance over one axis or several, or over all elements: PyTorch's `var`. The standard deviation is `sqrt(variance(x))`.
 *
 * @example
 * variance(tensor([1, 2, 3, 4]), { correction: 0 }); // → 1.25
 *
 * @throws OptionError unless there are more than `correction` elements
 */
export function variance<T extends TensorLike>(
  x: T,
  axis?: AxesArgument | VarianceOptions,
  options: VarianceOptions = {},
): FloatTensorOf<T> {
  checkCount("variance", arguments, 3);
  const from = operand("variance", "x", x);
  const { axes, keepAxis, all } = reducedAxes("variance", axis, options, from.shape, ["correction"]);
  const { correction = 1 } = all;
  const count = axes.reduce((n, i) => n * from.shape[i], 1);
  if (!(Number.isFinite(correction) && correction >= 0 && count > correction))
    throw new OptionError(
      "correction",
      `variance: correction must be a number from 0 to below ${count}, the elements of each sum, got ${formatValue(correction)}`,
      { got: correction, count },
    );
  if (axes.length === 0) return multiply(from, 0) as FloatTensorOf<T>;
  const centered: FloatTensor = sub(from as FloatTensor, mean(from as FloatTensor, axes, { keepAxis: true }));
  const total: FloatTensor = sum(square(centered), axes, { keepAxis });
  return multiply(total, 1 / (count - correction)) as FloatTensor as FloatTensorOf<T>;
}

/**
 * The length of the vectors along one axis or several, √Σx², or of all elements: NumPy's and PyTorch's default norm. The gradient of a
 * vector of zeros is 0.
 *
 * @example
 * norm(tensor([[3, 4], [6, 8]]), 1); // → [5, 10]
 */
export function norm<T extends TensorLike>(
  x: T,
  axis?: AxesArgument | ReduceOptions,
  options: ReduceOptions = {},
): FloatTensorOf<T> {
  checkCount("norm", arguments, 3);
  const from = operand("norm", "x", x);
  const { keptShape, shape } = reducedAxes("norm", axis, options, from.shape);
  const squares = mapped(from, "square");
  const y = mapped(sumTo(squares, keptShape), "sqrt");
  const z = shape.length === keptShape.length ? y : reshaped(y, shape);
  record({
    name: "norm",
    inputs: [from],
    outputs: [z],
    backward: ([d]) => {
      if (!d) return [undefined];
      // x/‖x‖, and 0 where the norm is 0.
      const divisor = resultLike(y, y.shape);
      where({ name: "where", condition: y, a: y, b: constantLike(y, 1), y: divisor });
      const direction = combined(from, divisor, from.shape, "divide");
      return [combined(direction, reshaped(d as FloatTensor, keptShape), from.shape, "multiply")];
    },
  });
  return z as FloatTensorOf<T>;
}

/** f(x), not recorded. */
function mapped(x: FloatTensor, f: ElementFunction): FloatTensor {
  const y = resultLike(x, x.shape);
  elementwise({ name: "elementwise", function: f, x, y });
  return y;
}

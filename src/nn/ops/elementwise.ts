/** Element-wise functions: exp, log, sqrt, square and abs. */
import { type ElementFunction, elementwise, elementwiseBackward } from "../../array.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { type FloatTensor, operand, recordUnary, resultLike } from "./operand.ts";

function apply(name: ElementFunction, x: TensorLike): FloatTensor {
  const from = operand(name, "x", x);
  const y = resultLike(from, from.shape);
  elementwise({ name: "elementwise", function: name, x: from, y });
  recordUnary(name, from, y, (dy, dx) =>
    elementwiseBackward({ name: "elementwise-backward", function: name, x: from, y, dy, dx }),
  );
  return y;
}

/**
 * e^x.
 *
 * @example
 * exp(tensor([0])); // → [1]
 */
export const exp = (x: TensorLike): FloatTensor => apply("exp", x);
/**
 * Natural logarithm.
 *
 * @example
 * log(tensor([1])); // → [0]
 */
export const log = (x: TensorLike): FloatTensor => apply("log", x);
/**
 * √x.
 *
 * @example
 * sqrt(tensor([4])); // → [2]
 */
export const sqrt = (x: TensorLike): FloatTensor => apply("sqrt", x);
/**
 * x².
 *
 * @example
 * square(tensor([3])); // → [9]
 */
export const square = (x: TensorLike): FloatTensor => apply("square", x);
/**
 * |x|; its derivative at 0 is 0.
 *
 * @example
 * abs(tensor([-1, 2])); // → [1, 2]
 */
export const abs = (x: TensorLike): FloatTensor => apply("abs", x);

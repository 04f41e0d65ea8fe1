/** Element-wise functions: exp, log, sqrt, square and abs. */
import { type ElementFunction, elementwise, elementwiseBackward } from "../../api/array.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { type FloatTensorOf, operand, recordUnary, resultLike } from "./operand.ts";

function apply<T extends TensorLike>(name: ElementFunction, x: T): FloatTensorOf<T> {
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
export const exp = <T extends TensorLike>(x: T): FloatTensorOf<T> => apply("exp", x);
/**
 * Natural logarithm.
 *
 * @example
 * log(tensor([1])); // → [0]
 */
export const log = <T extends TensorLike>(x: T): FloatTensorOf<T> => apply("log", x);
/**
 * √x.
 *
 * @example
 * sqrt(tensor([4])); // → [2]
 */
export const sqrt = <T extends TensorLike>(x: T): FloatTensorOf<T> => apply("sqrt", x);
/**
 * x².
 *
 * @example
 * square(tensor([3])); // → [9]
 */
export const square = <T extends TensorLike>(x: T): FloatTensorOf<T> => apply("square", x);
/**
 * |x|; its derivative at 0 is 0.
 *
 * @example
 * abs(tensor([-1, 2])); // → [1, 2]
 */
export const abs = <T extends TensorLike>(x: T): FloatTensorOf<T> => apply("abs", x);

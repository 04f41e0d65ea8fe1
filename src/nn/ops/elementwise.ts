/** Element-wise functions: exp, log, sqrt, square and abs. */

import { type ElementFunction, elementwise, elementwiseBackward } from "../../api/array.ts";
import { checkCount } from "../../core/errors.ts";
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
export function exp<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("exp", arguments, 1);
  return apply("exp", x);
}
/**
 * Natural logarithm.
 *
 * @example
 * log(tensor([1])); // → [0]
 */
export function log<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("log", arguments, 1);
  return apply("log", x);
}
/**
 * √x.
 *
 * @example
 * sqrt(tensor([4])); // → [2]
 */
export function sqrt<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("sqrt", arguments, 1);
  return apply("sqrt", x);
}
/**
 * x².
 *
 * @example
 * square(tensor([3])); // → [9]
 */
export function square<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("square", arguments, 1);
  return apply("square", x);
}
/**
 * |x|; its derivative at 0 is 0.
 *
 * @example
 * abs(tensor([-1, 2])); // → [1, 2]
 */
export function abs<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("abs", arguments, 1);
  return apply("abs", x);
}

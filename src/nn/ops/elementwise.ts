/** Functions of one number, applied to all of a tensor: what a formula on paper is written with. */
import { record } from "../../core/record.ts";
import type { TensorLike } from "../../core/tensor.ts";
import {
  type FloatTensor,
  type Numbers,
  numbersOf,
  operand,
  tensorFrom,
  uninitializedLike,
} from "./operand.ts";

/** y = f(x) with dy/dx = slope(x, y). */
function apply(
  name: string,
  x: TensorLike,
  f: (x: number) => number,
  derivative: (x: number, y: number) => number,
): FloatTensor {
  const from = operand(name, "x", x);
  const input = numbersOf(from);
  const output = mapped(input, (n) => f(input[n]));
  const y = tensorFrom(output, from.shape);
  record({
    name,
    inputs: [from],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [undefined];
      const dy = numbersOf(d);
      return [
        tensorFrom(
          mapped(dy, (n) => (dy[n] === 0 ? 0 : dy[n] * derivative(input[n], output[n]))),
          from.shape,
        ),
      ];
    },
  });
  return y;
}

function mapped(like: Numbers, value: (n: number) => number): Numbers {
  const out = uninitializedLike(like);
  for (let n = 0; n < out.length; n++) out[n] = value(n);
  return out;
}

/**
 * e^x.
 *
 * @example
 * exp(tensor([0])); // → [1]
 */
export const exp = (x: TensorLike): FloatTensor => apply("exp", x, Math.exp, (_, y) => y);
/**
 * Natural logarithm.
 *
 * @example
 * log(tensor([1])); // → [0]
 */
export const log = (x: TensorLike): FloatTensor => apply("log", x, Math.log, (x) => 1 / x);
/**
 * √x.
 *
 * @example
 * sqrt(tensor([4])); // → [2]
 */
export const sqrt = (x: TensorLike): FloatTensor => apply("sqrt", x, Math.sqrt, (_, y) => 0.5 / y);
/**
 * x².
 *
 * @example
 * square(tensor([3])); // → [9]
 */
export const square = (x: TensorLike): FloatTensor =>
  apply(
    "square",
    x,
    (x) => x * x,
    (x) => 2 * x,
  );
/**
 * |x|; its derivative at 0 is 0.
 *
 * @example
 * abs(tensor([-1, 2])); // → [1, 2]
 */
export const abs = (x: TensorLike): FloatTensor => apply("abs", x, Math.abs, (x) => Math.sign(x));

/**
 * Softmax over one axis:  y = e^(x − max)/Σ e^(x − max); a row of −∞ gives zeros, as in attention. Its gradient is
 * dx = y·(dy − Σ dy·y).
 */
import { formatTensor, ShapeError } from "../../core/errors.ts";
import { record } from "../../core/record.ts";
import type { TensorLike } from "../../core/tensor.ts";
import {
  axisOf,
  type FloatTensor,
  type Numbers,
  numbers,
  numbersOf,
  operand,
  tensorFrom,
  uninitializedLike,
} from "./operand.ts";
import { transpose } from "./shapes.ts";

/**
 * Softmax over one axis, the last by default; where all of it is −∞ the result is zeros.
 *
 * @example
 * softmax(tensor([[0, 0], [1, 1]])); // → [[0.5, 0.5], [0.5, 0.5]]
 */
export function softmax(x: TensorLike, axis = -1): FloatTensor {
  const from = rows("softmax", x);
  const rank = from.shape.length;
  const at = axisOf("softmax", axis, rank);
  if (at !== rank - 1) return transpose(softmax(transpose(from, at, -1)), at, -1);
  const C = from.shape[from.shape.length - 1];
  const input = numbersOf(from);
  const output = numbers(from.dtype, input.length);
  for (let at = 0; at < input.length; at += C) {
    let max = -Infinity;
    for (let n = 0; n < C; n++) if (!(input[at + n] <= max)) max = input[at + n];
    if (max === -Infinity) continue;
    let total = 0;
    for (let n = 0; n < C; n++) total += Math.exp(input[at + n] - max);
    for (let n = 0; n < C; n++) output[at + n] = Math.exp(input[at + n] - max) / total;
  }
  const y = tensorFrom(output, from.shape);
  record({
    name: "softmax",
    inputs: [from],
    outputs: [y],
    backward: ([d]) => [d && tensorFrom(softmaxGradient(output, numbersOf(d), C), from.shape)],
  });
  return y;
}

function softmaxGradient(y: Numbers, dy: Numbers, C: number): Numbers {
  const dx = uninitializedLike(y);
  for (let at = 0; at < y.length; at += C) {
    let dot = 0;
    for (let n = 0; n < C; n++) dot += y[at + n] * dy[at + n];
    for (let n = 0; n < C; n++) dx[at + n] = y[at + n] === 0 ? 0 : y[at + n] * (dy[at + n] - dot);
  }
  return dx;
}

/** An operand of at least one axis. */
export function rows(what: string, x: TensorLike): FloatTensor {
  const t = operand(what, "x", x);
  if (t.shape.length === 0)
    throw new ShapeError("rank", `${what}: expected at least one axis, got ${formatTensor("x", t)}`, {
      shape: t.shape,
    });
  return t;
}

/**
 * Softmax over one axis:  y = e^(x − max)/Σ e^(x − max); a row of −∞ gives zeros, as in attention. Its gradient is
 * dx = y·(dy − Σ dy·y).
 */
import { softmax as compute, softmaxBackward } from "../../api/array.ts";
import { checkCount, formatTensor, ShapeError } from "../../core/errors.ts";
import type { TensorLike } from "../../core/tensor.ts";
import type { AxisArgument, FloatTensorOf } from "./operand.ts";
import { axisOf, operand, recordUnary, resultLike } from "./operand.ts";
import { transpose } from "./shapes.ts";

/**
 * Softmax over one axis, the last by default; where all of it is −∞ the result is zeros.
 *
 * @example
 * softmax(tensor([[0, 0], [1, 1]])); // → [[0.5, 0.5], [0.5, 0.5]]
 */
export function softmax<T extends TensorLike>(x: T, axis: AxisArgument = -1): FloatTensorOf<T> {
  checkCount("softmax", arguments, 2);
  const from = rows("softmax", x);
  const rank = from.shape.length;
  const at = axisOf("softmax", axis, rank);
  if (at !== rank - 1) return transpose(softmax(transpose(from, at, -1)), at, -1) as typeof from;
  const y = resultLike(from, from.shape);
  compute({ name: "softmax", x: from, y });
  recordUnary("softmax", from, y, (dy, dx) => softmaxBackward({ name: "softmax-backward", y, dy, dx }));
  return y;
}

/** An operand of at least one axis. */
export function rows<T extends TensorLike>(what: string, x: T): FloatTensorOf<T> {
  const t = operand(what, "x", x);
  if (t.shape.length === 0)
    throw new ShapeError("rank", `${what}: expected at least one axis, got ${formatTensor("x", t)}`, {
      shape: t.shape,
    });
  return t;
}

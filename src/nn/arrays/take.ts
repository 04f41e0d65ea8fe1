/** Elements by index: `take` and `gather`. The gradient of an element is the sum over all reads of it. */
import { checkCount, formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { sizeOf, type TensorLike } from "../../core/tensor.ts";
import { embedding, type Ids, idsOf } from "../ops/lookup.ts";
import { type AxisArgument, axisOf, type FloatTensor, type FloatTensorOf, operand } from "../ops/operand.ts";
import { reshape } from "../ops/shapes.ts";
import { permute } from "./axes.ts";

/**
 * The positions of an axis that `indices` names, in that order: NumPy's `take`, PyTorch's `index_select`. The axis is replaced by the
 * shape of the indices. Negative indices count from the end.
 *
 * @param indices a list, or int32 or int64 on the CPU
 * @param axis default 0
 * @throws OptionError for an index outside the axis
 *
 * @example
 * take(tensor([[1, 2], [3, 4], [5, 6]]), [2, 0]); // → [[5, 6], [1, 2]]
 * take(tensor([[1, 2], [3, 4], [5, 6]]), [-1], 1); // → [[2], [4], [6]]
 */
export function takePositions<T extends TensorLike>(
  x: T,
  indices: Ids,
  axis: AxisArgument = 0,
): FloatTensorOf<T> {
  checkCount("take", arguments, 3);
  const from = operand("take", "x", x) as FloatTensor;
  const rank = from.shape.length;
  const at = axisOf("take", axis, rank);
  const length = from.shape[at];
  const { list, shape } = idsOf("take", indices, "indices");
  const ids = Int32Array.from(list, (_, n) => positionOf("take", list, n, length, at));
  const others = from.shape.filter((_, n) => n !== at);
  const order = [at, ...from.shape.flatMap((_, n) => (n === at ? [] : [n]))];
  const table = reshape(permute(from, order), [length, sizeOf(others)]);
  const rows = reshape(embedding(ids, table), [...shape, ...others]);
  // [indices, before the axis, after it] as [before the axis, indices, after it].
  const count = shape.length;
  const before = Array.from({ length: at }, (_, n) => count + n);
  const middle = Array.from({ length: count }, (_, n) => n);
  const after = Array.from({ length: rank - 1 - at }, (_, n) => count + at + n);
  return permute(rows, [...before, ...middle, ...after]) as FloatTensorOf<T>;
}

/**
 * One element for each index: where the axis is the first of three, the result is x[indices[i, j, k], j, k], in the shape of `indices`.
 * PyTorch's `gather`. Negative indices count from the end.
 *
 * @param indices int32 or int64 on the CPU with as many axes as x, and no longer than x along the other axes
 * @throws ShapeError, OptionError for an index outside the axis
 *
 * @example
 * gather(tensor([[1, 2], [3, 4]]), tensor([[0], [1]], "int32"), 1); // → [[1], [4]]
 */
export function gather<T extends TensorLike>(x: T, indices: Ids, axis: AxisArgument): FloatTensorOf<T> {
  checkCount("gather", arguments, 3);
  const from = operand("gather", "x", x) as FloatTensor;
  const at = axisOf("gather", axis, from.shape.length);
  const { list, shape } = idsOf("gather", indices, "indices");
  if (shape.length !== from.shape.length || shape.some((n, i) => i !== at && n > from.shape[i]))
    throw new ShapeError(
      "indices",
      `gather: indices must have the axes of x, none but axis ${at} longer, got indices ${formatValue([...shape])}; ${formatTensor("x", from)}; rows by index are take(x, indices, axis)`,
      { indices: shape, x: from.shape, axis: at },
    );
  // Places in x of the elements, row-major.
  const ids = Int32Array.from(list, (_, n) => {
    let [rest, place, step] = [n, 0, 1];
    for (let i = shape.length - 1; i >= 0; i--) {
      const index = i === at ? positionOf("gather", list, n, from.shape[i], i) : rest % shape[i];
      rest = Math.floor(rest / shape[i]);
      place += index * step;
      step *= from.shape[i];
    }
    return place;
  });
  return reshape(embedding(ids, reshape(from, [from.size, 1])), shape) as FloatTensorOf<T>;
}

/** Index n of a list as a position of an axis. */
function positionOf(what: string, list: Float64Array, n: number, length: number, axis: number): number {
  const index = list[n] < 0 ? list[n] + length : list[n];
  if (!(Number.isInteger(index) && index >= 0 && index < length))
    throw new OptionError(
      "index",
      `${what}: index ${formatValue(list[n])} at position ${n} of the indices; axis ${axis} has ${length} positions`,
      { got: list[n], position: n, length },
    );
  return index;
}

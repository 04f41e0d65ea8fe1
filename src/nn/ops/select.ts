/**
 * Selection: `where`, triangles, the largest or smallest element of an axis, indexing. The gradient flows to the selected
 * elements.
 */
import * as arrays from "../../api/array.ts";
import { fromNested, isNested } from "../../core/create/nested.ts";
import { allocateLike, placed } from "../../core/device/device.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { checkCount, formatTensor, formatValue, refuseValue, ShapeError } from "../../core/errors.ts";
import { record } from "../../core/recording/record.ts";
import type { NestedList, TensorLike } from "../../core/tensor.ts";
import { asTensor, reshaped, sizeOf, Tensor, viewOf } from "../../core/tensor.ts";
import { type AxesArgument, permute, type ReduceOptions, reducedAxes } from "../arrays/axes.ts";
import { broadcastShape, type Operand, operands, sumTo } from "./arithmetic.ts";
import type { AxisArgument, FloatTensor, FloatTensorOf, Precision } from "./operand.ts";
import { axisOf, constantLike, operand, recordUnary, refuseMask, resultLike, zerosLike } from "./operand.ts";
import { checkList, concat, reshape } from "./shapes.ts";

/**
 * `yes` where the condition is true or not 0, `no` elsewhere, broadcast. The gradient flows to the selected operand.
 *
 * @example
 * where(tensor([[true, false]]), 0, -Infinity);        // [[0, -Infinity]]: an additive mask
 * const scores = randn([4, 4], { seed: 1 });
 * where(tril(ones([4, 4])), scores, -Infinity);        // causal scores
 *
 * @param condition bool, or numbers of which 0 is false; nested arrays too
 */
export function where<X extends Operand, Y extends Operand>(
  condition: TensorLike | readonly unknown[],
  yes: X,
  no: Y,
): FloatTensorOf<X extends number | NestedList ? Y : X> {
  checkCount("where", arguments, 3);
  refuseMask("where", "condition", condition);
  const c = isNested(condition)
    ? asTensor("where: condition", fromNested("where: condition", condition))
    : asTensor("where: condition", condition as TensorLike);
  // Two numbers go to the device of the condition.
  const isConstant = typeof yes === "number" && typeof no === "number";
  const [a, b] = operands("where", yes, no).map(
    (t) => (isConstant ? placed("where", t, c.device) : t) as typeof t,
  );
  const shape = broadcastShape("where", { shape: broadcastShape("where", a, b), dtype: a.dtype }, c);
  const onDevice = isNested(condition) ? placed("where", c, a.device) : c;
  const z = chosen(onDevice, a, b, shape);
  record({
    name: "where",
    inputs: [a, b],
    outputs: [z],
    backward: ([d]) => {
      if (!d) return [undefined, undefined];
      const zero = constantLike(a, 0);
      return [
        sumTo(chosen(onDevice, d, zero, shape), a.shape),
        sumTo(chosen(onDevice, zero, d, shape), b.shape),
      ];
    },
  });
  return z;
}

/** condition ? a : b, broadcast to a shape. */
function chosen<T extends Tensor>(condition: Tensor, a: T, b: Tensor, shape: readonly number[]): T {
  const y = resultLike(a as Tensor as FloatTensor, shape);
  arrays.where({ name: "where", condition, a, b, y });
  return y as Tensor as T;
}

/**
 * The lower triangle of the last two axes, the rest 0. `diagonal` k keeps columns up to row + k; default 0.
 *
 * @example
 * tril(ones([2, 2])); // → [[1, 0], [1, 1]]
 */
export function tril<T extends TensorLike>(x: T, diagonal = 0): FloatTensorOf<T> {
  checkCount("tril", arguments, 2);
  return triangle("tril", x, diagonal, (row, column) => column <= row + diagonal);
}

/**
 * The upper triangle of the last two axes, the rest 0. `diagonal` k keeps columns from row + k on; default 0.
 *
 * @example
 * triu(ones([2, 2])); // → [[1, 1], [0, 1]]
 */
export function triu<T extends TensorLike>(x: T, diagonal = 0): FloatTensorOf<T> {
  checkCount("triu", arguments, 2);
  return triangle("triu", x, diagonal, (row, column) => column >= row + diagonal);
}

function triangle<T extends TensorLike>(
  what: string,
  x: T,
  diagonal: number,
  isKept: (row: number, column: number) => boolean,
): FloatTensorOf<T> {
  const from = operand(what, "x", x);
  const [M, N] = from.shape.slice(-2);
  if (from.shape.length < 2)
    throw new ShapeError("rank", `${what}: expected a matrix [..., M, N], got ${formatTensor("x", from)}`, {
      shape: from.shape,
    });
  if (!Number.isInteger(diagonal)) refuseValue(what, "diagonal", "an integer", diagonal);
  const flags = Uint8Array.from({ length: M * N }, (_, n) => (isKept(Math.floor(n / N), n % N) ? 1 : 0));
  const mask = placed(what, new Tensor(flags, [M, N], "bool"), from.device);
  const masked = <D extends Tensor>(t: D) => chosen(mask, t, constantLike(from, 0), from.shape);
  const y = masked(from);
  record({ name: what, inputs: [from], outputs: [y], backward: ([d]) => [d && masked(d)] });
  return y;
}

/**
 * The largest element along an axis, which is removed (or kept with length 1: `keepAxis`), or of all elements. The gradient
 * flows to the first of equal elements. The result is NaN where an element is NaN.
 *
 * @example
 * max(tensor([[1, 5], [7, 2]]), -1); // → [5, 7]
 */
export function max<T extends TensorLike>(
  x: T,
  axis?: AxesArgument | ReduceOptions,
  options: ReduceOptions = {},
): FloatTensorOf<T> {
  checkCount("max", arguments, 3);
  return extreme("max", x, axis, options);
}

/**
 * The smallest element along an axis, or of all elements; otherwise as `max`.
 *
 * @example
 * min(tensor([[1, 5], [7, 2]]), -1); // → [1, 2]
 */
export function min<T extends TensorLike>(
  x: T,
  axis?: AxesArgument | ReduceOptions,
  options: ReduceOptions = {},
): FloatTensorOf<T> {
  checkCount("min", arguments, 3);
  return extreme("min", x, axis, options);
}

function extreme<T extends TensorLike>(
  what: "max" | "min",
  x: T,
  axis: AxesArgument | ReduceOptions | undefined,
  options: ReduceOptions,
): FloatTensorOf<T> {
  const from = operand(what, "x", x);
  const rank = from.shape.length;
  const { axes, shape } = reducedAxes(what, axis, options, from.shape);
  if (axes.length > 1 && axes.length < rank) {
    // Several axes become the last one.
    const others = from.shape.flatMap((_, i) => (axes.includes(i) ? [] : [i]));
    const lengths = others.map((i) => from.shape[i]);
    const joined = reshape(permute(from as FloatTensor, [...others, ...axes]), [...lengths, -1]);
    return reshape(extreme(what, joined, -1, {}), shape) as typeof from;
  }
  const { rows, y, position } = bestOf(what, from, axes.length === 1 ? axes[0] : undefined, what);
  const best = viewOf(y, shape);
  recordUnary(what, from, best, (dy, dx) =>
    arrays.extremeBackward({
      name: "extreme-backward",
      dy: reshaped(dy, y.shape),
      position,
      dx: viewOf(dx, rows),
    }),
  );
  return best;
}

/**
 * The position of the largest element along an axis, the first of equals, as int32; without an axis, over all elements in
 * row-major order.
 *
 * @example
 * argmax(tensor([[1, 5], [7, 2]]), -1); // → [1, 0]
 */
export function argmax(x: TensorLike, axis?: AxisArgument): Tensor<"int32"> {
  checkCount("argmax", arguments, 2);
  const from = operand("argmax", "x", x);
  const at = axis === undefined ? undefined : axisOf("argmax", axis, from.shape.length);
  const { position } = bestOf("argmax", from, at, "max");
  return viewOf(
    position,
    from.shape.filter((_, i) => at !== undefined && i !== at),
  );
}

/** The best element along an axis, with its position; `rows` is the shape [outer, length, inner] of x around the axis. */
function bestOf<D extends Precision>(
  what: string,
  x: FloatTensor<D>,
  axis: number | undefined,
  f: "max" | "min",
) {
  const rows = axis === undefined ? [1, x.size, 1] : rowsAround(x.shape, axis);
  const [outer, length, inner] = rows;
  if (length === 0 && outer * inner > 0)
    throw new ShapeError("empty", `${what}: there is no element to choose from; ${formatTensor("x", x)}`, {
      shape: x.shape,
      axis,
    });
  const y = resultLike(x, [outer, 1, inner]);
  const position = tensorOver(allocateLike(x.storage, "int32", outer * inner), [outer, 1, inner], "int32");
  arrays.extreme({ name: "extreme", function: f, x: reshaped(x, rows), y, position });
  return { rows, y, position };
}

/** [outer, length, inner]: a shape with the axes before and after an axis joined. */
export const rowsAround = (shape: readonly number[], axis: number): number[] => [
  sizeOf(shape.slice(0, axis)),
  shape[axis],
  sizeOf(shape.slice(axis + 1)),
];

/** What `pick` takes for an axis: one position (the axis is removed), a range [start, end] or [start, end, step], or null for all. */
export type Index = number | readonly [start: number, end: number, step?: number] | null;

/**
 * A view of some positions of each axis; axes without an entry keep all positions. Negative positions count from the end.
 *
 * @example
 * pick(x, 0).shape;                   // NumPy's x[0]: [3, 8]
 * pick(x, null, [1, 3]).shape;        // x[:, 1:3]: [2, 2, 8]
 * pick(x, -1, null, [0, 8, 2]).shape; // → [3, 4], x[-1, :, 0:8:2]
 */
export function pick<T extends TensorLike>(x: T, ...indices: Index[]): FloatTensorOf<T> {
  const from = operand("pick", "x", x);
  const rank = from.shape.length;
  if (indices.length > rank)
    throw new ShapeError(
      "rank",
      `pick: ${indices.length} indices for ${rank} axes; ${formatTensor("x", from)}`,
      { shape: from.shape },
    );
  const y = pickedView(from, indices);
  record({
    name: "pick",
    inputs: [from],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [undefined];
      const dx = zerosLike(from);
      arrays.assign({ name: "assign", x: d, y: pickedView(dx, indices) });
      return [dx];
    },
  });
  return y;
}

/** The view of a tensor that indices select. */
function pickedView<T extends FloatTensor>(from: T, indices: readonly Index[]): T {
  let offset = from.offset;
  const [shape, strides]: [number[], number[]] = [[], []];
  for (const [axis, n] of from.shape.entries()) {
    const index = axis < indices.length ? indices[axis] : null;
    const fail = (): never => {
      throw new ShapeError(
        "index",
        `pick: ${formatValue(index)} on axis ${axis} of length ${n}; expected a position, [start, end], [start, end, step] or null; ${formatTensor("x", from)}`,
        { axis, index, length: n },
      );
    };
    const position = (i: unknown): number =>
      Number.isInteger(i) ? ((i as number) < 0 ? (i as number) + n : (i as number)) : fail();
    if (typeof index === "number") {
      const i = position(index);
      if (i < 0 || i >= n) fail();
      offset += i * from.strides[axis];
      continue;
    }
    if (index !== null && !Array.isArray(index)) fail();
    const [start, end, step = 1] =
      index === null ? [0, n] : [position(index[0]), position(index[1]), index[2]];
    if (!(start >= 0 && start <= end && end <= n && Number.isInteger(step) && step >= 1)) fail();
    // A list of positions, as in NumPy's x[[0, 2, 3]], has such a step.
    if (step > 1 && step > end - start)
      throw new ShapeError(
        "index",
        `pick: ${formatValue(index)} is [start, end, step], and its step is longer than its range; positions one by one are take(x, [0, 2, 3], axis)`,
        { axis, index },
      );
    offset += start * from.strides[axis];
    shape.push(Math.ceil((end - start) / step));
    strides.push(from.strides[axis] * step);
  }
  return viewOf(from, shape, strides, offset);
}

/**
 * Tensors of one shape along a new axis.
 *
 * @example
 * stack([tensor([1, 2]), tensor([3, 4])]); // → [[1, 2], [3, 4]]
 */
export function stack<T extends TensorLike>(xs: readonly T[], axis: AxisArgument = 0): FloatTensorOf<T> {
  checkCount("stack", arguments, 2);
  checkList("stack", xs);
  const first = operand<T>("stack", "x[0]", xs[0]);
  const at = axisOf("stack", axis, first.shape.length + 1);
  const widened = xs.map((x, n) => {
    const t = operand("stack", `x[${n}]`, x, first);
    if (t.shape.join() !== first.shape.join())
      throw new ShapeError(
        "stack",
        `stack: all tensors must have one shape; ${formatTensor("x[0]", first)}, ${formatTensor(`x[${n}]`, t)}`,
        { n },
      );
    return reshape(t, [...t.shape.slice(0, at), 1, ...t.shape.slice(at)]);
  });
  return concat(widened, at) as typeof first;
}

/**
 * Choosing among elements: `where`, triangles, the largest of an axis, entries by position. Each gives its gradient to
 * the elements that it chose.
 */

import { formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { fromNested, isNested } from "../../core/nested.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/record.ts";
import { asTensor, eachRow, sizeOf, Tensor, type TensorLike } from "../../core/tensor.ts";
import { broadcastShape, gathered, type Operand, operands, spread } from "./arithmetic.ts";
import {
  axisOf,
  type FloatTensor,
  type Numbers,
  numbers,
  numbersOf,
  operand,
  tensorFrom,
  uninitialized,
} from "./operand.ts";
import { concat, reshape } from "./shapes.ts";

/**
 * `yes` where the condition holds (true, not 0), `no` elsewhere, broadcast. The gradient goes to the one that was chosen.
 *
 * @example
 * where(tensor([[true, false]]), 0, -Infinity);        // [[0, -Infinity]]: an additive mask
 * where(tril(ones([4, 4])), scores, -1e9);             // the masked scores of a textbook
 *
 * @param condition bool, or numbers of which 0 is false; nested arrays too
 */
export function where(condition: TensorLike | readonly unknown[], yes: Operand, no: Operand): FloatTensor {
  const c = isNested(condition)
    ? asTensor("where: condition", fromNested("where: condition", condition))
    : asTensor("where: condition", condition as TensorLike);
  const [a, b] = operands("where", yes, no);
  const shape = broadcastShape("where", { shape: broadcastShape("where", a, b), dtype: a.dtype }, c);
  const flags = spreadFlags(c, shape);
  const [p, q] = [spread(a, shape), spread(b, shape)];
  const out = uninitialized(a.dtype, sizeOf(shape));
  for (let n = 0; n < out.length; n++) out[n] = flags[n] ? p[n] : q[n];
  const z = tensorFrom(out, shape);
  const part = (d: Tensor, kept: 0 | 1, to: FloatTensor) => {
    const g = numbersOf(d);
    const own = numbers(a.dtype, g.length);
    for (let n = 0; n < g.length; n++) if (flags[n] === kept) own[n] = g[n];
    return gathered(tensorFrom(own, shape), to.shape);
  };
  record({
    name: "where",
    inputs: [a, b],
    outputs: [z],
    backward: ([d]) => [d && part(d, 1, a), d && part(d, 0, b)],
  });
  return z;
}

function spreadFlags(c: Tensor, shape: readonly number[]): Uint8Array {
  const values = c.toFloat64();
  const dense = tensorFrom(values, c.shape);
  return Uint8Array.from(spread(dense, shape), (x) => (x === 0 ? 0 : 1));
}

/**
 * The lower triangle of the last two axes, the rest 0. `diagonal` k keeps columns up to row + k; default 0.
 *
 * @example
 * tril(ones([2, 2])); // → [[1, 0], [1, 1]]
 */
export const tril = (x: TensorLike, diagonal = 0): FloatTensor =>
  triangle("tril", x, diagonal, (row, column) => column <= row + diagonal);

/**
 * The upper triangle of the last two axes, the rest 0. `diagonal` k keeps columns from row + k on; default 0.
 *
 * @example
 * triu(ones([2, 2])); // → [[1, 1], [0, 1]]
 */
export const triu = (x: TensorLike, diagonal = 0): FloatTensor =>
  triangle("triu", x, diagonal, (row, column) => column >= row + diagonal);

function triangle(
  what: string,
  x: TensorLike,
  diagonal: number,
  isKept: (row: number, column: number) => boolean,
): FloatTensor {
  const from = operand(what, "x", x);
  const [M, N] = from.shape.slice(-2);
  if (from.shape.length < 2)
    throw new ShapeError("rank", `${what}: expected a matrix [..., M, N], got ${formatTensor("x", from)}`, {
      shape: from.shape,
    });
  if (!Number.isInteger(diagonal))
    throw new OptionError("diagonal", `${what}: diagonal must be an integer, got ${formatValue(diagonal)}`, {
      got: diagonal,
    });
  const cut = (t: Tensor) => {
    const input = numbersOf(t);
    const out = numbers(from.dtype, input.length);
    for (let n = 0; n < input.length; n++) if (isKept(Math.floor(n / N) % M, n % N)) out[n] = input[n];
    return tensorFrom(out, from.shape);
  };
  const y = cut(from);
  record({ name: what, inputs: [from], outputs: [y], backward: ([d]) => [d && cut(d)] });
  return y;
}

/**
 * The largest element of an axis, which goes (or stays with length 1: `keepAxis`), or of all. The gradient goes to the
 * first of equals. NaN wins, as in the formula.
 *
 * @example
 * max(tensor([[1, 5], [7, 2]]), -1); // → [5, 7]
 */
export function max(x: TensorLike, axis?: number, options: { keepAxis?: boolean } = {}): FloatTensor {
  return extreme("max", x, axis, options, (a, b) => a > b);
}

/**
 * The smallest element of an axis, or of all; as `max`.
 *
 * @example
 * min(tensor([[1, 5], [7, 2]]), -1); // → [1, 2]
 */
export function min(x: TensorLike, axis?: number, options: { keepAxis?: boolean } = {}): FloatTensor {
  return extreme("min", x, axis, options, (a, b) => a < b);
}

function extreme(
  what: string,
  x: TensorLike,
  axis: number | undefined,
  options: { keepAxis?: boolean },
  isBetter: (a: number, b: number) => boolean,
): FloatTensor {
  checkOptionNames(what, options, ["keepAxis"]);
  const { keepAxis = false } = options;
  const from = operand(what, "x", x);
  const { places, shape, kept } = bestPlaces(what, from, axis, isBetter);
  const input = numbersOf(from);
  const out = uninitialized(from.dtype, places.length);
  for (let n = 0; n < places.length; n++) out[n] = input[places[n]];
  const y = tensorFrom(out, keepAxis ? kept : shape);
  record({
    name: what,
    inputs: [from],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [undefined];
      const dx = numbers(from.dtype, from.size);
      const dy = numbersOf(d);
      for (let n = 0; n < places.length; n++) dx[places[n]] += dy[n];
      return [tensorFrom(dx, from.shape)];
    },
  });
  return y;
}

/**
 * Where the largest element of an axis is, the first of equals, as int32; over all elements (row-major) without an axis.
 *
 * @example
 * argmax(tensor([[1, 5], [7, 2]]), -1); // → [1, 0]
 */
export function argmax(x: TensorLike, axis?: number): Tensor<"int32"> {
  const from = operand("argmax", "x", x);
  const { places, shape, length, inner } = bestPlaces("argmax", from, axis, (a, b) => a > b);
  return new Tensor(
    Int32Array.from(places, (place) => Math.floor(place / inner) % length),
    shape,
    "int32",
  );
}

/** Positions (row-major) of the best element along an axis. */
function bestPlaces(
  what: string,
  x: FloatTensor,
  axis: number | undefined,
  isBetter: (a: number, b: number) => boolean,
) {
  const input: Numbers = numbersOf(x);
  const at = axis === undefined ? undefined : axisOf(what, axis, x.shape.length);
  const length = at === undefined ? x.size : x.shape[at];
  const inner = at === undefined ? 1 : sizeOf(x.shape.slice(at + 1));
  const count =
    length === 0 ? sizeOf(x.shape.map((n, i) => (i === at || at === undefined ? 1 : n))) : x.size / length;
  if (length === 0 && count > 0)
    throw new ShapeError("empty", `${what}: there is no element to choose from; ${formatTensor("x", x)}`, {
      shape: x.shape,
      axis,
    });
  const places = new Float64Array(count);
  for (let n = 0; n < count; n++) {
    const start = Math.floor(n / inner) * inner * length + (n % inner);
    let best = start;
    for (let i = 1; i < length; i++) {
      const place = start + i * inner;
      const value = input[place];
      if (isBetter(value, input[best]) || (value !== value && input[best] === input[best])) best = place;
    }
    places[n] = best;
  }
  const kept = x.shape.map((n, i) => (at === undefined || i === at ? 1 : n));
  return { places, length, inner, kept, shape: at === undefined ? [] : kept.filter((_, i) => i !== at) };
}

/** What `pick` takes for an axis: one position (the axis goes), a range [start, end] or [start, end, step], or null for all. */
export type Index = number | readonly [start: number, end: number, step?: number] | null;

/**
 * A view of some positions of each axis; axes without an entry stay whole. Negative positions count from the end.
 *
 * @example
 * pick(x, 0);                    // NumPy's x[0]
 * pick(x, null, [1, 3]);         // x[:, 1:3]
 * pick(x, -1, [0, 8, 2]);        // x[-1, 0:8:2]
 */
export function pick(x: TensorLike, ...indices: Index[]): FloatTensor {
  const from = operand("pick", "x", x);
  const rank = from.shape.length;
  if (indices.length > rank)
    throw new ShapeError(
      "rank",
      `pick: ${indices.length} indices for ${rank} axes; ${formatTensor("x", from)}`,
      {
        shape: from.shape,
      },
    );
  let offset = from.offset;
  const [shape, strides]: [number[], number[]] = [[], []];
  for (let axis = 0; axis < rank; axis++) {
    const n = from.shape[axis];
    const index = indices[axis] ?? null;
    const fail = (): never => {
      throw new ShapeError(
        "index",
        `pick: ${formatValue(index)} on axis ${axis} of length ${n}; expected a position, [start, end], [start, end, step] or null; ${formatTensor("x", from)}`,
        { axis, index, length: n },
      );
    };
    const place = (i: unknown): number =>
      Number.isInteger(i) ? ((i as number) < 0 ? (i as number) + n : (i as number)) : fail();
    if (typeof index === "number") {
      const i = place(index);
      if (i < 0 || i >= n) fail();
      offset += i * from.strides[axis];
      continue;
    }
    if (index !== null && !Array.isArray(index)) fail();
    const [start, end, step = 1] = index === null ? [0, n] : [place(index[0]), place(index[1]), index[2]];
    if (!(start >= 0 && start <= end && end <= n && Number.isInteger(step) && step >= 1)) fail();
    offset += start * from.strides[axis];
    shape.push(Math.ceil((end - start) / step));
    strides.push(from.strides[axis] * step);
  }
  const y = new Tensor(from.data, shape, from.dtype, strides, offset);
  record({
    name: "pick",
    inputs: [from],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [undefined];
      const dx = tensorFrom(numbers(from.dtype, from.size), from.shape);
      const target = dx.data;
      // The same view of a row-major tensor: element i of the view is where the gradient of x goes.
      const rows = numbersOf(d);
      const place = viewOf(dx, indices);
      let next = 0;
      eachRow(shape, place.strides, place.offset, (start, count, step) => {
        for (let n = 0; n < count; n++) target[start + n * step] = rows[next++];
      });
      return [dx];
    },
  });
  return y;
}

/** Strides and offset of the picked view over a row-major tensor; the indices were checked. */
function viewOf(
  { shape, strides }: Tensor,
  indices: readonly Index[],
): { strides: number[]; offset: number } {
  const own: number[] = [];
  let offset = 0;
  for (const [axis, n] of shape.entries()) {
    const index = indices[axis] ?? null;
    const place = (i: number) => (i < 0 ? i + n : i);
    if (typeof index === "number") offset += place(index) * strides[axis];
    else {
      if (index !== null) offset += place(index[0]) * strides[axis];
      own.push(strides[axis] * (index?.[2] ?? 1));
    }
  }
  return { strides: own, offset };
}

/**
 * Tensors of one shape along a new axis.
 *
 * @example
 * stack([tensor([1, 2]), tensor([3, 4])]); // → [[1, 2], [3, 4]]
 */
export function stack(xs: readonly TensorLike[], axis = 0): FloatTensor {
  if (!Array.isArray(xs) || xs.length === 0)
    throw new OptionError("stack", `stack: expected a list of one or more tensors, got ${formatValue(xs)}`, {
      got: xs,
    });
  const first = operand("stack", "x[0]", xs[0]);
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
  return concat(widened, at);
}

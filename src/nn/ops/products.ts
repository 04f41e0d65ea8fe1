/**
 * Matrix products and the linear map, computed by the engine's kernels (matmul.ts), and their gradients, which are products
 * again:  C = A·B gives dA = dC·Bᵀ and dB = Aᵀ·dC.
 */

import { matmul as product } from "../../api/matmul.ts";
import { checkCount, formatTensor, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/recording/record.ts";
import { reshaped, sizeOf, type Tensor, type TensorLike } from "../../core/tensor.ts";
import { broadcast, broadcastShape, sumTo } from "./arithmetic.ts";
import type { FloatTensor, FloatTensorOf } from "./operand.ts";
import { checkShapeIs, operand, storageOf, tensorFrom } from "./operand.ts";

/** Which of the two operands of `matmul` are given transposed in their last two axes. */
export interface ProductOptions {
  /** `a` is [..., K, M]. Default false. */
  transposeA?: boolean;
  /** `b` is [..., N, K]. Default false. */
  transposeB?: boolean;
}

/**
 * a·b over the last two axes: [..., M, K] and [..., K, N] to [..., M, N]. Leading axes broadcast. A vector [K] is a row
 * as `a` and a column as `b`, and its axis is removed from the result.
 *
 * @example
 * matmul(tensor([[1, 2]]), tensor([[3], [4]])); // → [[11]]
 */
export function matmul<T extends TensorLike>(
  a: T,
  b: TensorLike,
  options: ProductOptions = {},
): FloatTensorOf<T> {
  if (arguments.length > 3) checkCount("matmul", arguments, 3);
  checkOptionNames("matmul", options, ["transposeA", "transposeB"]);
  const { transposeA = false, transposeB = false } = options;
  const left = operand("matmul", "a", a);
  const other = operand("matmul", "b", b, left);
  if (left.shape.length === 1 || other.shape.length === 1)
    return vectorProduct(left, other, options) as typeof left;
  const [x, y] = broadcastLeading(left, other);
  const z = product(x, y, { transposeA, transposeB }) as typeof x;
  record({
    name: "matmul",
    inputs: [x, y],
    outputs: [z],
    backward: ([d], wanted = [true, true]) => {
      if (!d) return [undefined, undefined];
      // dA is [M, K] or, where A is transposed, [K, M]; dB likewise.
      const dx = () =>
        transposeA
          ? product(y, d, { transposeA: transposeB, transposeB: true })
          : product(d, y, { transposeB: !transposeB });
      const dy = () =>
        transposeB
          ? product(d, x, { transposeA: true, transposeB: transposeA })
          : product(x, d, { transposeA: !transposeA });
      return [wanted[0] ? sumTo(dx(), x.shape) : undefined, wanted[1] ? sumTo(dy(), y.shape) : undefined];
    },
  });
  return z;
}

function vectorProduct(a: FloatTensor, b: FloatTensor, options: ProductOptions): FloatTensor {
  const { transposeA = false, transposeB = false } = options;
  const [isRow, isColumn] = [a.shape.length === 1, b.shape.length === 1];
  const z = matmul(
    isRow ? a.reshape(transposeA ? [-1, 1] : [1, -1]) : a,
    isColumn ? b.reshape(transposeB ? [1, -1] : [-1, 1]) : b,
    options,
  );
  const rank = z.shape.length;
  return z.reshape(
    z.shape.filter((_, axis) => !((isRow && axis === rank - 2) || (isColumn && axis === rank - 1))),
  );
}

/** Both operands with equal leading axes, broadcast where needed. They stay as they are where one has no leading axes. */
function broadcastLeading<T extends FloatTensor>(a: T, b: FloatTensor): [T, FloatTensor] {
  const [p, q] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  if (p.length === 0 || q.length === 0 || p.join() === q.join()) return [a, b];
  const lead = broadcastShape("matmul", { shape: p, dtype: a.dtype }, { shape: q, dtype: b.dtype });
  return [broadcastTo(a, [...lead, ...a.shape.slice(-2)]), broadcastTo(b, [...lead, ...b.shape.slice(-2)])];
}

/** A tensor broadcast to a shape, recorded. The same tensor where it has it. */
function broadcastTo<T extends FloatTensor>(x: T, shape: readonly number[]): T {
  if (x.shape.join() === shape.join()) return x;
  const y = broadcast(x, shape);
  record({ name: "broadcast", inputs: [x], outputs: [y], backward: ([d]) => [d && sumTo(d, x.shape)] });
  return y;
}

/**
 * x·Wᵀ + b over the last axis: x [..., in], weight [out, in], bias [out], as PyTorch has them.
 *
 * @example
 * linear(tensor([[1, 2]]), tensor([[1, 0], [0, 3]]), tensor([10, 20])); // → [[11, 26]]
 */
export function linear<T extends TensorLike>(x: T, weight: TensorLike, bias?: TensorLike): FloatTensorOf<T> {
  checkCount("linear", arguments, 3);
  const from = operand("linear", "x", x);
  const w = operand("linear", "weight", weight, from);
  const rank = from.shape.length;
  if (w.shape.length !== 2 || rank === 0 || w.shape[1] !== from.shape[rank - 1])
    throw new ShapeError(
      "linear",
      `linear: weight must be [out, in] with in = the last axis of x; ${formatTensor("x", from)}, ${formatTensor("weight", w)}`,
      { x: from.shape, weight: w.shape },
    );
  const [out, width] = w.shape;
  const b = bias === undefined ? undefined : operand("linear", "bias", bias, from);
  if (b) checkShapeIs("linear", "bias", b, [out]);
  const rows = asRows(from, width);
  const z = reshaped(product(rows, w, { transposeB: true, ...(b && { bias: b }) }), [
    ...from.shape.slice(0, -1),
    out,
  ]) as typeof from;
  record({
    name: "linear",
    inputs: b ? [from, w, b] : [from, w],
    outputs: [z],
    backward: ([d], wanted = [true, true, true]) => {
      if (!d) return [];
      const dy = asRows(d, out);
      return [
        wanted[0] ? reshaped(product(dy, w), from.shape) : undefined,
        wanted[1] ? product(dy, rows, { transposeA: true }) : undefined,
        ...(b ? [wanted[2] ? sumTo(dy, [out]) : undefined] : []),
      ];
    },
  });
  return z;
}

/** [..., C] as [rows, C]: a view of a contiguous tensor, else a copy. */
export function asRows(x: Tensor, C: number): FloatTensor {
  const t = x as FloatTensor;
  if (t.shape.length === 2) return t;
  const shape = [sizeOf(t.shape.slice(0, -1)), C];
  return t.isContiguous() ? reshaped(t, shape) : tensorFrom(storageOf(t), shape);
}

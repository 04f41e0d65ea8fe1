/**
 * Comparisons, by the names that masks and PyTorch have; what follows from them: `clip` and `maskedFill`. A comparison gives a bool
 * tensor, through which no gradient flows.
 */
import * as arrays from "../../api/array.ts";
import { fromNested, isNested } from "../../core/create/nested.ts";
import { allocateLike, placed } from "../../core/device/device.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { DTYPES, type DType, isMask } from "../../core/dtype.ts";
import {
  checkCount,
  DTypeError,
  formatTensor,
  formatValue,
  OptionError,
  refuseValue,
} from "../../core/errors.ts";
import { asTensor, sameDevice, sizeOf, Tensor, type TensorLike } from "../../core/tensor.ts";
import { broadcastShape, type Operand } from "../ops/arithmetic.ts";
import { type FloatTensorOf, operand, refuseMask } from "../ops/operand.ts";
import { where } from "../ops/select.ts";

/**
 * True where x < y, broadcast; either may be a number. Tensors are float32, float64, bool, or integers, both of one dtype.
 *
 * @example
 * lt(tensor([1, 2, 3]), 2); // → [true, false, false]
 */
export function lt(x: Operand, y: Operand): Tensor<"bool"> {
  checkCount("lt", arguments, 2);
  return compared("lt", "lt", x, y);
}
/**
 * True where x ≤ y, otherwise as `lt`.
 *
 * @example
 * le(tensor([1, 2, 3]), 2); // → [true, true, false]
 */
export function le(x: Operand, y: Operand): Tensor<"bool"> {
  checkCount("le", arguments, 2);
  return compared("le", "le", x, y);
}
/**
 * True where x > y, otherwise as `lt`.
 *
 * @example
 * gt(tensor([1, 2, 3]), 2); // → [false, false, true]
 */
export function gt(x: Operand, y: Operand): Tensor<"bool"> {
  checkCount("gt", arguments, 2);
  return compared("gt", "lt", y, x);
}
/**
 * True where x ≥ y, otherwise as `lt`.
 *
 * @example
 * ge(tensor([1, 2, 3]), 2); // → [false, true, true]
 */
export function ge(x: Operand, y: Operand): Tensor<"bool"> {
  checkCount("ge", arguments, 2);
  return compared("ge", "le", y, x);
}
/**
 * True where x = y, otherwise as `lt`. NaN is equal to nothing.
 *
 * @example
 * mean(eq(argmax(tensor([[1, 5], [7, 2]]), -1), tensor([1, 1], "int32"))); // → 0.5, the share of right answers
 */
export function eq(x: Operand, y: Operand): Tensor<"bool"> {
  checkCount("eq", arguments, 2);
  return compared("eq", "eq", x, y);
}
/**
 * True where x ≠ y, otherwise as `lt`.
 *
 * @example
 * ne(tensor([1, 2, 3]), 2); // → [true, false, true]
 */
export function ne(x: Operand, y: Operand): Tensor<"bool"> {
  checkCount("ne", arguments, 2);
  return compared("ne", "ne", x, y);
}

function compared(what: string, f: arrays.Comparison, x: Operand, y: Operand): Tensor<"bool"> {
  const like = [x, y].find((t): t is Tensor => t instanceof Tensor);
  const first = comparable(what, "x", x, like);
  const [a, b] = [first, comparable(what, "y", y, like ?? first)];
  if (a.dtype !== b.dtype)
    throw new DTypeError(
      "dtype-mixed",
      `${what}: both must have one dtype; ${formatTensor("x", a)}, ${formatTensor("y", b)}; convert one: cast(x, "${b.dtype}")`,
      { x: a.dtype, y: b.dtype },
    );
  sameDevice(what, [
    ["x", a.device],
    ["y", b.device],
  ]);
  const shape = broadcastShape(what, a, b);
  const z = tensorOver(allocateLike(a.storage, "bool", sizeOf(shape)), shape, "bool");
  arrays.compare({ name: "compare", function: f, a, b, y: z });
  return z;
}

/** An operand of a comparison; numbers and nested arrays take the dtype and the device of the other one. */
function comparable(what: string, name: string, x: Operand, like: Tensor | undefined): Tensor {
  const t =
    like && (typeof x === "number" || isNested(x))
      ? placed(what, constant(what, x, like.dtype), like.device)
      : asTensor(`${what}: ${name}`, typeof x === "number" ? [x] : x);
  if (DTYPES[t.dtype].bits)
    throw new DTypeError(
      "dtype",
      `${what}: computes in float32 and float64 and compares integers, got ${formatTensor(name, t)}; convert it: cast(x, "float32")`,
      { name, dtype: t.dtype },
    );
  return t;
}

function constant(what: string, x: number | readonly unknown[], dtype: DType): Tensor {
  const { data, shape } = fromNested(what, x, dtype);
  return new Tensor(data, shape, dtype);
}

/**
 * x with numbers below `low` replaced by `low` and numbers above `high` by `high`; ±Infinity leaves a side open. The gradient is 0 where
 * a number was replaced. PyTorch's `clamp`.
 *
 * @example
 * clip(tensor([-2, 0.5, 3]), 0, 1); // → [0, 0.5, 1]
 */
export function clip<T extends TensorLike>(x: T, low: number, high: number): FloatTensorOf<T> {
  checkCount("clip", arguments, 3);
  const from = operand("clip", "x", x);
  if (!(typeof low === "number" && typeof high === "number" && low <= high))
    throw new OptionError(
      "bounds",
      `clip: expected two numbers, low ≤ high, got ${formatValue(low)} and ${formatValue(high)}; Infinity leaves a side open`,
      { low, high },
    );
  const raised = where(lt(from, low), low, from) as FloatTensorOf<T>;
  return where(gt(raised, high), high, raised) as FloatTensorOf<T>;
}

/**
 * x with `value` where the mask is true, broadcast: PyTorch's `masked_fill`. In `attnMask` true means the opposite: attend.
 *
 * @example
 * maskedFill(tensor([1, 2, 3]), [false, true, false], -9); // → [1, -9, 3]
 *
 * @param mask bool, or nested arrays of booleans
 */
export function maskedFill<T extends TensorLike>(x: T, mask: TensorLike, value: number): FloatTensorOf<T> {
  checkCount("maskedFill", arguments, 3);
  const from = operand("maskedFill", "x", x);
  refuseMask("maskedFill", "mask", mask);
  const flags = asTensor("maskedFill: mask", mask);
  if (!isMask(flags.dtype))
    throw new DTypeError(
      "mask-dtype",
      `maskedFill: the mask must be bool, true where the value is filled in, got ${formatTensor("mask", flags)}; for 1 = fill pass eq(mask, 1)`,
      { dtype: flags.dtype },
    );
  if (typeof value !== "number") refuseValue("maskedFill", "value", "a number", value);
  return where(
    isNested(mask) ? placed("maskedFill", flags, from.device) : flags,
    value,
    from,
  ) as FloatTensorOf<T>;
}

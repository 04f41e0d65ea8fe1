/**
 * Partial results joined, the one call: states over disjoint keys become the state over all of them (core/state.ts), on the
 * device on which they are.
 */
import { mergeStates as merge } from "./array.ts";
import { isDeviceData, type TensorStorage } from "./core/device.ts";
import { tensorOver } from "./core/device-tensor.ts";
import { arrayFor, arrayName, type DType, type TypedData } from "./core/dtype.ts";
import { formatTensor, formatValue, OptionError, ShapeError } from "./core/errors.ts";
import { recordWithoutDerivative } from "./core/record.ts";
import type { State } from "./core/state.ts";
import {
  asTensor,
  reshaped,
  sizeOf,
  type Tensor,
  type TensorLike,
  transposed,
  viewOf,
} from "./core/tensor.ts";

/**
 * Joins states over disjoint keys. All outputs have one shape and dtype, all lse the shape without the last axis.
 *
 * @example
 * const left = scaledDotProductAttention(q, k, v, { attnMask: keyLengths(2) });
 * const right = scaledDotProductAttention(q, k, v, { attnMask: not(keyLengths(2)) });
 * const whole = mergeStates([left, right]); // as if over all keys at once
 */
export function mergeStates(
  states: readonly { readonly output: TensorLike; readonly lse: TensorLike }[],
  options: { layout?: "bhsd" | "bshd" } = {},
): State {
  if (!Array.isArray(states) || states.length === 0)
    throw new OptionError(
      "states",
      `mergeStates: expected a list of one or more states, mergeStates([a, b]) of { output, lse }, got ${formatValue(states)}`,
      { got: states },
    );
  if (options === null || typeof options !== "object" || Array.isArray(options))
    throw new OptionError("options", `mergeStates: options must be an object, got ${formatValue(options)}`, {
      got: options,
    });
  for (const name of Object.keys(options))
    if (name !== "layout")
      throw new OptionError(
        "option-name",
        `mergeStates: no option ${formatValue(name)}; the option is layout`,
        {
          option: name,
        },
      );
  for (const [n, state] of states.entries())
    if (state === null || typeof state !== "object")
      throw new OptionError(
        "states",
        `mergeStates: states[${n}] must be { output, lse }, got ${formatValue(state)}`,
        { got: state },
      );
  const { layout = "bhsd" } = options;
  if (layout !== "bhsd" && layout !== "bshd")
    throw new OptionError(
      "layout",
      `mergeStates: layout must be "bhsd" or "bshd", got ${formatValue(layout)}`,
      {
        got: layout,
      },
    );
  const parts = states.map(({ output, lse }, n) => ({
    output: asTensor(`mergeStates: states[${n}].output`, output),
    lse: asTensor(`mergeStates: states[${n}].lse`, lse),
  }));
  const first = parts[0];
  const shape = first.output.shape;
  // lse is [..., H, N] in both layouts; in `bshd` the output's rows come as [..., N, H].
  const rows = shape.slice(0, -1);
  const lseShape =
    layout === "bshd" ? [...rows.slice(0, -2), rows[rows.length - 1], rows[rows.length - 2]] : rows;
  parts.forEach((part, n) => {
    if (
      part.output.shape.join() !== shape.join() ||
      part.lse.shape.join() !== lseShape.join() ||
      shape.length < 1
    )
      throw new ShapeError(
        "states",
        `mergeStates: states[${n}] must have output [${shape.join(", ")}] and lse [${lseShape.join(", ")}], got ${formatTensor("output", part.output)}, ${formatTensor("lse", part.lse)}`,
      );
    if (part.output.dtype !== first.output.dtype || part.lse.dtype !== first.lse.dtype)
      throw new ShapeError(
        "states",
        `mergeStates: states[${n}] has other dtypes than states[0]: ${formatTensor("output", part.output)}, ${formatTensor("lse", part.lse)}`,
      );
  });

  const dv = shape[shape.length - 1];
  const count = sizeOf(rows);
  // lse as a list in the order of the rows of the output.
  const listOf = (lse: Tensor) => reshaped(layout === "bshd" ? transposed(lse) : lse, [count]);
  const output = newLike(first.output, [count, dv], first.output.dtype);
  const lse = newLike(first.lse, [count], first.lse.dtype);
  merge({
    name: "mergeStates",
    states: parts.map((part) => ({ output: reshaped(part.output, [count, dv]), lse: listOf(part.lse) })),
    output,
    lse,
  });
  const byRow = viewOf(lse, rows);
  const merged = {
    output: viewOf(output, shape),
    lse: layout === "bshd" ? transposed(byRow).dense() : byRow,
  };
  recordWithoutDerivative(
    "mergeStates",
    parts.flatMap((part) => [part.output, part.lse]),
    [merged.output, merged.lse],
    "attend over all keys in one call of scaledDotProductAttention where a gradient is needed",
  );
  return merged;
}

/** A new tensor on the device of `like`; a native Float16Array where `like` is one. */
function newLike({ storage }: Tensor, shape: readonly number[], dtype: DType): Tensor {
  return tensorOver(allocated(storage, dtype, sizeOf(shape)), shape, dtype);
}

function allocated(like: TensorStorage, dtype: DType, size: number): TensorStorage {
  if (isDeviceData(like)) return like.device.allocate(dtype, size);
  return arrayName(like) === "Float16Array"
    ? new (like.constructor as new (n: number) => TypedData)(size)
    : arrayFor(dtype, size);
}

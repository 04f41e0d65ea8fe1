/**
 * `mergeStates`: merges states over disjoint keys into the state over all of these keys (core/state.ts), on the device of
 * the states.
 */

import { isDeviceData } from "../core/device/device.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { arrayLike } from "../core/dtype.ts";
import { checkCount, formatTensor, OptionError, refuseGot, ShapeError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";
import { recordWithoutDerivative } from "../core/recording/record.ts";
import { checkLayout, type Layout } from "../core/shape.ts";
import type { State } from "../core/state.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { asTensor, denseOf, reshaped, sizeOf, transposed, viewOf } from "../core/tensor.ts";
import { mergeStates as merge } from "./array.ts";

/**
 * Merges states over disjoint keys. All outputs have the same shape and dtype; each lse has that shape without the last axis.
 *
 * @example
 * const left = scaledDotProductAttention(q, k, v, { attnMask: keyLengths(2) });
 * const right = scaledDotProductAttention(q, k, v, { attnMask: not(keyLengths(2)) });
 * const whole = mergeStates([left, right]); // as if over all keys in one call
 */
export function mergeStates(
  states: readonly { readonly output: TensorLike; readonly lse: TensorLike }[],
  options: { layout?: Layout } = {},
): State {
  checkCount("mergeStates", arguments, 2);
  if (!Array.isArray(states) || states.length === 0)
    refuseGot(
      "states",
      "mergeStates: expected a list of one or more states, mergeStates([a, b]) of { output, lse }",
      states,
    );
  checkNames("mergeStates", options, ["layout"]);
  for (const [n, state] of states.entries())
    if (state === null || typeof state !== "object" || !("output" in state && "lse" in state))
      refuseGot("states", `mergeStates: states[${n}] must be { output, lse }`, state);
  const layout = checkLayout("mergeStates", options.layout);
  const parts = states.map(({ output, lse }, n) => ({
    output: asTensor(`mergeStates: states[${n}].output`, output),
    lse: asTensor(`mergeStates: states[${n}].lse`, lse),
  }));
  // Also one state in two objects, over the same numbers.
  const isSame = (a: Tensor, b: Tensor) => a.storage === b.storage && a.offset === b.offset;
  const firstOf = ({ output, lse }: (typeof parts)[number]) =>
    parts.findIndex((part) => isSame(part.lse, lse) && isSame(part.output, output));
  const twice = parts.findIndex((part, n) => part.lse.size > 0 && firstOf(part) < n);
  if (twice > 0)
    throw new OptionError(
      "states",
      `mergeStates: states[${twice}] is states[${firstOf(parts[twice])}] again; its keys would count twice`,
      { state: twice },
    );
  const first = parts[0];
  const shape = first.output.shape;
  // lse is [..., H, N] in both layouts; in `bshd` the rows of the output are [..., N, H].
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
  const output = newLike(first.output, [count, dv]);
  const lse = newLike(first.lse, [count]);
  merge({
    name: "mergeStates",
    states: parts.map((part) => ({ output: reshaped(part.output, [count, dv]), lse: listOf(part.lse) })),
    output,
    lse,
  });
  const byRow = viewOf(lse, rows);
  const merged = {
    output: viewOf(output, shape),
    lse: layout === "bshd" ? denseOf(transposed(byRow)) : byRow,
  };
  recordWithoutDerivative(
    "mergeStates",
    parts.flatMap((part) => [part.output, part.lse]),
    [merged.output, merged.lse],
    "attend over all keys in one call of scaledDotProductAttention where a gradient is needed",
  );
  return merged;
}

/** A new tensor of a shape, with the device, the dtype and the array class of `like`. */
function newLike({ storage, dtype }: Tensor, shape: readonly number[]): Tensor {
  const size = sizeOf(shape);
  const data = isDeviceData(storage) ? storage.device.allocate(dtype, size) : arrayLike(storage, dtype, size);
  return tensorOver(data, shape, dtype);
}

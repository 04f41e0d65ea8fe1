/** Key masks of layers: one flag for each key. */

import { isNested, type NestedBooleans } from "../core/create/nested.ts";
import { placed } from "../core/device/device.ts";
import { formatTensor, ShapeError } from "../core/errors.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { keyMaskOperand } from "./ops/operand.ts";

/** A key mask [..., Nk] as a mask of the scores: [..., 1, 1, Nk], or [..., 1, Nk] without `heads`. */
export function expandKeyMask(
  what: string,
  keyMask: TensorLike | readonly NestedBooleans[],
  key: Tensor,
  heads = true,
): Tensor {
  const flags = keyMaskOperand(what, keyMask);
  const mask = isNested(keyMask) ? placed(what, flags, key.device) : flags;
  const lead = key.shape.slice(0, heads ? -3 : -2);
  const Nk = key.shape[key.shape.length - 2];
  const want = [...lead, Nk];
  const axes = mask.shape.length === 1 ? [...lead.map(() => 1), ...mask.shape] : mask.shape;
  const fits =
    axes.length === want.length && axes.every((n, i) => n === want[i] || (i < lead.length && n === 1));
  if (!fits)
    throw new ShapeError(
      "key-mask",
      `${what}: keyMask must be [${want.join(", ")}], one for each key, got ${formatTensor("keyMask", mask)}`,
      { got: mask.shape, want },
    );
  return mask.reshape([...axes.slice(0, -1), ...(heads ? [1, 1] : [1]), Nk]);
}

/** Linear maps with matrices that were packed in advance (packed.ts). */

import { matmulPacked, type PackedMatrix } from "../../api/packed.ts";
import { reshaped } from "../../core/tensor.ts";
import type { FloatTensor } from "./operand.ts";
import { asRows } from "./products.ts";

export { type PackedMatrix, packMatrix } from "../../api/packed.ts";

/**
 * x·Wᵀ + b over the last axis with a packed matrix, in float32. It has no derivative, so do not call it inside a tape.
 */
export function packedLinear(x: FloatTensor, weight: PackedMatrix, bias?: FloatTensor): FloatTensor {
  const [out, width] = weight.shape;
  return reshaped(matmulPacked(asRows(x, width), weight, bias), [...x.shape.slice(0, -1), out]);
}

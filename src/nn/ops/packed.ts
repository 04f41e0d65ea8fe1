/** Linear maps by matrices that were packed once (packed.ts). */
import { reshaped } from "../../core/tensor.ts";
import { matmulPacked, type PackedMatrix } from "../../packed.ts";
import type { FloatTensor } from "./operand.ts";
import { asRows } from "./products.ts";

export { type PackedDType, type PackedMatrix, packMatrix } from "../../packed.ts";

/**
 * x·Wᵀ + b over the last axis with a matrix that was packed once: float32, and no derivative, so it is not for use inside a tape.
 */
export function packedLinear(x: FloatTensor, weight: PackedMatrix, bias?: FloatTensor): FloatTensor {
  const [out, width] = weight.shape;
  return reshaped(matmulPacked(asRows(x, width), weight, bias), [...x.shape.slice(0, -1), out]);
}

/** Packed matrices, the weights of models, and products with them. Products of plain tensors: matmul.ts. */

import type { PackedMatrix } from "../backend/packed.ts";
import { STRIP_ROWS } from "../backend/product.ts";
import { resultArray } from "../core/arena.ts";
import type { StoredDType } from "../core/dtype.ts";
import { UnsupportedError } from "../core/errors.ts";
import { denseOf, Tensor } from "../core/tensor.ts";
import { allocatePacked, fillPacked } from "./dispatch/packed.ts";
import { matmul } from "./matmul.ts";

export type { PackedMatrix, PackedNumbers } from "../backend/packed.ts";

/**
 * A matrix W [N, K] in the memory and the order in which products read it fastest; `writeRows` or `writeColumns` fills it.
 * Undefined without WebAssembly, on the reference backend, and where the kernels' memory is full.
 */
export function packMatrix(shape: readonly [number, number], dtype: StoredDType): PackedMatrix | undefined {
  try {
    return allocatePacked(shape, dtype);
  } catch (error) {
    if (error instanceof UnsupportedError && error.code === "memory") return undefined;
    throw error;
  }
}

/**
 * x·Wᵀ + bias for a float32 x [M, K] whose rows have no gaps, and a bias [N]: the same bits as `matmul` with the unpacked
 * matrix. Not recorded. Shapes are trusted.
 */
export function matmulPacked(x: Tensor, weight: PackedMatrix, bias?: Tensor): Tensor<"float32"> {
  const [M] = x.shape;
  const [N, K] = weight.shape;
  if (M > 0 && N > 0 && K > 0) {
    const out = resultArray(M * N, STRIP_ROWS * N);
    const { data, offset, strides } = x as Tensor<"float32">;
    const start = bias && (denseOf(bias) as Tensor<"float32">);
    const filled = fillPacked({
      x: data,
      start: offset,
      row: strides[0],
      M,
      weight,
      bias: start?.data.subarray(start.offset, start.offset + N),
      out,
    });
    if (filled) return new Tensor(out, [M, N], "float32");
  }
  return matmul(x, weight.toTensor(), { transposeB: true, ...(bias && { bias }) }) as Tensor<"float32">;
}

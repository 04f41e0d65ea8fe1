/**
 * Matrix products, the one call: C = A·B over the last two axes. Shapes are resolved in backend/product.ts,
 * and dispatch.ts chooses the backend. The layers of nn and their gradients are made of it.
 */

import type { PackedDType, PackedMatrix } from "./backend/packed.ts";
import { type MatmulOptions, resolveProduct, STRIP_ROWS } from "./backend/product.ts";
import { resultArray } from "./core/arena.ts";
import { UnsupportedError } from "./core/errors.ts";
import { Tensor, type TensorLike } from "./core/tensor.ts";
import { allocatePacked, fillPacked, matmulBackend, type PrintablePlan, planOfProduct } from "./dispatch.ts";

export type { PackedDType, PackedMatrix, PackedNumbers } from "./backend/packed.ts";
export type { MatmulOptions } from "./backend/product.ts";

/**
 * a·b over the last two axes, a [..., M, K] and b [..., K, N] to [..., M, N], plus a bias [N] on every row.
 *
 * Leading axes are equal, or one of the two has none and serves all. float32 and 16-bit operands, which are widened,
 * give float32 sums of float32 products; float64 operands give float64. M, N and K may be 0: an empty sum is 0.
 *
 * Float32 sums go in blocks of 256 along K, each from 0 in order of k, the blocks then added in order: the result has
 * the same bits whatever the number of threads, and a row of it the same bits in a product of any number of rows.
 *
 * @throws ShapeError, DTypeError, OptionError before any work
 */
export function matmul(
  a: TensorLike,
  b: TensorLike,
  options: MatmulOptions = {},
): Tensor<"float32" | "float64"> {
  const product = resolveProduct("matmul", a, b, options);
  return matmulBackend(product).matmul(product) as Tensor<"float32" | "float64">;
}

/**
 * How a product would run, as a printable plan: kernel, steps, tasks, operations and memory. Nothing is computed.
 *
 * @example
 * console.log(String(explainMatmul(ones([64, 64]), ones([64, 64]))));
 */
export function explainMatmul(a: TensorLike, b: TensorLike, options: MatmulOptions = {}): PrintablePlan {
  return planOfProduct(resolveProduct("explainMatmul", a, b, options));
}

/**
 * A matrix W [N, K] in the memory and the order in which products read it fastest, to be filled by `writeRows` or `writeColumns`.
 * Undefined where there is none: without WebAssembly, on the reference backend, or where the kernels' memory is full.
 */
export function packMatrix(shape: readonly [number, number], dtype: PackedDType): PackedMatrix | undefined {
  try {
    return allocatePacked(shape, dtype);
  } catch (error) {
    if (error instanceof UnsupportedError && error.code === "memory") return undefined;
    throw error;
  }
}

/**
 * x·Wᵀ + bias for a float32 x [M, K] whose rows are without gaps, and a bias [N]: the bits of `matmul` with the whole matrix. Nothing is
 * recorded. Shapes are trusted.
 */
export function matmulPacked(x: Tensor, weight: PackedMatrix, bias?: Tensor): Tensor<"float32"> {
  const [M] = x.shape;
  const [N, K] = weight.shape;
  if (M > 0 && N > 0 && K > 0) {
    const out = resultArray(M * N, STRIP_ROWS * N);
    const { data, offset, strides } = x as Tensor<"float32">;
    const start = bias?.dense() as Tensor<"float32"> | undefined;
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

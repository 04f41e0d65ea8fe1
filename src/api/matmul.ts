/**
 * `matmul`: C = A·B over the last two axes. backend/product.ts resolves the shapes, and dispatch/ chooses the backend. The
 * layers of nn and their gradients call it.
 */

import { type MatmulOptions, resolveProduct } from "../backend/product.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { matmulBackend } from "./dispatch/matmul.ts";

export type { MatmulOptions } from "../backend/product.ts";

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
  return matmulBackend({ kind: "matmul", product }).matmul(product) as Tensor<"float32" | "float64">;
}

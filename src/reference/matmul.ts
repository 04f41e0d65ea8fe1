/**
 * The matrix product in plain loops, in float64:
 *
 *   C[i, j] = Σ_k A[i, k]·B[k, j], k from 0 to K − 1 in order, then + bias[j]
 *
 * B is copied into dense rows once; then four k at a time, so that an element of C is read and written once for four
 * products. It runs float64 calls and `backend: "reference"`, and the kernels are tested against it.
 */

import type { BackendPart } from "../backend/contract.ts";
import { allocateResult, type ProductInto } from "../backend/product.ts";
import { readerOf } from "../core/dtype.ts";
import type { Operand } from "../core/shape.ts";

/** Columns of C that are computed together: their sums and four rows of B stay in the L1 cache. */
const COLUMNS = 512;

/** Fills the result of a product. */
export function matmul(product: ProductInto): void {
  const { batch, M, N, K, a, b, bias, out, accumulate } = product;
  const readA = readerOf(a.tensor.dtype, a.tensor.data);
  const row = new Float64Array(K);
  const sums = new Float64Array(N);
  const added = bias && rowsOf(bias, 0, 1, N);
  let rows: Float64Array | undefined;
  let at = product.start;
  for (let t = 0; t < batch; t++) {
    if (!rows || b.base[t] !== b.base[t - 1]) rows = rowsOf(b, t, K, N);
    for (let i = 0; i < M; i++, at += N) {
      const from = a.base[t] + i * a.row;
      for (let k = 0; k < K; k++) row[k] = readA(from + k * a.column);
      sums.fill(0);
      for (let j = 0; j < N; j += COLUMNS) multiply(row, rows, sums, j, Math.min(N, j + COLUMNS));
      for (let j = 0; j < N; j++) {
        const x = added ? sums[j] + added[j] : sums[j];
        out[at + j] = accumulate ? out[at + j] + x : x;
      }
    }
  }
}

/** sums[j] += Σ_k row[k]·rows[k][j] for the columns `from` … `to`, in order of k. */
function multiply(row: Float64Array, rows: Float64Array, sums: Float64Array, from: number, to: number): void {
  const [K, N] = [row.length, sums.length];
  let k = 0;
  for (; k + 4 <= K; k += 4) {
    const [x0, x1, x2, x3] = [row[k], row[k + 1], row[k + 2], row[k + 3]];
    let at = k * N + from;
    for (let j = from; j < to; j++, at++)
      sums[j] = sums[j] + x0 * rows[at] + x1 * rows[at + N] + x2 * rows[at + 2 * N] + x3 * rows[at + 3 * N];
  }
  for (; k < K; k++) for (let j = from; j < to; j++) sums[j] += row[k] * rows[k * N + j];
}

/** The rows of one entry of an operand, dense. */
function rowsOf(x: Operand, t: number, rows: number, columns: number): Float64Array {
  const dense = new Float64Array(rows * columns);
  const read = readerOf(x.tensor.dtype, x.tensor.data);
  let at = 0;
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) dense[at++] = read(x.base[t] + i * x.row + j * x.column);
  return dense;
}

/** Matrix products. */
export const referenceMatmul: BackendPart<"matmul"> = {
  name: "reference",
  device: "cpu",
  supports: () => undefined,
  matmul(product) {
    const { product: into, result } = allocateResult(product);
    matmul(into);
    return result;
  },
};

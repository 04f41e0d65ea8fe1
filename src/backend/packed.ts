/**
 * A matrix W [N, K] of a linear map in the layout that products read fastest, packed once and then read by every product x·Wᵀ.
 * It is the only copy: W is written by rows or columns, can be read back, and is otherwise immutable. `packMatrix` (packed.ts)
 * makes one.
 */
import type { StoredDType } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";

/** Numbers of a packed matrix, 16-bit ones as their bits. */
export type PackedNumbers = Float32Array | Uint16Array;

/** A packed matrix. Its memory is released by `free`, or when it is collected. */
export interface PackedMatrix {
  /** [N, K] */
  readonly shape: readonly [number, number];
  readonly dtype: StoredDType;
  /** Writes rows of W from `first` on: `rows` is [n, K]. */
  writeRows(first: number, rows: PackedNumbers): void;
  /** Writes columns of W from `first` on: `columns` is [n, N], rows of the transposed matrix. */
  writeColumns(first: number, columns: PackedNumbers): void;
  /** Rows of W by their numbers, [n, K]. */
  readRows(rows: ArrayLike<number>): PackedNumbers;
  /** The whole matrix as a tensor [N, K]. */
  toTensor(): Tensor<StoredDType>;
  /** Releases its memory; it must not be used after. */
  free(): void;
}

/** Vectors of the captures, whose zeros at their ends are left out: sums and cosines as matrix products. */
import { type Tensor, tensor } from "../../src/index.ts";
import { matmul } from "../../src/nn/index.ts";
import { rowsOf } from "../head/packed.ts";

export type Rows = readonly (readonly number[])[];

function matrix(rows: Rows): Tensor {
  const width = Math.max(...rows.map(({ length }) => length));
  const numbers = rows.flatMap((row) => Array.from({ length: width }, (_, i) => row[i] ?? 0));
  return tensor(Float64Array.from(numbers), [rows.length, width]);
}

/** The sum of rows, each times its factor. */
export const sumOf = (factors: readonly number[], rows: Rows): number[] =>
  rowsOf(matmul(matrix([factors]), matrix(rows)) as never)[0];

/** Cosines of vectors with each other: U·Uᵀ of rows of length 1. */
export function cosines(vectors: Rows): number[][] {
  const unit = matrix(vectors.map((vector) => vector.map((x) => x / Math.hypot(...vector))));
  return rowsOf(matmul(unit, unit, { transposeB: true }) as never);
}

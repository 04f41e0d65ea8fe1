/** A map of weights on the CPU: cells of queries × keys, from the weights of some rows at a time. */
import { readerOf } from "../core/dtype.ts";
import { checkShape, type Shape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import type { MapCells, Selection } from "./contract.ts";
import type { Problem } from "./problem.ts";

/** Shape of a map of weights, two numbers a cell: [2, ..., heads, rows, columns]. @beta */
export function cellsShape(s: Shape, heads: number, rows: number, columns: number): number[] {
  checkShape("cellsShape", s);
  return [2, ...s.batch, ...(s.heads ? [heads] : []), rows, columns];
}

/** Weights that are computed at once. */
const BLOCK = 2 ** 20;

/** The map of a problem on the CPU. `weightsOf` returns the weights of some rows. */
export function mapByRows(
  problem: Problem,
  { heads, rows, columns }: MapCells,
  weightsOf: (selection: Selection) => Tensor,
): Tensor {
  const { shape } = problem;
  const { B, Nk } = shape;
  const [R, C] = [rows.length - 1, columns.length - 1];
  const size = cellsShape(shape, heads.length, R, C);
  const part = B * heads.length * R * C;
  const out = new Float32Array(2 * part);
  const blockRows = Math.max(1, Math.floor(BLOCK / Math.max(1, B * Nk)));
  const sums = new Float64Array(B * C);
  heads.forEach((head, n) => {
    for (let r = 0; r < R; r++) {
      sums.fill(0);
      for (let from = rows[r]; from < rows[r + 1]; from += blockRows) {
        const count = Math.min(blockRows, rows[r + 1] - from);
        const list = Array.from({ length: count }, (_, i) => from + i);
        const weights = weightsOf({ heads: [head], rows: list });
        const read = readerOf(weights.dtype, weights.data);
        for (let b = 0, at = 0; b < B; b++)
          for (let i = 0; i < count; i++)
            for (let c = 0; c < C; c++) {
              const cell = ((b * heads.length + n) * R + r) * C + c;
              for (let j = columns[c]; j < columns[c + 1]; j++) {
                const w = read(at++);
                sums[b * C + c] += w;
                if (w > out[cell]) out[cell] = w;
              }
            }
      }
      for (let b = 0; b < B; b++)
        for (let c = 0; c < C; c++) {
          const area = (rows[r + 1] - rows[r]) * (columns[c + 1] - columns[c]);
          out[part + ((b * heads.length + n) * R + r) * C + c] = sums[b * C + c] / area;
        }
    }
  });
  return new Tensor(out, size, "float32");
}

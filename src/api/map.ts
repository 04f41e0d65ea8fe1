/**
 * A map of attention: an N × N head as a picture of any size, with the largest and the mean weight of each cell of queries × keys, in
 * memory linear in N. A pattern one cell wide, such as attention to the previous token, stays visible in the largest weights.
 */
import type { MapCells } from "../backend/contract.ts";
import { mapByRows } from "../backend/map.ts";
import { type AttentionOptions, checkAttentionOptions, type Problem, resolve } from "../backend/problem.ts";
import { registeredBackend } from "../backend/registered.ts";
import { checkLse } from "../backend/results.ts";
import { selectionOf } from "../backend/selection.ts";
import { checkCount, formatValue, OptionError, UnsupportedError } from "../core/errors.ts";
import { recordWithoutDerivative } from "../core/recording/record.ts";
import { asTensor, sameDevice, type Tensor, type TensorLike, viewOf } from "../core/tensor.ts";
import { weightsBackend } from "./dispatch/forward.ts";
import { checkRowSums, weightsOf } from "./row-sums.ts";

/** Options of `attentionMap`: those of the forward call, and the cells. */
export interface MapOptions extends Omit<AttentionOptions, "returnWeights"> {
  /** The most rows and columns of the map; default 512. Row r has the queries i with ⌊i·rows/Nq⌋ = r, and columns likewise. */
  size?: number;
  /** Instead of `size`: the queries and keys of a cell. Cells at the end may be smaller. */
  cell?: number;
  /** Query heads; default all. */
  heads?: readonly number[];
}

/** A map: numbers for each cell of queries × keys, [..., heads, rows, columns], float32. */
export interface AttentionMap {
  /** The largest weight. */
  readonly largest: Tensor<"float32">;
  /** The mean weight over all queries and keys of the cell; masked ones count as 0. */
  readonly mean: Tensor<"float32">;
}

/**
 * The weights of whole heads as a map of at most 512 × 512 cells (`size`), without the N × N matrix: on a device by a kernel of its own, on
 * the CPU from some rows at a time.
 *
 * @param lse as `scaledDotProductAttention` returned it for the same inputs and options
 * @param options the same options; `size` or `cell`, and `heads`
 * @throws UnsupportedError where the device of the tensors makes no maps
 *
 * @example
 * const { lse } = scaledDotProductAttention(q, k, v, { isCausal: true });
 * attentionMap(q, k, lse, { isCausal: true, size: 2 }).largest.shape; // → [1, 2, 2, 2]
 */
export function attentionMap(
  query: TensorLike,
  key: TensorLike,
  lse: TensorLike,
  options: MapOptions = {},
): AttentionMap {
  const what = "attentionMap";
  checkCount(what, arguments, 4);
  checkAttentionOptions(what, options, ["size", "cell", "heads"]);
  const { size, cell, heads, ...same } = options;
  const problem = resolve(what, query, key, key, same);
  const { shape } = problem;
  const rowLse = checkLse(what, asTensor(`${what}: lse`, lse), problem);
  const startsOf = (length: number) => cellStarts(length, size, cell);
  const cells: MapCells = {
    heads: selectionOf(what, { heads }, shape).heads,
    rows: startsOf(shape.Nq),
    columns: startsOf(shape.Nk),
  };
  const { device, name } = weightsBackend({ kind: "weights", problem });
  sameDevice(what, [
    ["query", device],
    ["lse", rowLse.device],
  ]);
  const map = device === "cpu" ? onCpu : registeredBackend(device)?.map;
  if (map === undefined)
    throw new UnsupportedError(
      "device",
      `${what}: not available on the device "${device}": its backend ${name} makes no maps; move the tensors to the CPU with await tensor.to("cpu")`,
      { device },
    );
  const numbers = map(problem, rowLse, cells);
  const [, ...one] = numbers.shape;
  const [largest, mean] = [0, 1].map((n) =>
    viewOf(numbers, one, numbers.strides.slice(1), numbers.offset + n * numbers.strides[0]),
  ) as Tensor<"float32">[];
  if (device !== "cpu") numbers.dispose();
  recordWithoutDerivative(
    what,
    [shape.query.tensor, shape.key.tensor, rowLse],
    [largest, mean],
    "it is a picture",
  );
  return { largest, mean };
}

/** Where each row or column of cells begins, and the end of the last one. */
function cellStarts(length: number, size: number | undefined, cell: number | undefined): number[] {
  for (const [name, value] of Object.entries({ size, cell }))
    if (value !== undefined && !(Number.isInteger(value) && value > 0))
      throw new OptionError(name, `attentionMap: ${name} must be an integer ≥ 1, got ${formatValue(value)}`, {
        [name]: value,
      });
  if (size !== undefined && cell !== undefined)
    throw new OptionError(
      "size",
      `attentionMap: size (${size}) and cell (${cell}) were both passed; pass one of them`,
      { size, cell },
    );
  const count = cell === undefined ? Math.min(length, size ?? 512) : Math.ceil(length / cell);
  return Array.from({ length: count + 1 }, (_, n) =>
    cell === undefined ? Math.ceil((n * length) / Math.max(1, count)) : Math.min(length, n * cell),
  );
}

/** The map on the CPU. Two rows tell an lse of another call. */
function onCpu(problem: Problem, lse: Tensor, cells: MapCells): Tensor {
  const { Nq } = problem.shape;
  if (Nq > 0) checkRowSums(problem, lse, { heads: cells.heads, rows: [0, Nq - 1] });
  return mapByRows(problem, cells, (selection) => weightsOf(problem, lse, selection));
}

/**
 * Chooses the tiling of a resolved problem: the kernel, the rows of a task, the splits of the keys, and the parts that are in
 * the engine's memory together. Only the size of these parts depends on the number of threads, and it does not change a bit
 * of the result.
 */
import { uses } from "../../masks/expression/expr.ts";
import type { Problem } from "../problem.ts";

/** Register tile of the machine, by SIMD level. */
export interface Machine {
  /** Rows of the register tile and columns of its panel. */
  readonly tileRows: number;
  readonly panel: number;
  /** Few kernels: those in files have one height of row tiles, and decode one row. */
  readonly few?: boolean;
}

/** How a problem is divided into tasks and tiles. */
export interface Tiling {
  readonly kind: "forward" | "decode";
  readonly rowTile: number;
  readonly keyTile: number;
  /** Query heads of one task (decode only). */
  readonly headsPerTask: number;
  /** Number of parts of the keys that run as separate tasks and are merged. */
  readonly splits: number;
  /** Keys of each part, a multiple of the key tile. */
  readonly splitKeys: number;
}

/** Rows up to which keys are not packed: the decode kernel takes 0.8 of the forward kernel's time at 4 rows, 0.9 at 8 (measured: 12 heads, d 64, 2,048 keys). */
const DECODE_ROWS = 4;
/** Maximum number of rows of a decode task: their output stays in the L1 cache. */
const DECODE_TASK_ROWS = 16;
/** Register tiles of a row tile where there are few kernels. */
const FEW_GROUPS = 5;
/** Tasks below which the keys are split, and the fewest keys of a part. */
const MIN_TASKS = 16;
const MIN_SPLIT_KEYS = 1024;

/** Chooses the tiling of a problem. */
export function chooseTiling(problem: Problem, machine: Machine): Tiling {
  const { B, Hq, Hkv, G, Nq, Nk, dk, dv } = problem.shape;
  if (Nq <= (machine.few ? 1 : DECODE_ROWS)) {
    // About 4 KiB of K, then 4 KiB of V, in turn; at least the 8 keys of a softmax step.
    const keyTile = Math.min(64, Math.max(8, Math.floor(1024 / Math.max(dk, dv, 1) / 8) * 8));
    const single =
      machine.few ||
      problem.tensors.length > 0 ||
      problem.dropoutP > 0 ||
      (problem.mask !== undefined && (problem.score !== undefined || uses(problem.mask, "h")));
    const headsPerTask = single ? 1 : largestDivisor(G, Math.floor(DECODE_TASK_ROWS / Math.max(Nq, 1)));
    const tasks = B * Hkv * (G / headsPerTask);
    return {
      kind: "decode",
      rowTile: headsPerTask * Math.max(Nq, 1),
      keyTile,
      headsPerTask,
      ...chooseSplits(tasks, Nk, keyTile),
    };
  }
  const keyTile = dk > 160 || dv > 160 ? 64 : 128;
  // Small row tiles waste less at the edge of a mask, large ones reuse K more.
  const groups = Math.round((problem.mask && Nk <= 2048 ? 24 : 48) / machine.tileRows);
  const fewTasks = B * Hq * Math.ceil(Nq / (groups * machine.tileRows)) < MIN_TASKS;
  const rowTile =
    machine.tileRows * (machine.few ? FEW_GROUPS : fewTasks ? Math.max(2, Math.round(groups / 2)) : groups);
  const tasks = B * Hq * Math.ceil(Nq / rowTile);
  return { kind: "forward", rowTile, keyTile, headsPerTask: 1, ...chooseSplits(tasks, Nk, keyTile) };
}

function chooseSplits(tasks: number, Nk: number, keyTile: number): { splits: number; splitKeys: number } {
  if (tasks === 0 || tasks >= MIN_TASKS || Nk < 2 * MIN_SPLIT_KEYS) return { splits: 1, splitKeys: Nk };
  const wanted = Math.min(Math.ceil(MIN_TASKS / tasks), Math.floor(Nk / MIN_SPLIT_KEYS));
  const splitKeys = Math.ceil(Nk / wanted / keyTile) * keyTile;
  return { splits: Math.ceil(Nk / splitKeys), splitKeys };
}

function largestDivisor(n: number, limit: number): number {
  for (let d = Math.min(n, Math.max(1, limit)); d > 1; d--) if (n % d === 0) return d;
  return 1;
}

/** Bytes of one key and one query row in the engine's memory. */
export interface Costs {
  readonly key: number;
  readonly row: number;
  /** Per row and key: mask tensors. */
  readonly cell: number;
}

/** Parts that are staged together: groups of key heads, or ranges of one head. */
export interface StagingPlan {
  /** Key heads (over batch entries) staged at once. */
  readonly heads: number;
  readonly rows: number;
  readonly keys: number;
  readonly count: number;
}

/** Divides the staged data so that it fits the budget: complete heads if they fit, otherwise ranges of rows and keys of one head. */
export function planStaging(
  problem: Problem,
  tiling: Pick<Tiling, "rowTile" | "keyTile" | "splits">,
  costs: Costs,
  budget: number,
): StagingPlan {
  const { B, Hkv, G, Nq, Nk } = problem.shape;
  const all = B * Hkv;
  const headBytes = Nk * costs.key + G * Nq * costs.row + G * Nq * Nk * costs.cell;
  const heads = Math.max(1, Math.min(all, Math.floor(budget / Math.max(1, headBytes))));
  if (headBytes <= budget || all === 0 || tiling.splits > 1)
    return { heads, rows: Nq, keys: Nk, count: Math.ceil(all / heads) };
  // Keys use up to half of the budget, rows a third; mask cells bound the product of both.
  const tile = (n: number, step: number) => Math.max(step, Math.floor(n / step) * step);
  let keys = Math.min(Nk, tile(budget / 2 / costs.key, tiling.keyTile));
  let rows = Math.min(Nq, tile(budget / 3 / (G * costs.row), tiling.rowTile));
  while (
    costs.cell > 0 &&
    G * rows * keys * costs.cell > budget / 2 &&
    (rows > tiling.rowTile || keys > tiling.keyTile)
  )
    if (rows * 2 > keys && rows > tiling.rowTile) rows = tile(rows / 2, tiling.rowTile);
    else if (keys > tiling.keyTile) keys = tile(keys / 2, tiling.keyTile);
    else rows = tile(rows / 2, tiling.rowTile);
  return { heads: 1, rows, keys, count: all * Math.ceil(Nq / rows) * Math.ceil(Nk / keys) };
}

/**
 * Divides a backward pass into tasks: the cells of a grid of row ranges × key ranges of each key head. Cells of one row
 * range add to the same rows of dQ, cells of one key range to the same keys of dK and dV, so they run in waves in which no
 * two cells of a head share a range: cell (s, r) belongs to wave (s + r) mod W. So each sum has a fixed order, for any
 * number of threads. With a causal mask each wave has about half of its cells.
 */

import type { SimdLevel } from "../../../backend/plan/plan.ts";
import { type Costs, planStaging, type StagingPlan } from "../../../backend/plan/tiling.ts";
import type { Problem } from "../../../backend/problem.ts";
import { settings } from "../../../backend/settings.ts";
import { DTYPES, type StoredDType } from "../../../core/dtype.ts";
import { derivative } from "../../../masks/expression/derivative.ts";
import { backwardSpaceOf, paddedKey, paddedValue } from "../../codegen/layout.ts";
import { expressionsOf, packing, panelOf, roundUp, type Spec, stripOf } from "../../codegen/spec.ts";
import type { Engine } from "../../engine/engine.ts";
import type { CachedKernel } from "../../engine/kernel-cache.ts";
import { backward } from "../../kernels/attention/backward.ts";
import type { PoolImage, StageHeads } from "../plan.ts";
import {
  headCounts,
  headGroups,
  inBoundsLookups,
  once,
  packKernel,
  poolImage,
  Runs,
  specOf,
  withManyRows,
} from "../plan.ts";
import { type BiasGradientPlan, copyBytes } from "./bias-gradients.ts";

/** Minimum number of tasks of a wave; minimum rows and keys of a task, and its maximum number of rows. */
const MIN_TASKS = 8;
const MIN_RANGE = 192;
const MAX_ROWS = 256;
/** Maximum bytes of a key range, which should stay in the L2 cache: packed keys and values, keys in rows, dK and dV. */
const RANGE_BYTES = 512 * 1024;
/** Tasks of a thread in a wave where there are enough heads, and minimum bytes of a stage. */
const TASKS_PER_THREAD = 4;
const STAGE_BYTES = 2 ** 21;

/** The plan of a backward pass. */
export interface BackwardPlan {
  readonly spec: Spec;
  /**
   * Kernels, compiled when the plan first runs. `packKeys` packs keys into panels and, where the product needs it, into rows;
   * `packValues` packs values into panels.
   */
  kernels(): {
    readonly kernel: CachedKernel;
    readonly packKeys: CachedKernel;
    readonly packValues: CachedKernel;
  };
  /** True where keys cannot be read as rows in place. */
  readonly copyKeys: boolean;
  readonly rangeRows: number;
  readonly rangeKeys: number;
  readonly staging: StagingPlan;
  /** True where two stages are in memory together: one is computed while the other is copied in. */
  readonly overlaps: boolean;
  /** Gradients of terms added to the scores. */
  readonly sums?: BiasGradientPlan;
  /** Number of keys that is a multiple of both the panel and the rows of the register tile. */
  readonly strip: number;
  /** Columns of keys and of values, rounded up to full panels. */
  readonly keyColumns: number;
  readonly valueColumns: number;
  readonly pool: PoolImage;
  readonly runs: Runs;
  /** The heads of each stage. */
  groups(): readonly StageHeads[];
  /** Operations of the whole pass. */
  readonly work: number;
  /** Engine memory of the operands and gradients of one stage. */
  readonly stageBytes: number;
}

/** Tasks of one head in a wave. */
const tasksOf = ({ shape }: Problem, range: { rowTile: number; keyTile: number }): number =>
  Math.min(Math.ceil(shape.Nq / range.rowTile), Math.ceil(shape.Nk / range.keyTile));

/** Number of complete heads that are staged together: enough for the threads, few enough that copies overlap the work. */
function stageWholeHeads(
  problem: Problem,
  costs: Costs,
  bytesPerThread: number,
  threads: number,
  tasks: number,
): { heads: number; count: number; overlaps: boolean } {
  const { B, Hkv, G, Nq, Nk } = problem.shape;
  const bytes = Nk * costs.key + G * Nq * (costs.row + Nk * costs.cell);
  const fitting = Math.floor((bytesPerThread * threads) / 2 / Math.max(1, bytes));
  const wanted = Math.max(Math.ceil((TASKS_PER_THREAD * threads) / tasks), Math.floor(STAGE_BYTES / bytes));
  let heads = Math.max(1, Math.min(B * Hkv, fitting, wanted));
  // Complete batch entries are copied as one range.
  if (heads > Hkv) heads -= heads % Hkv;
  return { heads, count: Math.ceil((B * Hkv) / heads), overlaps: fitting > 0 };
}

/** Makes the plan of a backward pass. */
export function makeBackwardPlan(
  engine: Engine,
  problem: Problem,
  level: SimdLevel,
  dOutput: StoredDType,
  output: StoredDType,
  sums: BiasGradientPlan | undefined,
): BackwardPlan {
  const { shape } = problem;
  const { B, Hq, Hkv, G, Nq, Nk, dk, dv } = shape;
  const forward = specOf(withManyRows(problem), level, engine.memory.shared).spec;
  const { tile } = forward;
  const strip = stripOf(tile);
  const columns = Math.max(dk, dv);
  const keyTile = strip * Math.max(1, Math.round((columns > 160 ? 48 : columns > 64 ? 96 : 192) / strip));
  const rowTile = tile.rows * Math.round(48 / tile.rows);
  const scoreDerivative = problem.score && derivative(problem.score).score;
  const plain: Spec = {
    ...forward,
    kind: "backward",
    wide: level === "wide",
    keyTile,
    rowTile,
    output,
    dOutput,
    scoreDerivative,
    biasGradients: sums?.sums,
  };
  const spec: Spec = { ...plain, inBounds: inBoundsLookups(problem, expressionsOf(plain)) };
  const copyKeys = spec.key !== "float32" || dk % panelOf(tile) !== 0;

  const costs: Costs = {
    key:
      dk * DTYPES[spec.key].bytes +
      dv * DTYPES[spec.value].bytes +
      4 * (dk + dv + paddedKey(spec) + paddedValue(spec)) +
      (copyKeys ? 4 * paddedKey(spec) : 0) +
      (sums?.sums.columns ? 4 * G : 0) +
      copyBytes(sums) / MIN_RANGE,
    row:
      dk * DTYPES[spec.query].bytes +
      dv * (DTYPES[dOutput].bytes + DTYPES[output].bytes) +
      4 * paddedKey(spec) +
      8 +
      4 * (sums?.sums.rows.length ?? 0),
    cell: problem.tensors.reduce((n, t) => n + (t.kind === "bool" ? 1 : 4), sums?.sums.cells ? 4 : 0),
  };
  // The division of a head must not depend on the number of threads, which would change the order of sums; the number of
  // heads that are staged together may.
  const { bytesPerThread, threads } = settings();
  const headBytes = Nk * costs.key + G * Nq * (costs.row + Nk * costs.cell);
  const heads = Math.max(1, Math.min(B * Hkv, Math.floor(bytesPerThread / headBytes)));
  const parts = Math.max(1, Math.min(MIN_TASKS / heads, Math.max(Nq, Nk) / MIN_RANGE));
  const keyBytes = 4 * (dk + dv + 2 * paddedKey(spec) + paddedValue(spec));
  const cached = Math.max(keyTile, Math.floor(RANGE_BYTES / Math.max(1, keyBytes) / keyTile) * keyTile);
  const range = (n: number, step: number, largest: number) =>
    Math.min(roundUp(largest, step), roundUp(Math.ceil(Math.max(1, n) / parts), step));
  const rangeKeys = range(Nk, keyTile, cached);
  const rangeRows = range(Nq, rowTile, MAX_ROWS);

  const ranges = { rowTile: rangeRows, keyTile: rangeKeys, splits: 1 };
  const one = planStaging(problem, ranges, costs, bytesPerThread);
  const hasCompleteHeads = one.rows === Nq && one.keys === Nk;
  const { overlaps, ...staging } = hasCompleteHeads
    ? { ...one, ...stageWholeHeads(problem, costs, bytesPerThread, threads, tasksOf(problem, ranges)) }
    : { ...one, overlaps: false };
  const counts = headCounts(problem.shape);
  const packKeys = packing({ ...spec, dv: dk, value: spec.key });
  const packValues = packing({ ...spec, dk: dv, key: spec.value });
  return {
    spec,
    kernels: once(() => ({
      kernel: engine.kernels.get(spec, backwardSpaceOf(spec).size, backward),
      packKeys: packKernel(engine, packKeys),
      packValues: packKernel(engine, packValues),
    })),
    copyKeys,
    sums,
    rangeRows,
    rangeKeys,
    staging,
    overlaps,
    strip,
    keyColumns: paddedKey(spec),
    valueColumns: paddedValue(spec),
    pool: poolImage(expressionsOf(spec)),
    runs: new Runs(problem, spec.keyTile, panelOf(spec.tile)),
    groups: once(() => headGroups(counts, staging.heads)),
    work: 10 * B * Hq * Nq * Nk * Math.max(dk, dv),
    stageBytes:
      staging.heads * (staging.keys * costs.key + G * staging.rows * (costs.row + staging.keys * costs.cell)),
  };
}

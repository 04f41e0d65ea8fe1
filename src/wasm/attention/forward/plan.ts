/**
 * Plans a forward call completely before anything is placed or run: its kernel, its tiling, its stages, the sizes of its regions
 * and the runs of keys of each row tile.
 */

import type { SimdLevel } from "../../../backend/plan/plan.ts";
import { type Costs, planStaging, type StagingPlan, type Tiling } from "../../../backend/plan/tiling.ts";
import type { Problem } from "../../../backend/problem.ts";
import { settings } from "../../../backend/settings.ts";
import { DTYPES } from "../../../core/dtype.ts";
import { paddedValue, stateBytes, workspaceOf } from "../../codegen/layout.ts";
import { packing, panelOf, roundUp, type Spec } from "../../codegen/spec.ts";
import type { Engine } from "../../engine/engine.ts";
import type { CachedKernel } from "../../engine/kernel-cache.ts";
import { decode } from "../../kernels/attention/decode.ts";
import { forward } from "../../kernels/attention/forward.ts";
import {
  headCounts,
  headGroups,
  once,
  type PoolImage,
  packKernel,
  poolImage,
  Runs,
  type StageHeads,
  specOf,
} from "../plan.ts";

/** How a forward call runs. */
export interface ForwardPlan {
  readonly spec: Spec;
  readonly tiling: Tiling;
  readonly staging: StagingPlan;
  readonly costs: Costs;
  readonly packValues: boolean;
  /** Operations of the whole call. */
  readonly work: number;
  /** Keys of a panel; for decode, keys of a softmax step. */
  readonly panel: number;
  /** Bytes of the packed keys and the packed values of one head in one stage; bytes of a row of packed values. */
  readonly packedKeyHead: number;
  readonly packedValueHead: number;
  readonly packedValueRow: number;
  /** Bytes of the state that a task keeps between stages. */
  readonly stateBytes: number;
  readonly pool: PoolImage;
  readonly runs: Runs;
  /** The heads of each stage. */
  groups(): readonly StageHeads[];
  /** The kernel, and the one that packs for it; compiled when the plan first runs. */
  kernels(): { readonly kernel: CachedKernel; readonly packer?: CachedKernel };
}

/** Makes the plan of a forward call. `resident`: whether query, key and value are in the engine's memory. */
export function makeForwardPlan(
  engine: Engine,
  problem: Problem,
  level: SimdLevel,
  [residentQuery, residentKey, residentValue]: readonly boolean[],
): ForwardPlan {
  const { spec, tiling } = specOf(problem, level, engine.memory.shared);
  const { shape } = problem;
  const { Nk, dk, dv } = shape;
  const packed = spec.kind === "forward";
  // Values are read in place unless the product needs them widened or padded.
  const packValues = packed && (spec.value !== "float32" || spec.dv % panelOf(spec.tile) !== 0);
  const costs: Costs = {
    key:
      (residentKey ? 0 : dk * DTYPES[spec.key].bytes) +
      (packed ? 4 * dk : 0) +
      (residentValue ? 0 : dv * DTYPES[spec.value].bytes) +
      (packValues ? 4 * paddedValue(spec) : 0),
    row:
      (residentQuery ? 0 : dk * DTYPES[spec.query].bytes) +
      4 * dv +
      4 +
      Math.ceil(stateBytes(spec) / spec.rowTile),
    cell: problem.tensors.reduce((n, t) => n + (t.kind === "bool" ? 1 : 4), 0),
  };
  const { bytesPerThread, threads } = settings();
  const budget = Math.max(2 ** 20, (bytesPerThread - workspaceOf(spec).size) * threads);
  const staging = planStaging(problem, tiling, costs, budget);
  const panel = packed ? panelOf(spec.tile) : 8;
  const stageKeys = Math.min(staging.keys, Nk);
  const packedValueRow = 4 * paddedValue(spec);
  const counts = headCounts(shape);
  return {
    spec,
    tiling,
    staging,
    costs,
    packValues,
    work: 4 * shape.B * shape.Hq * shape.Nq * Nk * Math.max(dk, dv),
    panel,
    packedKeyHead: packed ? roundUp(stageKeys, panel) * dk * 4 : 0,
    packedValueHead: packValues ? stageKeys * packedValueRow : 0,
    packedValueRow,
    stateBytes: stateBytes(spec),
    pool: poolImage([problem.mask, problem.score]),
    runs: new Runs(problem, tiling.keyTile, panel),
    groups: once(() => headGroups(counts, staging.heads)),
    kernels: once(() => ({
      kernel: engine.kernels.get(spec, workspaceOf(spec).size, packed ? forward : decode),
      ...(packed && { packer: packKernel(engine, packing(spec)) }),
    })),
  };
}

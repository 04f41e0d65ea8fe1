/** Plans of operations on the engine, for printing: nothing is allocated or computed. */
import type { AttentionOperation } from "../backend/contract.ts";
import { type Plan, type SimdLevel, threadShares } from "../backend/plan/plan.ts";
import { countTiles, type TileCounts } from "../backend/plan/tiles.ts";
import type { Problem } from "../backend/problem.ts";
import type { Product } from "../backend/product.ts";
import type { RowwiseOperation } from "../backend/rowwise.ts";
import { settings } from "../backend/settings.ts";
import { backwardLevel } from "./attention/backward/backward.ts";
import { planTableGradients } from "./attention/backward/bias-gradients.ts";
import { makeBackwardPlan } from "./attention/backward/plan.ts";
import { backwardTaskSizes } from "./attention/backward/tasks.ts";
import { forwardLevel, planForward } from "./attention/forward/forward.ts";
import { backwardSpaceOf, workspaceOf } from "./codegen/layout.ts";
import { keyOf, panelOf } from "./codegen/spec.ts";
import { type Engine, isRelaxed } from "./engine/engine.ts";
import { planProduct, productLevel } from "./ops/matmul.ts";
import { pipelineOf } from "./ops/rowwise.ts";

const threadsOf = (engine: Engine): number => (engine.pool.unavailable ? 1 : settings().threads);

/** The plan of an attention call. */
export function planAttention(engine: Engine, { kind, problem }: AttentionOperation): Plan {
  const threads = threadsOf(engine);
  const backward = kind === "backward";
  const simd = backward ? backwardLevel(engine) : forwardLevel(engine);
  const body = (backward ? backwardPlan : forwardPlan)(engine, problem, simd, threads);
  return { backend: "wasm", simd, threads, ...body };
}

/** The plan of a matrix product. */
export function planMatmul(engine: Engine, product: Product): Plan {
  const [simd, threads] = [productLevel(engine), threadsOf(engine)];
  return { backend: "wasm", simd, threads, ...productPlan(engine, product, simd, threads) };
}

/** The plan of a row-wise operation. */
export function planRowwise(engine: Engine, operation: RowwiseOperation): Plan {
  const simd = isRelaxed() ? "relaxed" : "strict";
  return { backend: "wasm", simd, threads: threadsOf(engine), ...rowwisePlan(operation) };
}

type Body = Omit<Plan, "backend" | "simd" | "threads">;

/** Multiplications and additions of `products` pairs of products over the visible tiles. */
function visibleOperations(problem: Problem, products: number, tiles: TileCounts | undefined): number {
  const { B, Hq, Nq, Nk, dk, dv } = problem.shape;
  const all = products * B * Hq * Nq * Nk * (dk + dv);
  if (!tiles) return all;
  const visible = tiles.full + tiles.partial;
  return Math.round((all * visible) / Math.max(1, visible + tiles.skipped));
}

/** Bytes of the full weights in float32, which the kernels never store. */
const weightsBytes = ({ shape: { B, Hq, Nq, Nk } }: Problem): number => 4 * B * Hq * Nq * Nk;

function forwardPlan(engine: Engine, problem: Problem, level: SimdLevel, threads: number): Body {
  const { spec, tiling, staging, costs } = planForward(engine, problem, level);
  const { B, Hq, Hkv, G, Nq } = problem.shape;
  const decode = tiling.kind === "decode";
  const rowTile = decode ? Math.max(1, Nq) : tiling.rowTile;
  const tiles = problem.mask && countTiles(problem, rowTile, tiling.keyTile, decode ? 8 : panelOf(spec.tile));
  const rowTasks = decode ? (B * Hkv * G) / tiling.headsPerTask : B * Hq * Math.ceil(Nq / tiling.rowTile);
  const tasks = rowTasks * tiling.splits;
  const head = staging.keys * costs.key + G * staging.rows * (costs.row + staging.keys * costs.cell);
  return {
    operation: "forward",
    kernel: keyOf(spec),
    tasks,
    rowTile: tiling.rowTile,
    keyTile: tiling.keyTile,
    splits: tiling.splits,
    stages: Math.max(1, staging.count),
    bytes: Math.round(Math.min(staging.heads, B * Hkv) * head + workspaceOf(spec).size * settings().threads),
    operations: visibleOperations(problem, 2, tiles),
    weightsBytes: weightsBytes(problem),
    threadShares: threadShares(tiles && !decode ? tiles.tasks : new Array(tasks).fill(1), threads),
    ...(tiles && { tiles: { skipped: tiles.skipped, full: tiles.full, partial: tiles.partial } }),
  };
}

function backwardPlan(engine: Engine, problem: Problem, level: SimdLevel, threads: number): Body {
  const bias = planTableGradients(problem);
  const stored = problem.dtype as "float32";
  const plan = makeBackwardPlan(engine, problem, level, stored, stored, bias);
  const { B, Hkv, Nq, Nk } = problem.shape;
  const { spec, staging, rangeRows, rangeKeys } = plan;
  const [rows, keys] = [Math.ceil(Nq / rangeRows), Math.ceil(Nk / rangeKeys)];
  const tasks = B * Hkv * rows * keys;
  const tiles = problem.mask && countTiles(problem, spec.rowTile, spec.keyTile, panelOf(spec.tile));
  return {
    operation: "backward",
    kernel: keyOf(spec),
    tasks,
    rowTile: rangeRows,
    keyTile: rangeKeys,
    splits: 1,
    stages: Math.max(1, staging.count),
    bytes: Math.round(plan.stageBytes + backwardSpaceOf(spec).size * settings().threads),
    operations: visibleOperations(problem, 5, tiles),
    weightsBytes: weightsBytes(problem),
    threadShares: threadShares(tiles ? backwardTaskSizes(problem, plan) : new Array(tasks).fill(1), threads),
    ...(tiles && { tiles: { skipped: tiles.skipped, full: tiles.full, partial: tiles.partial } }),
  };
}

function productPlan(engine: Engine, product: Product, level: SimdLevel, threads: number): Body {
  const { batch, M, N, K } = product;
  const { key, rowTile, keyTile, steps, tasks, bytes } = planProduct(engine, product, level, threads);
  return {
    operation: "matmul",
    kernel: key,
    tasks,
    rowTile,
    keyTile,
    splits: 1,
    stages: steps,
    bytes,
    operations: 2 * batch * M * N * K,
    threadShares: threadShares(new Array(tasks).fill(1), threads),
  };
}

function rowwisePlan(operation: RowwiseOperation): Body {
  const pipeline = pipelineOf(operation);
  return {
    operation: operation.name,
    kernel: pipeline.name,
    tasks: Math.ceil(pipeline.rows / pipeline.taskRows),
    rowTile: pipeline.taskRows,
    keyTile: pipeline.count,
    splits: 1,
    stages: 1,
    bytes: 0,
    operations: pipeline.rows * pipeline.rowWork,
  };
}

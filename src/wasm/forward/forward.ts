/**
 * The forward pass on the engine. A problem is divided into stages (the parts that are in the engine's memory together), a stage
 * into tasks (tiles of query rows with their runs of keys); threads run them, and the results are copied out. A problem that fits
 * is one stage; a long one has several stages, so that memory does not grow with N.
 */

import type { BackendPart, Result } from "../../backend/contract.ts";
import type { SimdLevel } from "../../backend/plan/plan.ts";
import type { TileMap } from "../../backend/plan/tiles.ts";
import type { Problem } from "../../backend/problem.ts";
import { computeState, computeWeights } from "../../backend/results.ts";
import { settings } from "../../backend/settings.ts";
import { currentEngine, type Engine, findLevel, getEngine, replaceEngine } from "../engine/engine.ts";
import type { Kernel } from "../engine/kernel-cache.ts";
import { AllocationScope } from "../engine/memory.ts";
import { forwardAgrees } from "../engine/self-test.ts";
import { retryOnWorkerLoss } from "../engine/worker-pool.ts";
import { type Placed, placeProblem, placeStages, type Stage } from "./place.ts";
import { type ForwardPlan, type KeyRange, planForward, unsupportedAttention } from "./plan.ts";
import { copyResultsOut } from "./results.ts";
import { buildAttentionTasks, buildPackTasks, type Tasks, writeCall } from "./tasks.ts";
import { weights } from "./weights.ts";

/** The SIMD level of the forward pass; a wide one is tested first. */
export const forwardLevel = (engine: Engine): SimdLevel =>
  engine.levels.get(settings())?.forward ??
  findLevel(engine, "forward", () =>
    forwardAgrees((problem, out, level) => run(engine, problem, out, level, true)),
  );

/** The forward pass. */
export const wasmForward: BackendPart<"forward"> = {
  name: "wasm",
  device: "cpu",
  supports: unsupportedAttention,
  forward: (problem) => computeState(problem, (result) => forward(problem, result)),
};

/** The weights of some heads and rows. */
export const wasmWeights: BackendPart<"weights"> = {
  name: "wasm",
  device: "cpu",
  supports: unsupportedAttention,
  weights(problem, lse, selection) {
    const { heads, rows } = selection;
    const { B, Nk, dk } = problem.shape;
    const work = 2 * B * heads.length * rows.length * Nk * dk;
    return computeWeights(problem, lse, selection, (read, data) => {
      if (data.length === 0) return;
      retryOnWorkerLoss(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) => {
        const threads = singleThreaded ? 1 : engine.pool.threadsFor(work);
        weights(engine, problem, forwardLevel(engine), threads, read, heads, rows, data);
      });
    });
  },
};

/** Fills the output and lse of a problem. */
export function forward(problem: Problem, out: Result): void {
  const { B, Hq, Nq, Nk } = problem.shape;
  if (B * Hq * Nq === 0) return;
  if (Nk === 0) {
    // No keys: the output is already 0; lse is −∞, or the sink.
    out.lse.fill(-Infinity);
    if (problem.sinks)
      for (let n = 0; n < out.lse.length; n++) out.lse[n] = problem.sinks[Math.floor(n / Nq) % Hq];
    return;
  }
  retryOnWorkerLoss(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) =>
    run(engine, problem, out, forwardLevel(engine), singleThreaded),
  );
}

/** Runs a forward call: plan, place, run, copy the results out. A problem that fits the budget is one stage. */
function run(engine: Engine, problem: Problem, out: Result, level: SimdLevel, singleThreaded: boolean): void {
  const { memory, pool } = engine;
  // 1 plan
  const plan = planForward(engine, problem, level);
  const { kernel, packer } = plan.kernels();
  const threads = singleThreaded ? 1 : pool.threadsFor(plan.work);
  pool.reserve(Math.max(kernel.workspaceBytes, packer?.workspaceBytes ?? 0), threads);
  const stageWork = plan.work / Math.max(1, plan.staging.count);
  const runTasks = (what: Kernel, { at, size, count }: Tasks, overlap?: () => void) =>
    pool.run(what, at, size, count, threads, what === kernel ? stageWork / count : 0, overlap);
  const scope = new AllocationScope(memory);
  try {
    if (plan.staging.count > 1) {
      runStages(engine, problem, plan, out, (placed, call, range, repack) => {
        const scratch = new AllocationScope(memory);
        try {
          if (packer && repack) runTasks(packer, buildPackTasks(memory, scratch, plan, placed, threads));
          runTasks(kernel, buildAttentionTasks(memory, scratch, problem, plan, placed, call, range));
        } finally {
          scratch.free();
        }
      });
      return;
    }
    // 2 place
    const placed = placeProblem(memory, scope, problem, plan, out);
    const call = writeCall(memory, scope, problem, placed.strides, plan.pool);
    placed.copyKeysIn();
    // 3 run. The calling thread copies queries and values while the others pack the keys.
    if (packer) runTasks(packer, buildPackTasks(memory, scope, plan, placed, threads), placed.copyRestIn);
    else placed.copyRestIn();
    runTasks(kernel, buildAttentionTasks(memory, scope, problem, plan, placed, call, ALL_KEYS));
    // 4 results
    copyResultsOut(memory, problem, plan, placed, out);
  } finally {
    scope.free();
  }
}

const ALL_KEYS: KeyRange = { first: true, last: true };

/** Runs the stages in order: groups of heads, or ranges of rows and keys of one head. */
function runStages(
  engine: Engine,
  problem: Problem,
  plan: ForwardPlan,
  out: Result,
  attend: (placed: Placed, call: number, range: KeyRange, repack: boolean) => void,
): void {
  const { B, Hkv, Nq, Nk } = problem.shape;
  const { staging } = plan;
  const heads: Stage["heads"][number][] = [];
  for (let b = 0; b < B; b++) for (let hk = 0; hk < Hkv; hk++) heads.push({ b, hk });
  const regions = new AllocationScope(engine.memory);
  try {
    const buffers = placeStages(engine.memory, regions, problem, plan);
    const call = writeCall(engine.memory, regions, problem, buffers.strides, plan.pool);
    for (let n = 0; n < heads.length; n += staging.heads)
      for (let row = 0; row < Nq; row += staging.rows) {
        const rows = [row, Math.min(Nq, row + staging.rows)] as const;
        for (let key = 0; key === 0 || key < Nk; key += staging.keys) {
          const keys = [key, Math.min(Nk, key + staging.keys)] as const;
          const range = { first: key === 0, last: keys[1] === Nk };
          const stage: Stage = { heads: heads.slice(n, n + staging.heads), rows, keys };
          // A range of keys that is masked for all rows of the stage is not copied.
          const needed =
            range.first ||
            range.last ||
            stage.heads.some(({ b, hk }) => anyVisible(problem, plan.runs.map, b, hk, rows, keys));
          if (!needed) continue;
          const { placed, fresh } = buffers.fill(stage);
          attend(placed, call, range, fresh);
          if (range.last) copyResultsOut(engine.memory, problem, plan, placed, out);
        }
      }
  } finally {
    regions.free();
  }
}

function anyVisible(
  problem: Problem,
  map: TileMap,
  b: number,
  hk: number,
  rows: readonly [number, number],
  keys: readonly [number, number],
): boolean {
  const { G } = problem.shape;
  for (let g = 0; g < (map.perHead ? G : 1); g++)
    if (map.runs(b, hk * G + g, rows[0], rows[1], keys[0], keys[1]).length > 0) return true;
  return false;
}

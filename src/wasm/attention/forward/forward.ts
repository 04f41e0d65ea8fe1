/**
 * The forward pass on the engine. A problem is divided into stages (the parts that are in the engine's memory together), a stage
 * into tasks (tiles of query rows with their runs of keys); threads run them, and the results are copied out. A problem that fits
 * is one stage; a long one has several stages, so that memory does not grow with N.
 */

import type { AttentionOperation, BackendPart, Result, SlicedPart } from "../../../backend/contract.ts";
import type { SimdLevel } from "../../../backend/plan/plan.ts";
import type { Problem } from "../../../backend/problem.ts";
import { computeAll, computeState, computeWeights } from "../../../backend/results.ts";
import { settings } from "../../../backend/settings.ts";
import {
  currentEngine,
  type Engine,
  findLevel,
  getEngine,
  missingKernel,
  replaceEngine,
} from "../../engine/engine.ts";
import { AllocationScope } from "../../engine/memory.ts";
import { forwardAgrees } from "../../engine/self-test.ts";
import { placeMask, residentOperand } from "../../engine/transfer.ts";
import { retryOnWorkerLoss, retrySlices, SLICE_OPERATIONS } from "../../engine/worker-pool.ts";
import { type EngineStage, PlanCache, problemKey, rangesOf, unsupportedAttention } from "../plan.ts";
import { buildAttentionTasks, buildPackTasks } from "../tasks.ts";
import { weights, weightsKernels } from "../weights/weights.ts";
import { type Placed, type PlacedKeys, placeKeys, placeRows, placeSinks } from "./place.ts";
import { type ForwardPlan, makeForwardPlan } from "./plan.ts";

/** The SIMD level of the forward pass; a wide one is tested first. */
export const forwardLevel = (engine: Engine): SimdLevel =>
  engine.levels.get(settings())?.forward ??
  findLevel(engine, "forward", () =>
    forwardAgrees((problem, out, level) => computeAll(run(engine, problem, out, level, true))),
  );

/** Why the kernels that `get` gets for a call that is not empty are missing. */
const missingFor = ({ problem }: AttentionOperation, get: (engine: Engine, level: SimdLevel) => unknown) =>
  !currentEngine?.filesOnly
    ? undefined
    : missingKernel((engine) => {
        const { B, Hq, Nq, Nk } = problem.shape;
        if (B * Hq * Nq * Nk > 0) get(engine, forwardLevel(engine));
      });

/** The forward pass. */
export const wasmForward: SlicedPart<"forward"> = {
  name: "wasm",
  device: "cpu",
  supports: (operation: AttentionOperation) =>
    unsupportedAttention(operation) ??
    missingFor(operation, (engine, level) => planForward(engine, operation.problem, level).kernels()),
  forward: (problem) => computeAll(computeState(problem, (result) => forward(problem, result))),
  forwardSlices: (problem) => computeState(problem, (result) => forward(problem, result, SLICE_OPERATIONS)),
};

/** The weights of some heads and rows. */
export const wasmWeights: BackendPart<"weights"> = {
  name: "wasm",
  device: "cpu",
  supports: (operation: AttentionOperation) =>
    unsupportedAttention(operation) ??
    missingFor(operation, (engine, level) => weightsKernels(engine, operation.problem, level)),
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

/** Fills the output and lse of a problem, at most about `sliceWork` operations at a time. */
export function* forward(problem: Problem, out: Result, sliceWork = Infinity): Generator<number, void> {
  const { B, Hq, Nq, Nk } = problem.shape;
  if (B * Hq * Nq === 0) return;
  if (Nk === 0) {
    // No keys: the output is already 0; lse is −∞, or the sink.
    out.lse.fill(-Infinity);
    if (problem.sinks)
      for (let n = 0; n < out.lse.length; n++) out.lse[n] = problem.sinks[Math.floor(n / Nq) % Hq];
    return;
  }
  yield* retrySlices(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) =>
    run(engine, problem, out, forwardLevel(engine), singleThreaded, sliceWork),
  );
}

const forwardPlans = new PlanCache<ForwardPlan>();

/** Evicts the plans of forward calls. */
export const clearForwardPlans = (): void => forwardPlans.clear();

/** The plan of a problem, cached for the next call of its kind. */
export function planForward(engine: Engine, problem: Problem, level: SimdLevel): ForwardPlan {
  const { query, key, value } = problem.shape;
  const resident = [query, key, value].map((x) => residentOperand(engine.memory, x) !== undefined);
  const name = problemKey(problem, level);
  return forwardPlans.get(engine, name && `${name} ${resident.join()}`, () =>
    makeForwardPlan(engine, problem, level, resident),
  );
}

/**
 * Runs a forward call: plan, place, run, copy the results out. A problem that fits the budget is one stage. Yields the share that is
 * done after about `sliceWork` operations.
 */
function* run(
  engine: Engine,
  problem: Problem,
  out: Result,
  level: SimdLevel,
  singleThreaded: boolean,
  sliceWork = Infinity,
): Generator<number, void> {
  const { memory, pool } = engine;
  const { Nq, Nk } = problem.shape;
  // 1 plan
  const plan = planForward(engine, problem, level);
  const { staging } = plan;
  const { kernel, packer } = plan.kernels();
  const callWork = singleThreaded ? 0 : plan.work;
  const threads = pool.threadsFor(callWork);
  const workspaceBytes = Math.max(kernel.workspaceBytes, packer?.workspaceBytes ?? 0);
  const stageWork = plan.work / Math.max(1, staging.count);
  let stages = 0;

  for (const heads of plan.groups()) {
    const groupScope = new AllocationScope(memory);
    try {
      // Keys that are staged together are the same for all ranges of rows.
      let groupKeys: PlacedKeys | undefined;
      for (const rows of rangesOf(Nq, staging.rows)) {
        const rowScope = new AllocationScope(memory);
        try {
          // 2 place
          const later: (() => void)[] = [];
          const range = { heads, rows, keys: [0, Nk] } as const;
          const placedRows = placeRows(memory, rowScope, problem, plan, range, out, later);
          for (const keys of rangesOf(Nk, staging.keys)) {
            const stage: EngineStage = { heads, rows, keys };
            if (!isNeeded(problem, plan, stage)) {
              stages++;
              continue;
            }
            const keyScope = new AllocationScope(memory);
            try {
              const regions = staging.keys < Nk ? keyScope : groupScope;
              const placedKeys = groupKeys ?? placeKeys(memory, regions, problem, plan, stage, later);
              const masks = problem.tensors.map((t) =>
                placeMask(memory, keyScope, t, heads.queries.list, rows, keys, later),
              );
              const sinks = placeSinks(memory, keyScope, problem);
              // 3 run. The calling thread copies the rest in while the others pack the keys.
              const copyRest = () => {
                for (const copy of later.splice(0)) copy();
              };
              if (packer && !groupKeys) {
                const { at, size, count } = buildPackTasks(
                  memory,
                  keyScope,
                  plan,
                  stage,
                  placedKeys,
                  threads,
                );
                pool.reserve(workspaceBytes, threads);
                pool.run(packer, at, size, count, threads, 0, copyRest);
              } else copyRest();
              const placed: Placed = { ...stage, ...placedKeys, ...placedRows, masks, sinks };
              const tasks = buildAttentionTasks(memory, keyScope, problem, plan, placed);
              const taskWork = stageWork / tasks.count;
              const job = { kernel, tasks, threads, callWork, workspaceBytes, taskWork };
              for (const done of pool.runSlices(job, sliceWork)) yield (stages + done) / staging.count;
              stages++;
              if (staging.keys >= Nk) groupKeys = placedKeys;
            } finally {
              keyScope.free();
            }
          }
          // 4 results
          placedRows.collect();
        } finally {
          rowScope.free();
        }
      }
    } finally {
      groupScope.free();
    }
  }
}

/** False for keys that are masked for all rows of a stage; the first and the last keys start and end the rows' states. */
function isNeeded(
  { shape: { G, Nk } }: Problem,
  { runs: { map } }: ForwardPlan,
  stage: EngineStage,
): boolean {
  const [[r0, r1], [k0, k1]] = [stage.rows, stage.keys];
  if (k0 === 0 || k1 === Nk) return true;
  return stage.heads.list.some(({ b, hk }) =>
    Array.from({ length: map.perHead ? G : 1 }, (_, g) => hk * G + g).some(
      (h) => map.runs(b, h, r0, r1, k0, k1).length > 0,
    ),
  );
}

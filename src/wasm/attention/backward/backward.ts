/**
 * The backward pass on the engine. A problem is divided into stages (the parts that are in memory together), a stage into waves of
 * tasks (plan.ts). If complete heads fit, a stage has some heads. Otherwise a head is divided into several stages, keys outer and rows
 * inner, and each stage loads the dQ accumulated so far, so that memory does not grow with N.
 */

import type { AttentionOperation, BackwardInputs, Gradients, SlicedPart } from "../../../backend/contract.ts";
import { computeGradients } from "../../../backend/gradients.ts";
import type { SimdLevel } from "../../../backend/plan/plan.ts";
import type { Problem } from "../../../backend/problem.ts";
import { computeAll } from "../../../backend/results.ts";
import { settings } from "../../../backend/settings.ts";
import { readerOf, type StoredDType } from "../../../core/dtype.ts";
import type { Operand } from "../../../core/shape.ts";
import { storedDType } from "../../codegen/spec.ts";
import { currentEngine, type Engine, findLevel, getEngine, replaceEngine } from "../../engine/engine.ts";
import type { CachedKernel } from "../../engine/kernel-cache.ts";
import type { AllocationScope } from "../../engine/memory.ts";
import { backwardAgrees } from "../../engine/self-test.ts";
import { retrySlices, SLICE_OPERATIONS } from "../../engine/worker-pool.ts";
import { PlanCache, problemKey, unsupportedAttention } from "../plan.ts";
import type { Tasks } from "../tasks.ts";
import { copyBytes, planBiasGradients, tableGradients } from "./bias-gradients.ts";
import { type BackwardPlan, makeBackwardPlan } from "./plan.ts";
import { type PlacedStage, placeStages } from "./stage.ts";

/** Maximum bytes of the copies of tables for one key head. */
const MAX_COPY_BYTES = 2 ** 27;

/** Why the kernels do not support a backward pass; undefined where they do. */
function unsupportedBackward(operation: AttentionOperation): string | undefined {
  const { problem } = operation;
  const reason =
    unsupportedAttention(operation) ??
    (currentEngine?.filesOnly
      ? "kernels of gradients are compiled at run time, which this runtime does not do"
      : undefined);
  if (reason !== undefined || !problem.score) return reason;
  const tables = tableGradients(problem);
  if (tables.tables.size === 0) return undefined;
  const engine = currentEngine ?? (getEngine() as Engine);
  // The plan of a call for these gradients alone, which is cached.
  const plan = planBackward(engine, problem, backwardLevel(engine), "float32", "float32", tables);
  const { sums, staging, rangeKeys } = plan;
  const bytes = copyBytes(sums) * Math.ceil(Math.min(problem.shape.Nk, staging.keys) / rangeKeys);
  if (bytes <= MAX_COPY_BYTES) return undefined;
  return `the gradient of tables that are read cell by cell needs ${bytes} bytes for each key head, and the backward kernels have at most ${MAX_COPY_BYTES}; a float mask of that shape needs none`;
}

/** The SIMD level of the backward pass; a wide one is tested first. */
export const backwardLevel = (engine: Engine): SimdLevel =>
  engine.levels.get(settings())?.backward ??
  findLevel(engine, "backward", () =>
    backwardAgrees((problem, inputs, gradients, level) =>
      computeAll(run(engine, problem, inputs, gradients, level, true)),
    ),
  );

/** The backward pass. */
export const wasmBackward: SlicedPart<"backward"> = {
  name: "wasm",
  device: "cpu",
  supports: unsupportedBackward,
  backward: (problem, tensors, wanted) =>
    computeAll(computeGradients(problem, tensors, wanted, (inputs, into) => backward(problem, inputs, into))),
  backwardSlices: (problem, tensors, wanted) =>
    computeGradients(problem, tensors, wanted, (inputs, into) =>
      backward(problem, inputs, into, SLICE_OPERATIONS),
    ),
};

/** Fills the gradients of a problem, at most about `sliceWork` operations at a time. */
function* backward(
  problem: Problem,
  upstream: BackwardInputs,
  gradients: Gradients,
  sliceWork = Infinity,
): Generator<number, void> {
  const { B, Hq, Nq, Nk } = problem.shape;
  if (B * Hq * Nq === 0) return;
  if (Nk === 0) {
    addSinks(problem, upstream, gradients);
    return;
  }
  yield* retrySlices(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) =>
    run(engine, problem, upstream, gradients, backwardLevel(engine), singleThreaded, sliceWork),
  );
}

/** Key of the gradients besides dQ, dK and dV that a plan depends on: the masks with their broadcast axes, and tables. */
const biasKey = ({ masks, tables }: Pick<Gradients, "masks" | "tables">): string =>
  `${masks.map((g) => (g ? `${g.row === 0 ? "" : "r"}${g.column === 0 ? "" : "k"}g` : "-")).join()}${tables.size > 0 ? " tables" : ""}`;

const backwardPlans = new PlanCache<BackwardPlan>();

/** The plan of a backward pass, cached for the next call of its kind; `dOutput` and `output` are dtypes. */
function planBackward(
  engine: Engine,
  problem: Problem,
  level: SimdLevel,
  dOutput: StoredDType,
  output: StoredDType,
  gradients: Pick<Gradients, "masks" | "tables">,
): BackwardPlan {
  const name = problemKey(problem, level);
  return backwardPlans.get(engine, name && `${name} ${dOutput} ${output} ${biasKey(gradients)}`, () =>
    makeBackwardPlan(engine, problem, level, dOutput, output, planBiasGradients(problem, gradients)),
  );
}

/** Runs a backward pass: plan, place, run, copy the results out. Yields the share that is done after about `sliceWork` operations. */
function* run(
  engine: Engine,
  problem: Problem,
  upstream: BackwardInputs,
  gradients: Gradients,
  level: SimdLevel,
  singleThreaded: boolean,
  sliceWork = Infinity,
): Generator<number, void> {
  const { memory, pool } = engine;
  const { B, Hq, G, Nq, dk, dv } = problem.shape;
  // These are accumulated, and a call whose thread was lost runs again.
  for (const sum of [...gradients.masks.map((g) => g?.data), gradients.sinks, ...gradients.tables.values()])
    sum?.fill(0);
  // 1 plan
  const [dOutput, output] = [upstream.dOutput, upstream.output].map(storedDType);
  const plan = planBackward(engine, problem, level, dOutput, output, gradients);
  const { kernel, packKeys, packValues } = plan.kernels();
  const callWork = singleThreaded ? 0 : plan.work;
  const threads = pool.threadsFor(callWork);
  const workspaceBytes = Math.max(kernel.workspaceBytes, packKeys.workspaceBytes);
  const taskWork = 10 * plan.rangeRows * G * plan.rangeKeys * Math.max(dk, dv);
  const pack = (code: CachedKernel, { at, size, count }: Tasks) => {
    pool.reserve(workspaceBytes, threads);
    pool.run(code, at, size, count, threads);
  };

  const deltas = gradients.sinks && new Float32Array(B * Hq * Nq).fill(Number.NaN);
  const opened = new Set<AllocationScope>();
  try {
    // 2 place
    const stages = placeStages({ memory, problem, plan, upstream, gradients, deltas }, opened);
    let last: PlacedStage | undefined;
    let stageCount = 0;
    for (let stage = stages.next().value; stage; ) {
      // 3 run. While the threads compute, the calling thread copies the last results out and the next inputs in.
      let next: PlacedStage | undefined;
      if (stage.packs) {
        pack(packKeys, stage.packs.keys);
        pack(packValues, stage.packs.values);
      }
      const { waves } = stage;
      for (const [wave, tasks] of waves.entries()) {
        const overlap = () => {
          if (wave === 0) last?.collect();
          if (plan.overlaps && wave === waves.length - 1) next = stages.next().value;
        };
        const job = { kernel, tasks, threads, callWork, workspaceBytes, taskWork, overlap };
        for (const done of pool.runSlices(job, sliceWork))
          yield (stageCount + (wave + done) / waves.length) / plan.staging.count;
      }
      stageCount++;
      // 4 results
      last = next && stage;
      if (!next) {
        stage.collect();
        next = stages.next().value;
      }
      stage = next;
    }
  } finally {
    for (const regions of opened) regions.free();
  }
  addSinks(problem, upstream, gradients, deltas);
}

/**
 * A sink is one more score without a value: its dp is 0, so its gradient is −Σ e^(sink − lse)·δ over all rows. No stage computes δ
 * of a row that sees no key of the call; if its lse includes keys of other calls, its δ = do·o is not 0.
 */
function addSinks(
  problem: Problem,
  upstream: BackwardInputs,
  { sinks: into }: Gradients,
  deltas?: Float32Array,
): void {
  if (!(into && problem.sinks)) return;
  const { B, Hq, Nq, dv } = problem.shape;
  const [dO, o] = [upstream.dOutput, upstream.output].map(elementReader);
  for (let b = 0, n = 0; b < B; b++)
    for (let h = 0; h < Hq; h++)
      for (let row = 0; row < Nq; row++, n++) {
        const lse = upstream.lse(b, h, row);
        if (lse === -Infinity) continue;
        let delta = deltas?.[n] ?? Number.NaN;
        if (Number.isNaN(delta)) {
          delta = 0;
          for (let e = 0; e < dv; e++) delta += dO(b, h, row, e) * o(b, h, row, e);
        }
        if (delta !== 0) into[h] -= Math.exp(problem.sinks[h] - lse) * delta;
      }
}

/** The number of a row's column, as float64. */
function elementReader(x: Operand): (b: number, h: number, row: number, column: number) => number {
  const read = readerOf(x.tensor.dtype, x.tensor.data);
  return (b, h, row, column) => read(x.base[b] + h * x.head + row * x.row + column * x.column);
}

/**
 * The backward pass on the engine. A problem is divided into stages (the parts that are in memory together), a stage into waves of
 * tasks (partition.ts). If complete heads fit, a stage has some heads. Otherwise a head is divided into several stages, keys outer and rows
 * inner, and each stage loads the dQ accumulated so far, so that memory does not grow with N.
 */

import type { AttentionOperation, BackendPart, BackwardInputs, Gradients } from "../../backend/contract.ts";
import { computeGradients } from "../../backend/gradients.ts";
import type { SimdLevel } from "../../backend/plan/plan.ts";
import type { Problem } from "../../backend/problem.ts";
import { settings } from "../../backend/settings.ts";
import type { StoredDType } from "../codegen/spec.ts";
import { currentEngine, type Engine, findLevel, getEngine, replaceEngine } from "../engine/engine.ts";
import type { Kernel } from "../engine/kernel-cache.ts";
import { AllocationScope } from "../engine/memory.ts";
import { backwardAgrees } from "../engine/self-test.ts";
import { retryOnWorkerLoss } from "../engine/worker-pool.ts";
import type { Stage } from "../forward/place.ts";
import { unsupportedAttention } from "../forward/plan.ts";
import type { Tasks } from "../forward/tasks.ts";
import { copyBytes, planBiasGradients, planTableGradients } from "./bias-gradients.ts";
import { makeBackwardPlan, planBackward } from "./partition.ts";
import { type KeyStage, type Pass, stageKeys, stageRows } from "./stage.ts";

/** Maximum bytes of the copies of tables for one key head. */
const MAX_COPY_BYTES = 2 ** 27;

/** Why the kernels do not support a backward pass; undefined where they do. */
function unsupportedBackward(operation: AttentionOperation): string | undefined {
  const reason = unsupportedAttention(operation);
  if (reason !== undefined) return reason;
  const { problem } = operation;
  const bias = planTableGradients(problem);
  if (!bias) return undefined;
  const engine = currentEngine ?? (getEngine() as Engine);
  const { shared } = engine.memory;
  const level = backwardLevel(engine);
  const { staging, rangeKeys } = makeBackwardPlan(problem, level, shared, "float32", "float32", bias);
  const bytes = copyBytes(bias) * Math.ceil(Math.min(problem.shape.Nk, staging.keys) / rangeKeys);
  if (bytes <= MAX_COPY_BYTES) return undefined;
  return `the gradient of tables that are read cell by cell needs ${bytes} bytes for each key head, and the backward kernels have at most ${MAX_COPY_BYTES}; a float mask of that shape needs none`;
}

/** The SIMD level of the backward pass; a wide one is tested first. */
export const backwardLevel = (engine: Engine): SimdLevel =>
  engine.levels.get(settings())?.backward ??
  findLevel(engine, "backward", () =>
    backwardAgrees((problem, inputs, gradients, level) =>
      run(engine, problem, inputs, gradients, level, true),
    ),
  );

/** The backward pass. */
export const wasmBackward: BackendPart<"backward"> = {
  name: "wasm",
  device: "cpu",
  supports: unsupportedBackward,
  backward: (problem, tensors, wanted) =>
    computeGradients(problem, tensors, wanted, (inputs, into) => backward(problem, inputs, into)),
};

/** Fills the gradients of a problem. */
function backward(problem: Problem, upstream: BackwardInputs, gradients: Gradients): void {
  const { B, Hq, Nq, Nk } = problem.shape;
  if (B * Hq * Nq * Nk === 0) return;
  retryOnWorkerLoss(currentEngine ?? (getEngine() as Engine), replaceEngine, (engine, singleThreaded) =>
    run(engine, problem, upstream, gradients, backwardLevel(engine), singleThreaded),
  );
}

/** Key of the gradients besides dQ, dK and dV that a plan depends on: the masks with their broadcast axes, and tables. */
const biasKey = ({ masks, tables }: Gradients): string =>
  `${masks.map((g) => (g ? `${g.row === 0 ? "" : "r"}${g.column === 0 ? "" : "k"}g` : "-")).join()}${tables.size > 0 ? " tables" : ""}`;

/** Runs a backward pass: plan, stage, run, collect. */
function run(
  engine: Engine,
  problem: Problem,
  upstream: BackwardInputs,
  gradients: Gradients,
  level: SimdLevel,
  singleThreaded: boolean,
): void {
  const { memory } = engine;
  const { B, Hkv, G, Nq, Nk, dk, dv } = problem.shape;
  const stored = (x: typeof upstream.output) => x.tensor.dtype as StoredDType;
  const plan = planBackward(
    engine,
    problem,
    level,
    stored(upstream.dOutput),
    stored(upstream.output),
    biasKey(gradients),
    () => planBiasGradients(problem, gradients),
  );
  const { staging } = plan;
  // These are accumulated, and a call whose thread was lost runs again.
  for (const sum of [...gradients.masks.map((g) => g?.data), gradients.sinks, ...gradients.tables.values()])
    sum?.fill(0);
  const { kernel, packKeys, packValues } = plan.kernels(engine);
  const threads = singleThreaded ? 1 : engine.pool.threadsFor(plan.work);
  engine.pool.reserve(Math.max(kernel.workspaceBytes, packKeys.workspaceBytes), threads);
  const taskWork = 10 * plan.rangeRows * G * plan.rangeKeys * Math.max(dk, dv);
  const deltas = gradients.sinks && new Float32Array(B * problem.shape.Hq * Nq);
  const pass: Pass = { memory, problem, plan, upstream, gradients, deltas };
  const runTasks = (what: Kernel, tasks: Tasks, overlap?: () => void) => {
    const work = what === kernel ? taskWork : 0;
    engine.pool.run(what, tasks.at, tasks.size, tasks.count, threads, work, overlap);
  };
  const pack = ({ packs }: KeyStage) => {
    runTasks(packKeys, packs.keys);
    runTasks(packValues, packs.values);
  };

  const heads: Stage["heads"][number][] = [];
  for (let b = 0; b < B; b++) for (let hk = 0; hk < Hkv; hk++) heads.push({ b, hk });
  const opened: AllocationScope[] = [];
  const open = () => {
    const regions = new AllocationScope(memory);
    opened.push(regions);
    return regions;
  };
  try {
    if (staging.rows < Nq || staging.keys < Nk) for (const head of heads) inSeveralStages(head);
    else inStages();
  } finally {
    for (const regions of opened) regions.free();
  }
  if (deltas) addSinks(problem, upstream, deltas, gradients.sinks as Float64Array);

  /** One head in several stages: for each range of keys, all ranges of rows. */
  function inSeveralStages(head: Stage["heads"][number]): void {
    for (let key = 0; key < Nk; key += staging.keys) {
      const stage: Stage = { heads: [head], rows: [0, Nq], keys: [key, Math.min(Nk, key + staging.keys)] };
      const scope = open();
      const keys = stageKeys(pass, scope, stage);
      pack(keys);
      for (let row = 0; row < Nq; row += staging.rows) {
        const rowScope = open();
        const part = { ...stage, rows: [row, Math.min(Nq, row + staging.rows)] as const };
        const rows = stageRows(pass, rowScope, part, keys.placed);
        for (const tasks of rows.waves) runTasks(kernel, tasks);
        rows.collect();
        rowScope.free();
      }
      keys.collect();
      scope.free();
    }
  }

  /** Some heads at a time. While the threads compute, the calling thread copies the last results out and the next inputs in. */
  function inStages(): void {
    const copyIn = (n: number) => {
      const stage: Stage = { heads: heads.slice(n, n + staging.heads), rows: [0, Nq], keys: [0, Nk] };
      const regions = open();
      const keys = stageKeys(pass, regions, stage);
      return { regions, keys, rows: stageRows(pass, regions, stage, keys.placed) };
    };
    const collect = ({ regions, keys, rows }: ReturnType<typeof copyIn>) => {
      rows.collect();
      keys.collect();
      regions.free();
    };
    let next: ReturnType<typeof copyIn> | undefined;
    let last: typeof next;
    for (let n = 0; n < heads.length; n += staging.heads) {
      const now = next ?? copyIn(n);
      next = undefined;
      const after = n + staging.heads;
      pack(now.keys);
      now.rows.waves.forEach((tasks, wave, { length }) =>
        runTasks(kernel, tasks, () => {
          if (wave === 0 && last) collect(last);
          if (plan.overlaps && wave === length - 1 && after < heads.length) next = copyIn(after);
        }),
      );
      last = now;
      if (next) continue;
      collect(now);
      last = undefined;
    }
  }
}

/** A sink is one more score without a value: its dp is 0, so its gradient is −Σ e^(sink − lse)·δ over the rows. */
function addSinks(problem: Problem, { lse }: BackwardInputs, deltas: Float32Array, into: Float64Array): void {
  const { B, Hq, Nq } = problem.shape;
  const sinks = problem.sinks as Float64Array;
  for (let b = 0, n = 0; b < B; b++)
    for (let h = 0; h < Hq; h++)
      for (let row = 0; row < Nq; row++, n++)
        if (deltas[n] !== 0) into[h] -= Math.exp(sinks[h] - lse(b, h, row)) * deltas[n];
}

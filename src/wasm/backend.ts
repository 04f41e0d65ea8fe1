/**
 * The WebAssembly backend. A problem becomes stages (what is in the engine's memory at once), a stage becomes tasks
 * (blocks of query rows with their runs of keys), threads run them, and the results are copied out. A problem that
 * fits is one stage; a long one goes piece by piece, so that memory does not grow with N.
 */

import type { Backend, BackwardInputs, Gradients, Operation, Result } from "../backend/contract.ts";
import type { SimdLevel } from "../backend/plan.ts";
import type { Problem } from "../backend/problem.ts";
import { allocateResult, type Product, type ProductInto } from "../backend/product.ts";
import { computeGradients, computeState, computeWeights } from "../backend/results.ts";
import type { RowwiseOperation } from "../backend/rowwise.ts";
import { settings, warnOnce } from "../backend/settings.ts";
import type { TileMap } from "../backend/tiles.ts";
import { backward, unsupportedBackward } from "./backward/backward.ts";
import { type EngineArena, engineArena } from "./engine/arena.ts";
import {
  currentEngine,
  currentLevel,
  discardEngine,
  type Engine,
  getEngine,
  unavailableReason,
  wideMatches,
} from "./engine/engine.ts";
import type { Kernel } from "./engine/kernel-cache.ts";
import { AllocationScope } from "./engine/memory.ts";
import { empty } from "./engine/resident.ts";
import { forwardAgrees, matmulAgrees } from "./engine/self-test.ts";
import { WorkerLostError } from "./engine/worker-pool.ts";
import { planOf } from "./explain.ts";
import { type Placed, placeProblem, placeStages, type Stage } from "./forward/place.ts";
import { type ForwardPlan, type KeyRange, planForward } from "./forward/plan.ts";
import { copyResultsOut } from "./forward/results.ts";
import { buildAttentionTasks, buildPackTasks, type Tasks, writeCall } from "./forward/tasks.ts";
import { weights } from "./forward/weights.ts";
import { matmul as multiply } from "./ops/matmul.ts";
import { runPipeline } from "./ops/row-pipeline.ts";
import { pipelineOf, unsupportedRowwise } from "./ops/rowwise.ts";

/** Work (multiply-adds counted as two) below which a second thread costs more than it saves: about 100 µs. */
const MIN_PARALLEL_FLOPS = 4e6;

/** Rows and keys that 32-bit integers count, with space for a tile after the last. */
const MAX_KEYS = 2 ** 31 - 2 ** 12;

/** The engine and the level of the last call, and the settings they were chosen for. */
let current: { readonly engine: Engine; readonly level: SimdLevel; readonly settings: object } | undefined;

/** The level calls run at now; the first time wide is asked for, it is tested against relaxed. */
function levelNow(): SimdLevel {
  if (current && current.engine === currentEngine && current.settings === settings()) return current.level;
  const level = currentLevel((engine) =>
    forwardAgrees((problem, out, at) => run(engine, problem, out, at, true)),
  );
  const engine = getEngine();
  // `wide` is being tested as long as it is not what was asked for; only a settled level is kept.
  if (engine && level === settings().simd) current = { engine, level, settings: settings() };
  return level;
}

/** The engine of this process. */
const engineNow = (): Engine => currentEngine ?? (getEngine() as Engine);

/** How many threads a job may use now; starts them where there is work for them. */
function threadsFor(engine: Engine, work: number, singleThreaded: boolean): number {
  const { threads } = settings();
  if (singleThreaded || threads === 1 || work < MIN_PARALLEL_FLOPS) return 1;
  engine.pool.start(threads);
  if (engine.pool.unavailable) warnOnce("threads", engine.pool.unavailableReason);
  return engine.pool.ready(threads);
}

/** Runs a forward call: plan, place, run, copy the results out. A problem that fits the budget is one stage. */
function run(engine: Engine, problem: Problem, out: Result, level: SimdLevel, singleThreaded: boolean): void {
  const { memory, pool } = engine;
  // 1 plan
  const plan = planForward(engine, problem, level);
  const { kernel, packer } = plan.kernels();
  const threads = threadsFor(engine, plan.work, singleThreaded);
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
    // 3 run. The calling thread copies queries and values in while the others pack the keys.
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

/** Stages one after another: groups of heads, or ranges of rows and keys of one head. */
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
    const frame = placeStages(engine.memory, regions, problem, plan);
    const call = writeCall(engine.memory, regions, problem, frame.strides, plan.pool);
    for (let n = 0; n < heads.length; n += staging.heads)
      for (let row = 0; row < Nq; row += staging.rows) {
        const rows = [row, Math.min(Nq, row + staging.rows)] as const;
        for (let key = 0; key === 0 || key < Nk; key += staging.keys) {
          const keys = [key, Math.min(Nk, key + staging.keys)] as const;
          const range = { first: key === 0, last: keys[1] === Nk };
          const piece: Stage = { heads: heads.slice(n, n + staging.heads), rows, keys };
          // A range of keys that no row of the piece may see is not even copied.
          const needed =
            range.first ||
            range.last ||
            piece.heads.some(({ b, hk }) => anyVisible(problem, plan.runs.map, b, hk, rows, keys));
          if (!needed) continue;
          const { placed, fresh } = frame.fill(piece);
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

/** Runs `work` on the engine; if a thread is lost in it, once more on a fresh engine with this thread alone. */
function retryOnWorkerLoss(work: (engine: Engine, alone: boolean) => void): void {
  const engine = engineNow();
  try {
    work(engine, false);
  } catch (error) {
    if (!(error instanceof WorkerLostError)) throw error;
    discardEngine();
    work(getEngine() as Engine, true);
  }
}

/** The level products run at. Their wide kernel is tested before the first of them, so that a program without products does not build it. */
function productLevel(engine: Engine): SimdLevel {
  const level = levelNow();
  if (level !== "wide") return level;
  const test = () => matmulAgrees((product, at) => multiply(engine, product, at, 1, { collected: 0 }));
  return wideMatches("matmul", test) ? level : "relaxed";
}

/** Operations of a product, an addition and a multiplication counted as two. */
const productWork = ({ batch, M, N, K }: Product): number => 2 * batch * M * N * K;

function matmul(product: ProductInto): void {
  if (product.batch * product.M * product.N === 0) return;
  const progress = { collected: 0 };
  retryOnWorkerLoss((engine, singleThreaded) =>
    multiply(
      engine,
      product,
      productLevel(engine),
      threadsFor(engine, productWork(product), singleThreaded),
      progress,
    ),
  );
}

function rowwise(operation: RowwiseOperation): void {
  const { pipeline, finish } = pipelineOf(operation);
  if (pipeline.rows > 0) {
    const done = { rows: 0 };
    retryOnWorkerLoss((engine, singleThreaded) => {
      const threads = threadsFor(engine, pipeline.rows * pipeline.rowWork, singleThreaded);
      runPipeline(engine, pipeline, levelNow() !== "strict", threads, done);
    });
  }
  finish?.();
}

/** Fills the output and lse of a problem. */
export function forward(problem: Problem, out: Result): void {
  const { B, Hq, Nq, Nk } = problem.shape;
  if (B * Hq * Nq === 0) return;
  if (Nk === 0) {
    // No keys: the output is 0 already; lse is −∞, or the sink.
    out.lse.fill(-Infinity);
    if (problem.sinks)
      for (let n = 0; n < out.lse.length; n++) out.lse[n] = problem.sinks[Math.floor(n / Nq) % Hq];
    return;
  }
  retryOnWorkerLoss((engine, singleThreaded) => run(engine, problem, out, levelNow(), singleThreaded));
}

function gradients(problem: Problem, inputs: BackwardInputs, into: Gradients): void {
  const { B, Hq, Nq, Nk } = problem.shape;
  if (B * Hq * Nq * Nk === 0) return;
  retryOnWorkerLoss((engine, singleThreaded) =>
    backward(engine, problem, inputs, into, levelNow(), (work) => threadsFor(engine, work, singleThreaded)),
  );
}

/** Why the kernels do not take an operation. Where WebAssembly itself is missing, a warning says so once. */
function unsupportedReason(operation: Operation): string | undefined {
  const reason = currentEngine ? undefined : unavailableReason();
  if (reason !== undefined) {
    warnOnce("wasm", `running in plain TypeScript, slowly: ${reason}`);
    return reason;
  }
  if (operation.kind === "rowwise") return unsupportedRowwise(operation.operation);
  if (operation.kind === "matmul") {
    const { dtype, M, N, K } = operation.product;
    if (dtype === "float64") return FLOAT64;
    if (K === 0) return "an empty sum needs no kernel";
    return Math.max(M, N, K) > MAX_KEYS ? `the kernels count rows up to ${MAX_KEYS}` : undefined;
  }
  const { problem } = operation;
  if (problem.dtype === "float64") return FLOAT64;
  if (problem.tensors.length > 8) return "the kernels take up to 8 mask tensors";
  const { Nq, Nk } = problem.shape;
  if (Math.max(Nq, Nk) > MAX_KEYS) return `the kernels count rows and keys up to ${MAX_KEYS}`;
  if (operation.kind !== "backward") return undefined;
  return unsupportedBackward(engineNow(), problem, levelNow());
}

const FLOAT64 = "float64 calls compute in float64, the kernels in float32";

/** The backend: every option, float32 and 16-bit storage. */
export const wasm = {
  name: "wasm",
  device: "cpu",
  supports: unsupportedReason,
  allocate: empty,
  plan: (operation) =>
    planOf(getEngine() as Engine, operation, operation.kind === "matmul" ? productLevel : levelNow),
  forward: (problem) => computeState(problem, (result) => forward(problem, result)),
  weights(problem, lse, selection) {
    const { heads, rows } = selection;
    const { shape } = problem;
    const work = 2 * shape.B * heads.length * rows.length * shape.Nk * shape.dk;
    return computeWeights(problem, lse, selection, (read, data) => {
      if (data.length === 0) return;
      retryOnWorkerLoss((engine, singleThreaded) => {
        const threads = threadsFor(engine, work, singleThreaded);
        weights(engine, problem, levelNow(), threads, read, heads, rows, data);
      });
    });
  },
  backward: (problem, tensors, wanted) =>
    computeGradients(problem, tensors, wanted, (inputs, into) => gradients(problem, inputs, into)),
  matmul(product) {
    const { product: into, result } = allocateResult(product);
    matmul(into);
    return result;
  },
  rowwise,
  /** The arena for the results of a scope (core/arena.ts); undefined where there is no engine. */
  arena: (): EngineArena | undefined =>
    unavailableReason() === undefined ? engineArena(getEngine() as Engine) : undefined,
  /** Starts threads, selects the level, and resolves to the number of threads that are ready. */
  async prepare(): Promise<number> {
    const engine = getEngine();
    if (!engine) return 1;
    levelNow();
    return engine.pool.whenReady(settings().threads, 10_000);
  },
} satisfies Backend & Record<string, unknown>;

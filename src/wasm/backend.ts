/**
 * The WebAssembly backend. A problem becomes stages (what is in the engine's memory at once), a stage becomes tasks
 * (blocks of query rows with their runs of keys), threads run them, and the results are copied out. A problem that
 * fits is one stage; a long one goes piece by piece, so that memory does not grow with N.
 */

import type { Backend, Gradients, LseReader, Result, Upstream } from "../backend/contract.ts";
import type { Plan } from "../backend/plan.ts";
import type { Problem } from "../backend/problem.ts";
import type { Product } from "../backend/product.ts";
import { settings, warnOnce } from "../backend/settings.ts";
import { countTiles, TileMap } from "../backend/tiles.ts";
import type { TypedData } from "../core/dtype.ts";
import { backward, refusesBackward } from "./backward/backward.ts";
import { workspaceOf } from "./codegen/layout.ts";
import { keyOf, packing, panelOf } from "./codegen/spec.ts";
import { type EngineArena, engineArena } from "./engine/arena.ts";
import { abandonEngine, currentLevel, type Engine, theEngine, whyNot } from "./engine/engine.ts";
import type { Kernel } from "./engine/kernel-cache.ts";
import { agrees, productsAgree } from "./engine/self-test.ts";
import { ThreadLost } from "./engine/worker-pool.ts";
import { Regions, writeCall } from "./forward/call.ts";
import { type Piece, type Placed, placePieces, placeWhole } from "./forward/place.ts";
import { type KernelLevel, type KeyRange, type Prepared, prepareCall } from "./forward/prepare.ts";
import { collect } from "./forward/results.ts";
import { attendTasks, packTasks, type Tasks } from "./forward/tasks.ts";
import { weights } from "./forward/weights.ts";
import { matmul as multiply } from "./ops/matmul.ts";
import { type Stream, stream } from "./ops/row-pipeline.ts";

export { empty } from "./engine/resident.ts";
export {
  type AdamWScalars,
  adamwStream,
  columnSumsStream,
  crossEntropyStream,
  type MapName,
  mapBackwardStream,
  mapStream,
  normBackwardStream,
  normStream,
} from "./ops/rowwise.ts";

/** Work (multiply-adds counted as two) below which a second thread costs more than it saves: about 100 µs. */
const LONE_WORK = 4e6;

/** Rows and keys that 32-bit integers count, with room for a tile behind the last. */
const MOST_KEYS = 2 ** 31 - 2 ** 12;

/** The level calls run at now; the first time wide is asked for, it is tested against relaxed. */
const levelNow = (): KernelLevel =>
  currentLevel((engine) => agrees((problem, out, level) => run(engine, problem, out, level, true)));

/** How many threads a job may use now; starts them where there is work for them. */
function threadsFor(engine: Engine, work: number, alone: boolean): number {
  const { threads } = settings();
  if (alone || threads === 1 || work < LONE_WORK) return 1;
  engine.threads.start(threads);
  if (engine.threads.unavailable)
    warnOnce(
      "threads",
      "one thread only: there is no shared memory here (a page needs to be cross-origin isolated: headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp), or workers cannot start (a bundle needs worker.js of heed beside it); results are the same",
    );
  return engine.threads.ready(threads);
}

function run(engine: Engine, problem: Problem, out: Result, level: KernelLevel, alone: boolean): void {
  const prepared = prepareCall(engine, problem, level);
  const { spec, how, cut } = prepared;
  const kernel = engine.kernels.get(spec);
  const packer = spec.kind === "forward" ? engine.kernels.get(packing(spec)) : undefined;
  const threads = threadsFor(engine, prepared.work, alone);
  engine.threads.reserve(Math.max(kernel.workspaceBytes, packer?.workspaceBytes ?? 0), threads);
  const map = new TileMap(problem, how.keyTile, spec.kind === "decode" ? 8 : panelOf(spec.tile));
  const regions = new Regions(engine.memory);
  const stageWork = prepared.work / Math.max(1, cut.count);
  const go = (what: Kernel, tasks: Tasks, meanwhile?: () => void) =>
    engine.threads.run(
      what,
      tasks.at,
      tasks.size,
      tasks.count,
      threads,
      what === kernel ? stageWork / tasks.count : 0,
      meanwhile,
    );
  try {
    if (cut.count <= 1) {
      const placed = placeWhole(engine.memory, regions, problem, prepared, out);
      const call = writeCall(engine.memory, regions, problem, placed.strides);
      placed.bringKeys();
      // The calling thread copies the queries and values in while the others pack the keys.
      if (packer) go(packer, packTasks(engine.memory, regions, prepared, placed, threads), placed.bringRest);
      else placed.bringRest();
      go(kernel, attendTasks(engine.memory, regions, problem, prepared, placed, map, call, FULL));
      collect(engine.memory, problem, prepared, placed, out);
      return;
    }
    pieceByPiece(engine, problem, prepared, out, map, (placed, call, range, repack) => {
      const scratch = new Regions(engine.memory);
      try {
        if (packer && repack) go(packer, packTasks(engine.memory, scratch, prepared, placed, threads));
        go(kernel, attendTasks(engine.memory, scratch, problem, prepared, placed, map, call, range));
      } finally {
        scratch.free();
      }
    });
  } finally {
    regions.free();
  }
}

const FULL: KeyRange = { first: true, last: true };

/** Stages one after another: groups of heads, or ranges of rows and keys of one head. */
function pieceByPiece(
  engine: Engine,
  problem: Problem,
  prepared: Prepared,
  out: Result,
  map: TileMap,
  attend: (placed: Placed, call: number, range: KeyRange, repack: boolean) => void,
): void {
  const { B, Hkv, Nq, Nk } = problem.shape;
  const { cut } = prepared;
  const heads: Piece["heads"][number][] = [];
  for (let b = 0; b < B; b++) for (let hk = 0; hk < Hkv; hk++) heads.push({ b, hk });
  const regions = new Regions(engine.memory);
  try {
    const frame = placePieces(engine.memory, regions, problem, prepared);
    const call = writeCall(engine.memory, regions, problem, frame.strides);
    for (let n = 0; n < heads.length; n += cut.heads)
      for (let row = 0; row < Nq; row += cut.rows) {
        const rows = [row, Math.min(Nq, row + cut.rows)] as const;
        for (let key = 0; key === 0 || key < Nk; key += cut.keys) {
          const keys = [key, Math.min(Nk, key + cut.keys)] as const;
          const range = { first: key === 0, last: keys[1] === Nk };
          const piece: Piece = { heads: heads.slice(n, n + cut.heads), rows, keys };
          // A range of keys that no row of the piece may see is not even copied.
          const needed =
            range.first ||
            range.last ||
            piece.heads.some(({ b, hk }) => sees(problem, map, b, hk, rows, keys));
          if (!needed) continue;
          const { placed, fresh } = frame.fill(piece);
          attend(placed, call, range, fresh);
          if (range.last) collect(engine.memory, problem, prepared, placed, out);
        }
      }
  } finally {
    regions.free();
  }
}

function sees(
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
function surviving(work: (engine: Engine, alone: boolean) => void): void {
  const engine = theEngine();
  try {
    work(engine as Engine, false);
  } catch (error) {
    if (!(error instanceof ThreadLost)) throw error;
    abandonEngine();
    work(theEngine() as Engine, true);
  }
}

let productsWiden: boolean | undefined;

/** The level products run at. Their wide kernel is tested before the first of them, so that who has none need not hold it. */
function productLevel(engine: Engine): KernelLevel {
  const level = levelNow();
  if (level !== "wide") return level;
  productsWiden ??= productsAgree((product, at) => multiply(engine, product, at, 1, { collected: 0 }));
  if (productsWiden) return level;
  warnOnce("wide products", 'simd: "wide" failed its self-test for matrix products, which run at "relaxed"');
  return "relaxed";
}

/** Fills the result of a float32 product; returns false where there is no engine for it. */
export function matmul(product: Product): boolean {
  if (product.dtype === "float64" || settings().simd === "reference" || whyNot() !== undefined) return false;
  const { batch, M, N, K } = product;
  if (K === 0 || Math.max(M, N, K) > MOST_KEYS) return false;
  if (batch * M * N === 0) return true;
  const progress = { collected: 0 };
  const work = 2 * batch * M * N * K;
  surviving((engine, alone) =>
    multiply(engine, product, productLevel(engine), threadsFor(engine, work, alone), progress),
  );
  return true;
}

/** Runs rowwise work; returns false where there is no engine for it. */
export function flow(work: () => Stream): boolean {
  if (settings().simd === "reference" || whyNot() !== undefined) return false;
  const s = work();
  if (s.rows === 0) return true;
  const done = { rows: 0 };
  surviving((engine, alone) =>
    stream(engine, s, levelNow() !== "strict", threadsFor(engine, s.rows * s.rowWork, alone), done),
  );
  return true;
}

/** The arena for the results of a scope (core/arena.ts), where this process has an engine. */
export function stepRoom(): EngineArena | undefined {
  if (settings().simd === "reference" || whyNot() !== undefined) return undefined;
  return engineArena(theEngine() as Engine);
}

/**
 * Starts the engine's threads and its SIMD level ahead of the first call, and resolves, without blocking, to the number
 * of threads that are ready. Calls work without it; their first ones run on fewer threads.
 */
export async function prepare(): Promise<number> {
  const engine = theEngine();
  if (!engine || settings().simd === "reference") return 1;
  levelNow();
  return engine.threads.whenReady(settings().threads, 10_000);
}

/** The backend: every option, float32 and 16-bit storage. */
export const wasm: Backend = {
  name: "wasm",
  refuses(problem) {
    if (settings().simd === "reference") return 'simd: "reference" was asked for';
    const reason = whyNot();
    if (reason !== undefined) {
      warnOnce("wasm", `running in plain TypeScript, slowly: ${reason}`);
      return reason;
    }
    if (problem.dtype === "float64") return "float64 computes in float64, which the kernels do not";
    if (problem.tensors.length > 8) return "the kernels take up to 8 mask tensors";
    const { Nq, Nk } = problem.shape;
    if (Math.max(Nq, Nk) > MOST_KEYS) return `the kernels count rows and keys up to ${MOST_KEYS}`;
    return undefined;
  },
  plan(problem): Plan {
    const engine = theEngine() as Engine;
    const level = levelNow();
    const { spec, how, cut, costs } = prepareCall(engine, problem, level);
    const { B, Hq, Hkv, G, Nq } = problem.shape;
    const blocks =
      how.kind === "decode" ? (B * Hkv * G) / how.headsPerTask : B * Hq * Math.ceil(Nq / how.blockRows);
    const panel = spec.kind === "decode" ? 8 : panelOf(spec.tile);
    const head = cut.keys * costs.key + G * cut.rows * (costs.row + cut.keys * costs.cell);
    return {
      backend: "wasm",
      level,
      kernel: keyOf(spec),
      threads: engine.threads.unavailable ? 1 : settings().threads,
      tasks: blocks * how.splits,
      blockRows: how.blockRows,
      keyTile: how.keyTile,
      splits: how.splits,
      stages: Math.max(1, cut.count),
      bytes: Math.round(Math.min(cut.heads, B * Hkv) * head + workspaceOf(spec).size * settings().threads),
      ...(problem.mask
        ? {
            tiles: countTiles(
              problem,
              how.kind === "decode" ? Math.max(1, Nq) : how.blockRows,
              how.keyTile,
              panel,
            ),
          }
        : {}),
    };
  },
  forward(problem: Problem, out: Result): void {
    const { B, Hq, Nq, Nk } = problem.shape;
    if (B * Hq * Nq === 0) return;
    if (Nk === 0) {
      // Nothing to see: output is 0 already; lse is −∞, or the sink.
      out.lse.fill(-Infinity);
      if (problem.sinks)
        for (let n = 0; n < out.lse.length; n++) out.lse[n] = problem.sinks[Math.floor(n / Nq) % Hq];
      return;
    }
    surviving((engine, alone) => run(engine, problem, out, levelNow(), alone));
  },
  weights(
    problem: Problem,
    lse: LseReader,
    heads: readonly number[],
    rows: readonly number[],
    out: TypedData,
  ): void {
    if (out.length === 0) return;
    const { shape } = problem;
    const work = 2 * shape.B * heads.length * rows.length * shape.Nk * shape.dk;
    surviving((engine, alone) =>
      weights(engine, problem, levelNow(), threadsFor(engine, work, alone), lse, heads, rows, out),
    );
  },
  refusesBackward: (problem) => refusesBackward(theEngine() as Engine, problem, levelNow()),
  backward(problem: Problem, upstream: Upstream, gradients: Gradients): void {
    const { B, Hq, Nq, Nk } = problem.shape;
    if (B * Hq * Nq * Nk === 0) return;
    surviving((engine, alone) =>
      backward(engine, problem, upstream, gradients, levelNow(), (work) => threadsFor(engine, work, alone)),
    );
  },
};

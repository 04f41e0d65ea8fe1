/** The engine of this process: one memory, its kernels and threads, and its SIMD levels. */

import type { SimdLevel } from "../../backend/plan/plan.ts";
import { settings, warnOfLowerLevel, warnOnce } from "../../backend/settings.ts";
import { hasSharedMemory, hasSimd } from "./features.ts";
import { KernelCache } from "./kernel-cache.ts";
import { kernelFiles, unsupportedCompilation, warnOfLoops } from "./kernel-files.ts";
import { EngineMemory } from "./memory.ts";
import { WorkerPool } from "./worker-pool.ts";

/** Operations whose wide kernels are tested against relaxed ones before their first use. */
type TestedOperation = "forward" | "backward" | "matmul" | "packed";

/** A memory with its kernels and threads. */
export interface Engine {
  readonly memory: EngineMemory;
  readonly kernels: KernelCache;
  readonly pool: WorkerPool;
  /** True where this runtime compiles nothing: all kernels come from modules that heed/kernels added. */
  readonly filesOnly: boolean;
  /** Results of `findLevel`, by settings. */
  readonly levels: WeakMap<object, Partial<Record<TestedOperation, SimdLevel>>>;
}

let engine: Engine | undefined;

/** The current engine, if any; callers read it to skip `getEngine`. */
export { engine as currentEngine };

let unavailable: string | undefined;

/** The engine, made at first use; undefined where WebAssembly cannot run here, with the reason in `unavailableReason`. */
export function getEngine(): Engine | undefined {
  if (engine || unavailable !== undefined) return engine;
  unavailable = findUnavailableReason();
  if (unavailable !== undefined) return undefined;
  // Modules that were compiled before import memory that is not shared.
  const filesOnly = unsupportedCompilation() !== undefined;
  const memory = new EngineMemory(!filesOnly && hasSharedMemory());
  const [kernels, pool] = [new KernelCache(memory), new WorkerPool(memory)];
  engine = { memory, kernels, pool, filesOnly, levels: new WeakMap() };
  return engine;
}

/** Lets the next call look again whether there can be an engine. */
export function retryEngine(): void {
  unavailable = undefined;
}

/** Why there is no engine; undefined where there is one. */
export function unavailableReason(): string | undefined {
  getEngine();
  return unavailable;
}

/** `unavailableReason`, with a warning that calls run without the kernels. */
export function warnIfUnavailable(): string | undefined {
  const reason = unavailableReason();
  if (reason !== undefined) warnOfLoops(reason);
  return reason;
}

/**
 * Why an operation has no kernel: `get`, which gets the kernels of a call, needs one that neither a module nor this runtime has. Asked only
 * where `filesOnly` is true, so that a warm call elsewhere does not enter this file.
 */
export function missingKernel(get: (engine: Engine) => unknown): string | undefined {
  return kernelFiles?.missing(() => get(getEngine() as Engine));
}

function findUnavailableReason(): string | undefined {
  if (typeof WebAssembly !== "object") return "this engine has no WebAssembly";
  if (!hasSimd()) return "this engine has no WebAssembly SIMD";
  return kernelFiles ? undefined : unsupportedCompilation();
}

/** Discards the engine after a thread was lost, because that thread may still write to its memory. The next call makes a new one. */
export function discardEngine(): void {
  engine?.pool.end();
  engine = undefined;
}

/** A new engine in place of the one that lost a thread, unless another call has replaced that one. */
export function replaceEngine(lost = engine): Engine {
  if (lost === engine) discardEngine();
  return getEngine() as Engine;
}

/** Results of the self-tests: whether the wide kernels of an operation give the same bits as the relaxed ones. */
const wideResults = new Map<TestedOperation, boolean>();

/** True where the wide kernels of an operation give the same bits as relaxed ones; tested once per process. */
function wideMatches(operation: TestedOperation, selfTest: () => boolean): boolean {
  let matches = wideResults.get(operation);
  if (matches === undefined) {
    matches = selfTest();
    wideResults.set(operation, matches);
    if (!matches)
      warnOnce(
        `wide ${operation}`,
        `simd: "wide" failed its self-test for ${operation}, which runs at "relaxed"`,
      );
  }
  return matches;
}

/** True where kernels use relaxed SIMD: levels `wide` and `relaxed`. */
export function isRelaxed(): boolean {
  warnOfLowerLevel();
  const owner = getEngine();
  return owner !== undefined && levelOf(owner) !== "strict";
}

/** The level of the settings; that of the kernels in files where this runtime compiles none. */
const levelOf = (owner: Engine): SimdLevel => (owner.filesOnly ? "strict" : settings().simd);

/**
 * The level of an operation on an engine: that of the settings, or `relaxed` where `selfTest`, which compares wide kernels with
 * relaxed ones, finds a difference. Results are stored in `engine.levels`, which callers read first.
 */
export function findLevel(owner: Engine, operation: TestedOperation, selfTest: () => boolean): SimdLevel {
  const current = settings();
  warnOfLowerLevel();
  const available = levelOf(owner);
  const level = available === "wide" && !wideMatches(operation, selfTest) ? "relaxed" : available;
  owner.levels.set(current, { ...owner.levels.get(current), [operation]: level });
  return level;
}

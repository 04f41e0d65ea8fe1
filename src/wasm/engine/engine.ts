/** The engine of this process: one memory, its kernels and threads, and the SIMD level it runs at. */

import type { SimdLevel } from "../../backend/plan.ts";
import { isSimdChosen, settings, warnOnce } from "../../backend/settings.ts";
import { ModuleBuilder } from "../assembler/index.ts";
import { enableRelaxedSimd, enableRevectorizer, hasRelaxed, hasSharedMemory, hasSimd } from "./features.ts";
import { KernelCache } from "./kernel-cache.ts";
import { EngineMemory } from "./memory.ts";
import { WorkerPool } from "./worker-pool.ts";

/** Memory, kernels and threads that belong together. */
export interface Engine {
  readonly memory: EngineMemory;
  readonly kernels: KernelCache;
  readonly pool: WorkerPool;
}

let engine: Engine | undefined;

/** The engine, if it has been made and not discarded: read it to skip `getEngine`. */
export { engine as currentEngine };

let unavailable: string | undefined;
let levels: { relaxed: boolean; shared: boolean } | undefined;

/** The engine, made at first use; undefined where WebAssembly cannot run here, with the reason in `unavailableReason`. */
export function getEngine(): Engine | undefined {
  if (engine || unavailable !== undefined) return engine;
  unavailable = findUnavailableReason();
  if (unavailable !== undefined) return undefined;
  levels = { relaxed: hasRelaxed(), shared: hasSharedMemory() };
  const memory = new EngineMemory(levels.shared);
  engine = { memory, kernels: new KernelCache(memory), pool: new WorkerPool(memory) };
  return engine;
}

/** Why there is no engine here. */
export function unavailableReason(): string | undefined {
  getEngine();
  return unavailable;
}

function findUnavailableReason(): string | undefined {
  if (typeof WebAssembly !== "object") return "this engine has no WebAssembly";
  if (!hasSimd()) return "this engine has no WebAssembly SIMD";
  try {
    // A page whose policy lacks 'wasm-unsafe-eval' validates modules, but does not compile them.
    new WebAssembly.Module(new ModuleBuilder({ initial: 1, maximum: 1, shared: false }).encode());
  } catch (error) {
    return `WebAssembly may not be compiled here (a Content-Security-Policy needs script-src 'wasm-unsafe-eval'): ${(error as Error).message}`;
  }
  return undefined;
}

/** Gives the engine up after a thread was lost: its memory may still be written to. The next call makes a new one. */
export function discardEngine(): void {
  engine?.pool.end();
  engine = undefined;
}

/** Whether the wide kernels of an operation gave the bits of the relaxed ones, by operation. */
const wideResults = new Map<"forward" | "backward" | "matmul", boolean>();

/** Tests the wide kernels of an operation before their first use; remembers the result for this process. */
export function wideMatches(operation: "forward" | "backward" | "matmul", test: () => boolean): boolean {
  let matches = wideResults.get(operation);
  if (matches === undefined) {
    // Set before the test runs, because the test itself asks for a level.
    wideResults.set(operation, false);
    matches = test();
    wideResults.set(operation, matches);
    if (!matches && operation !== "forward")
      warnOnce(
        `wide ${operation}`,
        `simd: "wide" failed its self-test for ${operation}, which runs at "relaxed"`,
      );
  }
  return matches;
}

/** The level a call runs at: the one configured, or the nearest this engine has. */
export function currentLevel(selfTest: (engine: Engine) => boolean): SimdLevel {
  const made = getEngine();
  const asked = settings().simd;
  if (!made || asked === "strict") return "strict";
  if (asked === "wide") {
    const matches = (): boolean => levels?.relaxed === true && enableRevectorizer() && selfTest(made);
    if (wideMatches("forward", matches)) return "wide";
    warnOnce(
      "wide",
      'simd: "wide" needs V8 13 or later in Node (24 and up) and its self-test; running at the next level',
    );
  }
  if (levels && !levels.relaxed && isSimdChosen() && enableRelaxedSimd()) levels.relaxed = hasRelaxed();
  if (levels?.relaxed) return "relaxed";
  if (isSimdChosen()) warnOnce("relaxed", 'simd: "relaxed" is not in this engine; running "strict"');
  return "strict";
}

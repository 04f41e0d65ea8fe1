/**
 * The pool of a page's worker, which computes on one thread: what src/wasm/engine/worker-pool.ts does where it has only the calling
 * thread. The bundles of the Lab and the explorer have it in place of that module, and so neither the code that starts threads nor that which waits for them.
 */
import { clearUpperYmm } from "../../src/wasm/engine/features.ts";

/** @typedef {import("../../src/wasm/engine/worker-pool.ts").Runnable} Runnable */
/** @typedef {import("../../src/wasm/engine/worker-pool.ts").KernelJob} KernelJob */
/** @typedef {Omit<import("../../src/wasm/engine/worker-pool.ts").WorkerPool, never>} Pool its public part */

/** Operations of one slice, as in the engine. */
export const SLICE_OPERATIONS = 2 ** 29;

/**
 * Runs `work`: no thread is lost where there is one.
 * @template E @param {E} engine @param {unknown} _replace @param {(engine: E, singleThreaded: boolean) => void} work
 */
export const retryOnWorkerLoss = (engine, _replace, work) => work(engine, true);

/**
 * The same for work in slices.
 * @template E @param {E} engine @param {unknown} _replace @param {(engine: E, singleThreaded: boolean) => Generator<number, void>} work
 */
export const retrySlices = (engine, _replace, work) => work(engine, true);

/** The number of ready threads, at once. */
export const whenReady = async () => 1;

/** @implements {Pool} */
class OneThread {
  #memory;
  #bytes = 0;
  #workspace = 0;
  unavailable = true;
  unavailableReason = "running single-threaded";

  /** @param {import("../../src/wasm/engine/memory.ts").EngineMemory} memory */
  constructor(memory) {
    this.#memory = memory;
  }

  threadsFor = () => 1;
  ready = () => 1;
  start() {}
  end() {}

  /** @param {number} bytes */
  reserve(bytes) {
    if (bytes <= this.#bytes && this.#workspace) return;
    if (this.#workspace) this.#memory.free(this.#workspace);
    this.#workspace = this.#bytes = 0;
    this.#workspace = this.#memory.alloc(bytes);
    this.#bytes = bytes;
  }

  /** @param {KernelJob} job @param {number} sliceWork @returns {Generator<number, void>} */
  *runSlices({ kernel, tasks: { at, size, count }, taskWork, workspaceBytes, overlap }, sliceWork) {
    const step = sliceWork === Infinity ? Math.max(1, count) : Math.floor(sliceWork / taskWork) || 1;
    for (let first = 0; first === 0 || first < count; first += step) {
      const length = Math.min(step, count - first);
      this.reserve(workspaceBytes);
      this.run(kernel, at + first * size, size, length, 1, 0, first === 0 ? overlap : undefined);
      if (sliceWork !== Infinity) yield count === 0 ? 1 : (first + length) / count;
    }
  }

  /**
   * @param {Runnable} kernel @param {number} tasks @param {number} size @param {number} count @param {number} [_threads]
   * @param {number} [_work] @param {() => void} [overlap]
   */
  run(kernel, tasks, size, count, _threads, _work, overlap) {
    overlap?.();
    for (let n = 0; n < count; n++) kernel.run(tasks + n * size, this.#workspace);
    if (kernel.wide) clearUpperYmm();
  }
}

export { OneThread as WorkerPool };

/**
 * Threads over one shared memory. A job is a kernel and a list of tasks; all threads, including the calling one, take tasks from
 * one counter, and results do not depend on which thread runs a task. Workers start when there is work
 * for them, are ready some 70 ms later (measured, Node 24), and sleep on an atomic word between jobs.
 *
 * A worker that dies during a task is detected by a timeout: the job is aborted, and the call runs again, single-threaded, on a
 * new engine with a new memory (`retryOnWorkerLoss`).
 */
import { settings, warnOnce } from "../../backend/settings.ts";
import { clearUpperYmm } from "./features.ts";
import { unsupportedCompilation } from "./kernel-files.ts";
import type { EngineMemory } from "./memory.ts";
import { spawnWorker, type WorkerHandle } from "./spawn.ts";
import { CONTROL } from "./worker.js";

/** A kernel that `run` can run. */
export interface Runnable {
  readonly id: number;
  readonly code: Uint8Array;
  /** Compiled for 256-bit registers. */
  readonly wide?: boolean;
  readonly run: (task: number, workspace: number) => void;
}

/** A kernel with the tasks that `runSlices` runs. */
export interface KernelJob {
  readonly kernel: Runnable;
  readonly tasks: { readonly at: number; readonly size: number; readonly count: number };
  readonly threads: number;
  /** Operations of the whole call, from which later slices choose their threads: workers may have started meanwhile. */
  readonly callWork: number;
  readonly workspaceBytes: number;
  /** Approximate number of operations of the largest task. */
  readonly taskWork: number;
  /** What the calling thread does first, while the others start with the tasks. */
  readonly overlap?: () => void;
}

/** Operations of one slice of a call: less than 50 ms on one thread of a slow machine. */
export const SLICE_OPERATIONS = 2 ** 29;

/** Thrown where a thread was lost during a task. */
export class WorkerLostError extends Error {}

/** Runs `work`; after the loss of a thread, runs it again, single-threaded, on the engine that `replace` makes. */
export function retryOnWorkerLoss<E>(
  engine: E,
  replace: () => E,
  work: (engine: E, singleThreaded: boolean) => void,
): void {
  try {
    work(engine, false);
  } catch (error) {
    if (!(error instanceof WorkerLostError)) throw error;
    work(replace(), true);
  }
}

/** The same for work in slices, which begins again after the loss of a thread; another call may have replaced the engine meanwhile. */
export function* retrySlices<E>(
  engine: E,
  replace: (lost: E) => E,
  work: (engine: E, singleThreaded: boolean) => Generator<number, void>,
): Generator<number, void> {
  try {
    yield* work(engine, false);
  } catch (error) {
    if (!(error instanceof WorkerLostError)) throw error;
    yield* work(replace(engine), true);
  }
}

/** Work (multiply-adds counted as two) below which a second thread costs more than it saves: about 100 µs. */
const MIN_PARALLEL_FLOPS = 4e6;
/** A thread is lost after this time without progress, or after this many times the duration of a task if that is longer. */
const STALL_TIMEOUT_MS = 1000;
const STALL_TASKS = 40;
/** Operations per millisecond of the slowest machine: a task with more than STALL_TIMEOUT_MS times as many gets a longer timeout. */
const MIN_OPS_PER_MS = 5e5;
/**
 * Consecutive failures, of workers as they start or of jobs, after which this process continues on one thread; each counts for
 * FAILURE_MS, so that it tries again later.
 */
const MAX_FAILURES = 4;
const FAILURE_MS = 30_000;
/** When the latest failures happened. */
let failures: number[] = [];
/** The reason of the latest failure. */
let failure = "";
const LOST = "calls lost a thread (killed or out of memory)";
/** Maximum bytes of one kernel's code: 6 to 15 KB in all measured cases; a larger one runs on the calling thread only. */
const CODE_BYTES = 256 * 1024;

function countFailure(reason: string): void {
  failures.push(performance.now());
  failure = reason;
}

function hasTooManyFailures(): boolean {
  if (failures.length < MAX_FAILURES) return false;
  failures = failures.filter((time) => performance.now() - time < FAILURE_MS);
  return failures.length >= MAX_FAILURES;
}

/** The pool. Without shared memory it has the calling thread only. */
export class WorkerPool {
  private readonly memory: EngineMemory;
  private readonly words: Int32Array<ArrayBufferLike>;
  private readonly workers: (WorkerHandle | undefined)[] = [];
  private readonly workspaces: number[] = [];
  private workspaceBytes = 0;
  private mainWorkspace = 0;
  private broken = false;
  /** True from the first ticket of a job until all its threads are done. */
  private running = false;
  /** Address of the code of the job's kernel for workers: low in the memory, inside every thread's view of it. */
  private readonly codeAt: number;
  private codeOf = -1;

  constructor(memory: EngineMemory) {
    this.memory = memory;
    this.codeAt = memory.alloc(CODE_BYTES);
    this.words = new Int32Array(memory.memory.buffer, 0, 1024);
  }

  /** Number of threads for a job of `work` operations; starts workers where the job is large enough. */
  threadsFor(work: number): number {
    const { threads } = settings();
    if (threads === 1 || work < MIN_PARALLEL_FLOPS) return 1;
    this.start(threads);
    // Where kernels come from files, one thread is what there is.
    if (this.unavailable && unsupportedCompilation() === undefined)
      warnOnce("threads", this.unavailableReason);
    return this.ready(threads);
  }

  /** Number of threads that are ready for tasks, including the calling one. */
  ready(limit: number): number {
    let n = 1;
    for (let i = 0; i < this.workers.length && n < limit; i++)
      if (this.workers[i] && !this.workers[i]?.dead && Atomics.load(this.words, CONTROL.ready + i) === 1) n++;
    return n;
  }

  /** Starts workers for a total of `count` threads. They take tasks when they are ready. */
  start(count: number): void {
    if (this.unavailable) return;
    for (let i = 0; i < Math.min(count, 64) - 1; i++)
      if (!this.workers[i] || this.workers[i]?.dead) {
        Atomics.store(this.words, CONTROL.ready + i, 0);
        const isReady = () => Atomics.load(this.words, CONTROL.ready + i) === 1;
        try {
          this.workers[i] = spawnWorker(this.memory.memory, i, isReady, (reason) => {
            countFailure(`workers did not start (${reason})`);
          });
        } catch (error) {
          failure = `no worker may be started (${(error as Error).message})`;
          this.broken = true;
          return;
        }
      }
  }

  /** True where workers cannot be started here. */
  get unavailable(): boolean {
    return !this.memory.shared || this.broken || hasTooManyFailures();
  }

  /** Why workers cannot be started here, and the remedy. */
  get unavailableReason(): string {
    const page = globalThis as { document?: unknown; crossOriginIsolated?: boolean };
    const isPage = !(page.crossOriginIsolated ?? page.document === undefined);
    const reason = this.memory.shared
      ? failure
      : isPage
        ? "SharedArrayBuffer is unavailable because the page is not cross-origin isolated; serve it with the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp"
        : "this runtime has no shared WebAssembly memory";
    return `running single-threaded: ${reason}; results are the same, and threads: 1 hides this warning`;
  }

  /** Allocates workspaces of at least `bytes` for `threads` threads. */
  reserve(bytes: number, threads: number): void {
    const size = Math.max(bytes, this.workspaceBytes);
    if (size > this.workspaceBytes) {
      for (const at of [this.mainWorkspace, ...this.workspaces]) if (at) this.memory.free(at);
      this.mainWorkspace = 0;
      this.workspaces.length = 0;
      // 0 until all are allocated: after a failed allocation the next call allocates all again.
      this.workspaceBytes = 0;
    }
    if (!this.mainWorkspace) this.mainWorkspace = this.memory.alloc(size);
    for (let i = this.workspaces.length; i < threads - 1; i++) {
      this.workspaces.push(this.memory.alloc(size));
      this.words[CONTROL.workspace + i] = this.workspaces[i];
    }
    this.workspaceBytes = size;
  }

  /**
   * Runs the tasks of a job. With a finite `sliceWork`, about that many operations at a time: yields the share that is done after each
   * slice. Another job may run meanwhile, so each slice reserves the workspaces.
   */
  *runSlices(job: KernelJob, sliceWork: number): Generator<number, void> {
    const { kernel, tasks, taskWork } = job;
    let { threads } = job;
    const { at, size, count } = tasks;
    const step =
      sliceWork === Infinity ? Math.max(1, count) : Math.max(threads, Math.floor(sliceWork / taskWork) || 1);
    // A job without tasks still runs `overlap`.
    for (let first = 0; first === 0 || first < count; first += step) {
      const length = Math.min(step, count - first);
      this.reserve(job.workspaceBytes, threads);
      this.run(
        kernel,
        at + first * size,
        size,
        length,
        threads,
        taskWork,
        first === 0 ? job.overlap : undefined,
      );
      if (sliceWork === Infinity) continue;
      yield count === 0 ? 1 : (first + length) / count;
      threads = this.threadsFor(job.callWork);
    }
  }

  /**
   * Runs `count` tasks of `size` bytes from `tasks` on with at most `threads` threads; returns when all are done.
   * `work` is the approximate number of operations of the largest task: longer tasks have a longer timeout. The calling thread
   * runs `overlap` first, while the others start with the tasks.
   */
  run(
    kernel: Runnable,
    tasks: number,
    size: number,
    count: number,
    threads: number,
    work = 0,
    overlap?: () => void,
  ): void {
    // A job stays open only if it was aborted from outside (a time limit of the host, a stack overflow); its threads may still write.
    if (this.running) throw new WorkerLostError("an earlier job was aborted");
    if (threads <= 1 || count <= 1 || kernel.code.length > CODE_BYTES) {
      overlap?.();
      for (let n = 0; n < count; n++) kernel.run(tasks + n * size, this.mainWorkspace);
      if (kernel.wide) clearUpperYmm();
      return;
    }
    const { words } = this;
    if (this.codeOf !== kernel.id) {
      this.memory.u8.set(kernel.code, this.codeAt);
      this.codeOf = kernel.id;
    }
    words[CONTROL.kernel] = kernel.id;
    words[CONTROL.kernelAt] = this.codeAt;
    words[CONTROL.kernelBytes] = kernel.code.length;
    words[CONTROL.tasks] = tasks;
    words[CONTROL.taskSize] = size;
    words[CONTROL.count] = count;
    Atomics.store(words, CONTROL.failed, 0);
    Atomics.store(words, CONTROL.wanted, threads - 1);
    this.running = true;
    // From this store on tasks can be taken: all words above are written.
    Atomics.store(words, CONTROL.remaining, count);
    Atomics.add(words, CONTROL.epoch, 1);
    Atomics.notify(words, CONTROL.epoch);
    let start = 0;
    let completed = 0;
    try {
      overlap?.();
      start = performance.now();
      for (;;) {
        const left = Atomics.sub(words, CONTROL.remaining, 1);
        if (left <= 0) break;
        kernel.run(tasks + (count - left) * size, this.mainWorkspace);
        completed++;
      }
    } catch (error) {
      // Take no further tasks, and wait for those that have started: the caller frees their memory.
      Atomics.store(words, CONTROL.remaining, 0);
      this.finish(work / MIN_OPS_PER_MS);
      throw error;
    }
    const taskMs = completed === 0 ? 0 : (performance.now() - start) / completed;
    if (kernel.wide) clearUpperYmm();
    this.finish(Math.max(STALL_TASKS * taskMs, work / MIN_OPS_PER_MS));
  }

  /** Waits for the threads that still run a task, at most `expectedMs` or STALL_TIMEOUT_MS. */
  private finish(expectedMs: number): void {
    const { words } = this;
    for (let n = 0; n < 50000; n++) if (Atomics.load(words, CONTROL.active) === 0) break;
    const timeoutMs = Math.max(STALL_TIMEOUT_MS, expectedMs);
    const start = performance.now();
    for (;;) {
      const active = Atomics.load(words, CONTROL.active);
      if (active === 0) break;
      if (performance.now() - start > timeoutMs) {
        countFailure(LOST);
        throw new WorkerLostError("a thread did not finish its task");
      }
      // The main thread of a page must not block: it polls. At most one task per thread remains.
      if (canBlock()) Atomics.wait(words, CONTROL.active, active, 20);
    }
    if (Atomics.load(words, CONTROL.failed) !== 0) {
      countFailure(LOST);
      throw new WorkerLostError("a thread failed in its task");
    }
    this.running = false;
    failures = [];
  }

  /** Ends all workers; the memory they wrote to must not be used again unless they were idle. */
  end(): void {
    for (const worker of this.workers)
      if (worker) {
        worker.dead = true;
        worker.terminate();
      }
    this.workers.length = 0;
  }
}

function canBlock(): boolean {
  return typeof (globalThis as { document?: unknown }).document === "undefined";
}

/** Waits, without blocking, until `count` threads are ready or the timeout; returns the number of ready threads. */
export async function whenReady(pool: WorkerPool, count: number, timeoutMs: number): Promise<number> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    // In every iteration: a worker may have died during its start.
    pool.start(count);
    if (pool.ready(count) >= count || performance.now() >= until || pool.unavailable) break;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return pool.ready(count);
}

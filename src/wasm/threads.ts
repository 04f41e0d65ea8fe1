/**
 * Threads over one shared memory. A job is a kernel and a list of tasks; threads take tasks from one counter, the
 * calling thread included, so which thread runs a task changes nothing but the time. Workers start when there is work
 * for them, are ready some 50–150 ms later, and sleep on an atomic word in between.
 *
 * A worker that dies in the middle of a task is noticed by its silence: the job is given up, and the engine that owns
 * this pool starts over with a fresh memory and runs the call alone (backend.ts).
 */
import type { EngineMemory } from "./memory.ts";
import { WORDS } from "./worker.js";

/** What `run` needs of a kernel. */
export interface Runnable {
  readonly id: number;
  readonly code: Uint8Array;
  readonly run: (task: number, workspace: number) => void;
}

/** A thread was lost while it held a task. */
export class ThreadLost extends Error {}

interface Handle {
  terminate(): void;
  dead: boolean;
}

/** Least time without progress after which a thread counts as lost, and the multiple of a task's usual time. */
const PATIENCE_MS = 1000;
const PATIENCE_TASKS = 40;
/** Room for one kernel's code; the largest seen is 40 KB. */
const CODE_BYTES = 256 * 1024;

/** The pool. Without shared memory it is the calling thread alone. */
export class Threads {
  private readonly memory: EngineMemory;
  private readonly words: Int32Array<ArrayBufferLike>;
  private readonly workers: (Handle | undefined)[] = [];
  private readonly workspaces: number[] = [];
  private workspaceBytes = 0;
  private mainWorkspace = 0;
  private broken = false;
  /** Where workers find the code of the job's kernel: low in the memory, inside every thread's view of it. */
  private readonly codeAt: number;
  private codeOf = -1;

  constructor(memory: EngineMemory) {
    this.memory = memory;
    this.codeAt = memory.alloc(CODE_BYTES);
    this.words = new Int32Array(memory.memory.buffer, 0, 1024);
  }

  /** Threads that could take a task now, the calling one included. */
  ready(limit: number): number {
    let n = 1;
    for (let i = 0; i < this.workers.length && n < limit; i++)
      if (this.workers[i] && !this.workers[i]?.dead && Atomics.load(this.words, WORDS.ready + i) === 1) n++;
    return n;
  }

  /** Starts workers until `count` threads are there or on their way. They come into play when they are ready. */
  start(count: number): void {
    if (!this.memory.shared || this.broken) return;
    for (let i = 0; i < Math.min(count, 64) - 1; i++)
      if (!this.workers[i] || this.workers[i]?.dead) {
        Atomics.store(this.words, WORDS.ready + i, 0);
        this.workers[i] = spawn(this.memory.memory, i);
        if (!this.workers[i]) {
          this.broken = true;
          return;
        }
      }
  }

  /** True where workers cannot be started here. */
  get unavailable(): boolean {
    return !this.memory.shared || this.broken;
  }

  /** Waits, without blocking, until `count` threads are ready or the time is over; returns how many are. */
  async whenReady(count: number, timeoutMs: number): Promise<number> {
    this.start(count);
    const until = Date.now() + timeoutMs;
    while (this.ready(count) < count && Date.now() < until && !this.unavailable)
      await new Promise((resolve) => setTimeout(resolve, 2));
    return this.ready(count);
  }

  /** Bytes of workspace each thread needs from now on. */
  reserve(bytes: number, threads: number): void {
    if (bytes > this.workspaceBytes) {
      for (const at of [this.mainWorkspace, ...this.workspaces]) if (at) this.memory.free(at);
      this.mainWorkspace = 0;
      this.workspaces.length = 0;
      this.workspaceBytes = bytes;
    }
    if (!this.mainWorkspace) this.mainWorkspace = this.memory.alloc(this.workspaceBytes);
    for (let i = this.workspaces.length; i < threads - 1; i++) {
      this.workspaces.push(this.memory.alloc(this.workspaceBytes));
      this.words[WORDS.workspace + i] = this.workspaces[i];
    }
  }

  /** Runs `count` tasks of `size` bytes from `tasks` on with at most `threads` threads; returns when all are done. */
  run(kernel: Runnable, tasks: number, size: number, count: number, threads: number): void {
    if (threads <= 1 || count <= 1 || kernel.code.length > CODE_BYTES) {
      for (let n = 0; n < count; n++) kernel.run(tasks + n * size, this.mainWorkspace);
      return;
    }
    const { words } = this;
    if (this.codeOf !== kernel.id) {
      this.memory.u8.set(kernel.code, this.codeAt);
      this.codeOf = kernel.id;
    }
    words[WORDS.kernel] = kernel.id;
    words[WORDS.kernelAt] = this.codeAt;
    words[WORDS.kernelBytes] = kernel.code.length;
    words[WORDS.tasks] = tasks;
    words[WORDS.taskSize] = size;
    words[WORDS.count] = count;
    Atomics.store(words, WORDS.failed, 0);
    Atomics.store(words, WORDS.wanted, threads - 1);
    // From this store on tasks can be taken: everything above is written.
    Atomics.store(words, WORDS.tickets, count);
    Atomics.add(words, WORDS.epoch, 1);
    Atomics.notify(words, WORDS.epoch);
    const start = performance.now();
    let mine = 0;
    for (;;) {
      const left = Atomics.sub(words, WORDS.tickets, 1);
      if (left <= 0) break;
      kernel.run(tasks + (count - left) * size, this.mainWorkspace);
      mine++;
    }
    this.finish(mine === 0 ? 0 : (performance.now() - start) / mine);
  }

  /** Waits for the threads that still hold a task. */
  private finish(taskMs: number): void {
    const { words } = this;
    for (let n = 0; n < 50000; n++) if (Atomics.load(words, WORDS.active) === 0) break;
    const patience = Math.max(PATIENCE_MS, PATIENCE_TASKS * taskMs);
    const start = performance.now();
    for (;;) {
      const active = Atomics.load(words, WORDS.active);
      if (active === 0) break;
      if (performance.now() - start > patience) throw new ThreadLost("a thread did not finish its task");
      // A page's main thread may not wait; it looks again. What is left is at most one task a thread.
      if (mayWait()) Atomics.wait(words, WORDS.active, active, 20);
    }
    if (Atomics.load(words, WORDS.failed) !== 0) throw new ThreadLost("a thread failed in its task");
  }

  /** Ends all workers; the memory they wrote to must not be used again unless they were idle. */
  end(): void {
    for (const worker of this.workers) worker?.terminate();
    this.workers.length = 0;
  }
}

function mayWait(): boolean {
  return typeof (globalThis as { document?: unknown }).document === "undefined";
}

interface NodeWorker {
  on(event: string, listener: () => void): void;
  unref(): void;
  terminate(): Promise<number>;
}
type NodeWorkerClass = new (url: URL, options: object) => NodeWorker;

/** A worker in Node, or in a page or another worker; undefined where none can be had. */
function spawn(memory: WebAssembly.Memory, index: number): Handle | undefined {
  const data = { heed: true, memory, index };
  const process = (globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }).process;
  const node = process?.getBuiltinModule?.("node:worker_threads") as { Worker: NodeWorkerClass } | undefined;
  try {
    if (node) {
      // execArgv is not handed on: a loader of the host's would only slow the start.
      const worker = new node.Worker(new URL("./worker.js", import.meta.url), {
        workerData: data,
        execArgv: [],
      });
      const handle: Handle = { dead: false, terminate: () => void worker.terminate() };
      const died = () => {
        handle.dead = true;
      };
      worker.on("error", died);
      worker.on("exit", died);
      worker.unref();
      return handle;
    }
    const worker = new Worker(new URL("./worker.js", import.meta.url), {
      type: "module",
      name: `heed ${index}`,
    });
    const handle: Handle = { dead: false, terminate: () => worker.terminate() };
    worker.addEventListener("error", () => {
      handle.dead = true;
    });
    worker.postMessage(data);
    return handle;
  } catch {
    return undefined;
  }
}

/** The pool: its words, its jobs, and threads that die, fail or stall. */
import { afterEach, describe, expect, it } from "vitest";
import { i32, ModuleBuilder } from "../assembler/index.ts";
import { CONSTANTS_AT } from "../codegen/layout.ts";
import { EngineMemory } from "./memory.ts";
import { CONTROL } from "./worker.js";
import { type Runnable, WorkerLostError, WorkerPool, whenReady } from "./worker-pool.ts";

const pools: WorkerPool[] = [];
afterEach(() => {
  for (const pool of pools.splice(0)) pool.end();
});

function poolOf(shared = true): { memory: EngineMemory; threads: WorkerPool; words: Int32Array } {
  const memory = new EngineMemory(shared);
  const threads = new WorkerPool(memory);
  pools.push(threads);
  return { memory, threads, words: new Int32Array(memory.memory.buffer, 0, 1024) };
}

let ids = 1_000_000;

/**
 * A kernel whose task i holds [index, place]: it counts the task at `place` + 4·index, and writes down its workspace.
 * `spin` makes it slow; `trap` makes the copy of the threads fail, not that of the calling thread.
 */
function kernel(memory: EngineMemory, { spin = 0, trap = false } = {}): Runnable {
  const write = (trapped: boolean) => {
    const module = new ModuleBuilder({ initial: 1, maximum: 65536, shared: true });
    module.func(
      "run",
      { task: "i32", workspace: "i32" },
      (f, { task, workspace }) => {
        const n = f.local("i32");
        if (spin) f.count(n, 0, spin, 1, () => {});
        const at = f.int(i32.add(i32.load(task, 4), i32.shl(i32.load(task), 2)));
        if (trapped) f.set(n, i32.load(-4));
        f.store("i32.store", at, i32.add(i32.load(at), 1));
        f.store("i32.store", workspace, i32.add(i32.load(workspace), 1));
      },
      { exported: true },
    );
    return module.encode();
  };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(write(false)), {
    env: { memory: memory.memory },
  });
  return { id: ++ids, code: write(trap), run: instance.exports.run as Runnable["run"] };
}

/** A list of tasks for that kernel, and how often each was done. */
function tasksOf(memory: EngineMemory, count: number) {
  const place = memory.alloc(4 * count);
  const at = memory.alloc(8 * count);
  memory.i32.fill(0, place / 4, place / 4 + count);
  for (let n = 0; n < count; n++) memory.i32.set([n, place], at / 4 + 2 * n);
  return { at, done: () => [...memory.i32.subarray(place / 4, place / 4 + count)] };
}

describe("the words that threads share", () => {
  it("are below the kernels' constants and do not overlap, for 64 threads", () => {
    const { ready, workspace, ...single } = CONTROL;
    const taken: number[] = Object.values(single);
    for (let i = 0; i < 63; i++) taken.push(ready + i, workspace + i);
    expect(new Set(taken).size).toBe(taken.length);
    for (const word of taken) {
      expect(word).toBeGreaterThanOrEqual(0);
      expect(4 * word + 4).toBeLessThanOrEqual(CONSTANTS_AT);
    }
  });
});

describe("a job", () => {
  it("runs each task once, for any number of threads, each with its own workspace", async () => {
    const { memory, threads } = poolOf();
    expect(await whenReady(threads, 4, 120_000)).toBe(4);
    const one = kernel(memory, { spin: 2000 });
    threads.reserve(64, 4);
    for (const count of [2, 3, 64, 500])
      for (const use of [1, 2, 3, 4]) {
        const { at, done } = tasksOf(memory, count);
        threads.run(one, at, 8, count, use);
        expect(done()).toEqual(new Array(count).fill(1));
      }
  });

  it("runs its own tasks only: 3,000 consecutive jobs of two kernels on 1 to 4 threads", async () => {
    const { memory, threads } = poolOf();
    await whenReady(threads, 4, 120_000);
    const kernels = [kernel(memory), kernel(memory, { spin: 50 })];
    const lists = [2, 3, 5, 17].map((count) => ({ count, ...tasksOf(memory, count) }));
    const want = lists.map(() => 0);
    for (let n = 0; n < 3000; n++) {
      const which = (n * 7) % lists.length;
      const use = 1 + ((n * 5) % 4);
      // Larger workspaces now and then: those of unused threads must not be written again.
      threads.reserve(64 + 64 * Math.floor(n / 500), use);
      threads.run(kernels[n % 2], lists[which].at, 8, lists[which].count, use);
      want[which]++;
    }
    lists.forEach(({ count, done }, n) => expect(done()).toEqual(new Array(count).fill(want[n])));
  });

  it("uses the threads that are ready, and the calling one only without shared memory", async () => {
    const { threads, memory } = poolOf(false);
    expect(threads.unavailable).toBe(true);
    expect(await whenReady(threads, 4, 1000)).toBe(1);
    expect(memory.shared).toBe(false);
  });

  it("throws the error of the calling thread unchanged, and the pool continues", async () => {
    const { memory, threads } = poolOf();
    await whenReady(threads, 3, 120_000);
    threads.reserve(64, 3);
    const one = kernel(memory, { spin: 20_000 });
    const { at } = tasksOf(memory, 200);
    const failing = { ...one, run: () => { throw new RangeError("stack"); } }; // biome-ignore format: short
    let thrown = 0;
    for (let n = 0; n < 20; n++) {
      try {
        // On a busy machine the others may have taken all tasks before this thread gets to one.
        threads.run(failing, at, 8, 200, 3);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
        thrown++;
      }
      // No thread runs a task of the failed job any more.
      const next = tasksOf(memory, 50);
      threads.run(one, next.at, 8, 50, 3);
      expect(next.done()).toEqual(new Array(50).fill(1));
    }
    expect(thrown).toBeGreaterThan(0);
  });
});

describe("a thread is lost:", () => {
  it("one that fails in its task", async () => {
    const { memory, threads, words } = poolOf();
    await whenReady(threads, 3, 120_000);
    threads.reserve(64, 3);
    const { at } = tasksOf(memory, 20);
    const failing = kernel(memory, { trap: true });
    const run: Runnable["run"] = (task, workspace) => {
      // Tasks remain until a thread has taken one: on a busy machine threads start late.
      const end = performance.now() + 120_000;
      while (Atomics.load(words, CONTROL.failed) === 0 && performance.now() < end);
      failing.run(task, workspace);
    };
    expect(() => threads.run({ ...failing, run }, at, 8, 20, 3)).toThrow(WorkerLostError);
  });

  it("one that never finishes a task: the pool then rejects further jobs", async () => {
    const { memory, threads, words } = poolOf();
    await whenReady(threads, 2, 120_000);
    threads.reserve(64, 2);
    const { at } = tasksOf(memory, 20);
    Atomics.add(words, CONTROL.active, 1);
    expect(() => threads.run(kernel(memory), at, 8, 20, 2)).toThrow("a thread did not finish its task");
    Atomics.sub(words, CONTROL.active, 1);
    expect(() => threads.run(kernel(memory), at, 8, 20, 2)).toThrow("an earlier job was aborted");
    expect(() => threads.run(kernel(memory), at, 8, 20, 1)).toThrow("an earlier job was aborted");
  });

  it("one that is terminated while idle: the others run the job, and a new one replaces it", async () => {
    const { memory, threads, words } = poolOf();
    await whenReady(threads, 3, 120_000);
    threads.reserve(64, 3);
    const workers = (threads as unknown as { workers: { terminate(): void; dead: boolean }[] }).workers;
    workers[0].terminate();
    const { at, done } = tasksOf(memory, 100);
    threads.run(kernel(memory), at, 8, 100, 3);
    expect(done()).toEqual(new Array(100).fill(1));
    while (!workers[0].dead) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await whenReady(threads, 3, 120_000)).toBe(3);
    expect(Atomics.load(words, CONTROL.active)).toBe(0);
    const next = tasksOf(memory, 100);
    threads.run(kernel(memory), next.at, 8, 100, 3);
    expect(next.done()).toEqual(new Array(100).fill(1));
  });
});

// Last: failures count for the working process.
describe("after four failures in a row", () => {
  it("the process continues on one thread and says why, until a job succeeds", async () => {
    const working = poolOf();
    await whenReady(working.threads, 2, 120_000);
    working.threads.reserve(64, 2);
    const one = kernel(working.memory);
    const { at, done } = tasksOf(working.memory, 20);
    working.threads.run(one, at, 8, 20, 2);
    for (let n = 1; n <= 4; n++) {
      const { memory, threads, words } = poolOf();
      expect(threads.unavailable, `after ${n - 1} failures`).toBe(false);
      await whenReady(threads, 2, 120_000);
      threads.reserve(64, 2);
      const tasks = tasksOf(memory, 20);
      Atomics.add(words, CONTROL.active, 1);
      expect(() => threads.run(kernel(memory), tasks.at, 8, 20, 2)).toThrow(WorkerLostError);
    }
    const { threads } = poolOf();
    expect(threads.unavailable).toBe(true);
    expect(threads.unavailableReason).toContain("calls lost a thread");
    expect(await whenReady(threads, 4, 1000)).toBe(1);
    working.threads.run(one, at, 8, 20, 2);
    expect(done()).toEqual(new Array(20).fill(2));
    expect(threads.unavailable).toBe(false);
  });
});

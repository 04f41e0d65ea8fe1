/** Calls survive the loss of threads: after any failure of a worker the call is right, and later calls have threads again. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { configure, prepare } from "heed";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ModuleBuilder } from "../../src/wasm/assembler/index.ts";
import { discardEngine, getEngine } from "../../src/wasm/engine/engine.ts";
import { CONTROL } from "../../src/wasm/engine/worker.js";
import { type Runnable, WorkerPool } from "../../src/wasm/engine/worker-pool.ts";
import { has, restore, THREADS, use } from "../support/backends/levels.ts";
import { call, everyKind, filled, unlike } from "./calls.ts";

const level = has("relaxed") ? "relaxed" : "strict";
const run = promisify(execFile);

// Enough work for threads.
const big = call("full", { Hq: 8, Nq: 300, Nk: 300, dk: 32 });
const want = big.run();
const right = () => expect(unlike(big.run(), want)).toBeUndefined();

const engine = () => getEngine() as NonNullable<ReturnType<typeof getEngine>>;
const workers = () =>
  (engine().pool as unknown as { workers: { terminate(): void; dead: boolean }[] }).workers;

/** Blocks this thread until `done()`, at most 120 s: the threads of a busy machine start late. */
function waitFor(done: () => boolean): void {
  const end = performance.now() + 120_000;
  while (!done() && performance.now() < end);
}

/** Replaces the kernel of the next job only. */
function meddle(change: (kernel: Runnable) => Runnable): { met: boolean } {
  const state = { met: false };
  const jobs = WorkerPool.prototype.run;
  vi.spyOn(WorkerPool.prototype, "run").mockImplementation(function (this: WorkerPool, kernel, ...rest) {
    // Of the jobs that threads share the one of many tasks, so that each thread gets some.
    const [, , count, threads] = rest;
    if (state.met || count < 20 || threads < 2) return jobs.call(this, kernel, ...rest);
    state.met = true;
    return jobs.call(this, change(kernel), ...rest);
  });
  return state;
}

beforeEach(() => use(level, 3));
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => {
  discardEngine();
  restore();
});

it("the same bits on 1, 2, 3 and 7 threads, for calls of every kind", async () => {
  const calls = [
    big,
    ...everyKind(),
    call("causal", { Hq: 4, Nq: 400, Nk: 400, dk: 24 }, { isCausal: true }),
  ];
  use(level, 1);
  const alone = calls.map(({ run: go }) => go());
  for (const threads of THREADS) {
    use(level, threads);
    expect(await prepare()).toBe(threads);
    for (let again = 0; again < 3; again++)
      calls.forEach(({ name, run: go }, n) =>
        expect(unlike(go(), alone[n]), `${name} on ${threads} threads`).toBeUndefined(),
      );
  }
});

describe("a worker is lost, the call is right, and the pool is complete again:", () => {
  const compute = async () => {
    expect(await prepare()).toBe(3);
    right();
    expect(engine().pool.ready(3)).toBe(3);
  };

  it("ended while idle, or as it starts", async () => {
    await prepare();
    workers()[0].terminate();
    right();
    while (!workers()[0].dead) await new Promise((resolve) => setTimeout(resolve, 5));
    await compute();
    discardEngine();
    right();
    workers()[1].terminate();
    right();
    await compute();
  });

  it("ended in the middle of a job, at several moments", async () => {
    // Long enough that the end of a worker, some 15 ms after it is asked for, falls into it.
    const long = call("long", { Hq: 4, Nq: 2500, Nk: 2500, dk: 64 });
    const alone = long.run();
    let lost = 0;
    for (const after of [0, 5]) {
      await prepare();
      const before = engine();
      const words = new Int32Array(before.memory.memory.buffer, 0, 1024);
      let done = 0;
      const ended: { dead: boolean }[] = [];
      const met = meddle((kernel) => ({
        ...kernel,
        run: (task, workspace) => {
          if (done++ === after) {
            waitFor(() => Atomics.load(words, CONTROL.active) === 2);
            for (const worker of workers()) {
              ended.push(worker);
              worker.terminate();
            }
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30);
          }
          kernel.run(task, workspace);
        },
      }));
      expect(unlike(long.run(), alone)).toBeUndefined();
      expect(met.met).toBe(true);
      vi.restoreAllMocks();
      right();
      if (engine() !== before) lost++;
      // Where a task was under way, the memory it writes to is given up with its engine.
      for (const worker of before === engine() ? ended : [])
        while (!worker.dead) await new Promise((resolve) => setTimeout(resolve, 5));
      await compute();
    }
    expect(lost).toBeGreaterThan(0);
  });

  it("fails in its task", async () => {
    await prepare();
    const before = engine();
    const trap = new ModuleBuilder({ initial: 1, maximum: 65536, shared: true });
    // Nothing is exported: asking for `run` fails, as a trap would.
    trap.func("nothing", {}, () => {});
    const words = new Int32Array(before.memory.memory.buffer, 0, 1024);
    meddle((kernel) => ({
      ...kernel,
      id: 1e9,
      code: trap.encode(),
      run: (task, workspace) => {
        // Tasks remain until a worker has taken one.
        waitFor(() => Atomics.load(words, CONTROL.failed) !== 0);
        kernel.run(task, workspace);
      },
    }));
    right();
    expect(engine()).not.toBe(before);
    await compute();
  });

  it("stalls", async () => {
    await prepare();
    const before = engine();
    Atomics.add(new Int32Array(before.memory.memory.buffer, 0, 1024), CONTROL.active, 1);
    right();
    expect(engine()).not.toBe(before);
    await compute();
  });

  it("a job canceled from outside: the next call starts again", async () => {
    await prepare();
    const before = engine();
    (before.pool as unknown as { running: boolean }).running = true;
    right();
    expect(engine()).not.toBe(before);
    await compute();
  });
});

it("an error on the calling thread comes through, its memory is given back, and the next call is right", async () => {
  await prepare();
  right();
  const { memory } = engine();
  const used = memory.resetPeak();
  // On a busy machine the others may have taken all tasks before this thread gets to one.
  let thrown = 0;
  for (let n = 0; n < 10; n++) {
    meddle((kernel) => ({
      ...kernel,
      run: () => {
        thrown++;
        throw new RangeError("Maximum call stack size exceeded");
      },
    }));
    const before = thrown;
    try {
      right();
      expect(thrown).toBe(before);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
    vi.restoreAllMocks();
    expect(memory.resetPeak()).toBe(used);
    right();
  }
  expect(thrown).toBeGreaterThan(0);
  expect(engine().memory).toBe(memory);
});

it("called near the end of the stack, a call throws or is right; then calls are right", async () => {
  await prepare();
  const deep = (left: number): boolean => {
    try {
      return deep(left + 1);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return false;
    }
  };
  const at = (depth: number): unknown => {
    if (depth > 0) return at(depth - 1);
    try {
      return unlike(big.run(), want);
    } catch (error) {
      return error;
    }
  };
  deep(0);
  let longest = 1000;
  const fits = (depth: number) => {
    try {
      at(depth);
      return true;
    } catch {
      return false;
    }
  };
  while (fits(longest)) longest = Math.floor(longest * 1.3);
  for (let depth = Math.floor(longest * 0.5); depth < longest; depth += Math.ceil(longest / 40)) {
    try {
      const got = at(depth);
      if (got !== undefined) expect(got).toBeInstanceOf(RangeError);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
    right();
  }
});

it("10,000 small calls of every kind do not increase memory", () => {
  use(level, 2);
  const calls = [...everyKind(), call("for threads", { Hq: 4, Nq: 130, Nk: 130, dk: 20 })];
  const results = calls.map(({ run: go }) => go());
  const { memory } = engine();
  const [before, bytes] = [memory.resetPeak(), memory.memory.buffer.byteLength];
  for (let n = 0; n < 10_000; n++) {
    const which = (n * 7) % calls.length;
    // Those with thousands of keys, or weights of all rows, only now and then.
    if (n % 10 !== 0 && /parts|window of|for threads/.test(calls[which].name)) continue;
    const got = calls[which].run();
    if (n % 97 === 0) expect(unlike(got, results[which])).toBeUndefined();
  }
  expect(memory.resetPeak()).toBe(before);
  expect(memory.memory.buffer.byteLength).toBe(bytes);
}, 120_000);

/** Type stripping: from Node 22.18 on a process runs the source as it is. */
const runsSource = Boolean((process.features as { typescript?: unknown }).typescript);
const source = new URL("../../src/index.ts", import.meta.url).href;
const inChild = `
  import { configure, prepare, scaledDotProductAttention, tensor } from ${JSON.stringify(source)};
  configure({ threads: 3 });
  const t = tensor(Float32Array.from({ length: 8 * 300 * 32 }, (_, n) => Math.sin(n)), [1, 8, 300, 32]);
  const sum = () => scaledDotProductAttention(t, t, t).output.data.reduce((a, b) => a + b, 0);
`;

describe.skipIf(!runsSource)("a process that made a threaded call", () => {
  const node = (code: string) =>
    run(process.execPath, ["--no-warnings", "--input-type=module", "-e", inChild + code], {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      timeout: 50_000,
    });

  it("ends without help, with threads that are working, starting or asleep", async () => {
    for (const code of [
      "sum(); console.log('done');",
      "await prepare(); sum(); console.log('done');",
      "await prepare(); sum(); await new Promise((r) => setTimeout(r, 50)); console.log('done');",
    ])
      expect((await node(code)).stdout).toBe("done\n");
  });

  it("has one warning and one thread if workers fail at the start, and does not restart them repeatedly", async () => {
    const { stdout, stderr } = await node(`
      import { createRequire } from "node:module";
      const threads = process.getBuiltinModule("node:worker_threads");
      const { EventEmitter } = process.getBuiltinModule("node:events");
      let started = 0;
      threads.Worker = class extends EventEmitter {
        constructor() { super(); started++; setImmediate(() => { this.emit("error", new Error("no")); this.emit("exit", 1); }); }
        unref() {}
        terminate() { return Promise.resolve(1); }
      };
      const first = sum();
      for (let n = 0; n < 30; n++) { if (sum() !== first) throw new Error("other bits"); await new Promise((r) => setTimeout(r, 2)); }
      console.log(started < 10 ? "few" : started);
    `);
    expect(stdout).toBe("few\n");
    expect(stderr.match(/running single-threaded: workers did not start \(no\)/g)).toHaveLength(1);
  });

  it("has one warning with the runtime's reason if workers are refused", async () => {
    const { stderr } = await node(`
      process.getBuiltinModule("node:worker_threads").Worker = class { constructor() { throw new Error("use --allow-worker"); } };
      sum(); sum();
    `);
    expect(stderr).toBe(
      "heed: running single-threaded: no worker may be started (use --allow-worker); results are the same, and threads: 1 hides this warning\n",
    );
  });

  it("names lost threads, not their start, after four calls in a row that lost one", async () => {
    const { stderr } = await node(`
      import { getEngine } from ${JSON.stringify(new URL("../../src/wasm/engine/engine.ts", import.meta.url).href)};
      import { CONTROL } from ${JSON.stringify(new URL("../../src/wasm/engine/worker.js", import.meta.url).href)};
      const first = sum();
      for (let lost = 0; lost < 4; ) {
        await prepare();
        const { pool } = getEngine();
        const { finish } = pool;
        // As a thread does whose task failed.
        pool.finish = (ms) => {
          lost++;
          Atomics.store(pool.words, CONTROL.failed, 1);
          finish.call(pool, ms);
        };
        if (sum() !== first) throw new Error("other bits");
      }
      sum();
    `);
    expect(stderr).toBe(
      "heed: running single-threaded: calls lost a thread (killed or out of memory); results are the same, and threads: 1 hides this warning\n",
    );
  });

  it("tries again after half a minute: failures are forgotten", async () => {
    const { stdout } = await node(`
      import { getEngine } from ${JSON.stringify(new URL("../../src/wasm/engine/engine.ts", import.meta.url).href)};
      const threads = process.getBuiltinModule("node:worker_threads");
      const { EventEmitter } = process.getBuiltinModule("node:events");
      const { Worker } = threads;
      threads.Worker = class extends EventEmitter {
        constructor() { super(); setImmediate(() => { this.emit("error", new Error("no")); this.emit("exit", 1); }); }
        unref() {}
        terminate() { return Promise.resolve(1); }
      };
      const first = sum();
      for (let n = 0; n < 30; n++) { sum(); await new Promise((r) => setTimeout(r, 2)); }
      const gaveUp = getEngine().pool.unavailable;
      threads.Worker = Worker;
      const { now } = performance;
      performance.now = () => now.call(performance) + 31_000;
      await prepare();
      if (sum() !== first) throw new Error("other bits");
      console.log(gaveUp, getEngine().pool.unavailable, getEngine().pool.ready(2));
    `);
    expect(stdout).toBe("true false 2\n");
  });
});

it.skipIf(!runsSource)(
  "calls from within a worker thread have the same bits, threads of their own, and let it end",
  async () => {
    const code = `${inChild}
    const { parentPort } = process.getBuiltinModule("node:worker_threads");
    const first = scaledDotProductAttention(t, t, t).output.data;
    const ready = await prepare();
    parentPort.postMessage({ ready, first, second: scaledDotProductAttention(t, t, t).output.data });`;
    const results = await Promise.all(
      [0, 1].map(async () => {
        const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
          execArgv: ["--no-warnings"],
          // The host's own data, under the library's name.
          workerData: { heed: true },
        });
        const message = new Promise<{ ready: number; first: Float32Array; second: Float32Array }>(
          (resolve, reject) => {
            worker.once("message", resolve);
            worker.once("error", reject);
          },
        );
        const ended = new Promise<number>((resolve) => worker.once("exit", resolve));
        const got = await message;
        expect(await ended).toBe(0);
        return got;
      }),
    );
    const t = filled(1, [1]);
    expect(t.size).toBe(1);
    for (const { ready, first, second } of results) {
      expect(ready).toBe(3);
      expect(second).toEqual(first);
      expect(first).toEqual(results[0].first);
    }
  },
);

it("settings are checked before any thread is started", () => {
  for (const threads of [0, 65, 1.5, Number.NaN])
    expect(() => configure({ threads })).toThrow("from 1 to 64");
});

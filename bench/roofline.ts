/**
 * The ceilings of this machine, measured in WebAssembly, so that they are ceilings of the kernels:
 *
 *   fma, mul+add   GFLOP/s of float32 in registers, 128 bits a vector, two operations a lane
 *   fma wide       the same where V8 widens pairs of vectors to 256 bits (Node ≥ 24, an experimental flag)
 *   read           GB/s of sums over memory that fits in the second-level cache, in the third-level cache, or in neither
 *
 * After Williams, Waterman & Patterson 2009 (Roofline). The loops are written with the kernels' assembler. A sample is
 * a burst of some milliseconds on all threads at the same time; the best of several is the ceiling.
 *
 *   node bench/roofline.ts [THREADS ...]
 */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { availableLevel, compile, hasRelaxed } from "../src/backend/levels.ts";
import type { FunctionBuilder, Local } from "../src/wasm/assembler/index.ts";
import { f32x4, i32, ModuleBuilder, v128 } from "../src/wasm/assembler/index.ts";
import { isMain, printTable, threadText } from "./support/setup.ts";

/** A loop of the roofline. */
export type Loop = "fma" | "fma wide" | "mul+add" | "read";

const LOOPS: readonly Loop[] = ["fma", "fma wide", "mul+add", "read"];
/** The ceiling of arithmetic at a level. */
export const ceilingOf = (level: string): Loop =>
  level === "wide" ? "fma wide" : level === "relaxed" ? "fma" : "mul+add";

/** Control words at the start of the shared memory; then scratch for each thread; then the memory that `read` reads. */
const WORDS = { epoch: 0, done: 1, ready: 2, loop: 3, times: 4, part: 5 };
const SCRATCH = 4096;
const SCRATCH_BYTES = 2048;
const DATA = 262_144;
const PAGE = 65_536;
/** Chains of additions: enough to hide the latency of 4 cycles on two units, few enough for 15 registers. */
const CHAINS = 12;
const UNROLL = 8;
/** The kernels' register tile at the wide level: rows × vectors. */
const TILE = { rows: 6, vectors: 4 };
const BURST_MS = 8;

/** Operations of one turn of a loop. */
const FLOPS: Readonly<Record<Exclude<Loop, "read">, number>> = {
  fma: 8 * CHAINS * UNROLL,
  "mul+add": 8 * CHAINS * UNROLL,
  "fma wide": 8 * TILE.rows * TILE.vectors,
};

/** 12 chains of 128 bits. Their stores are not adjacent, so V8's revectorizer finds no pairs to widen. */
function narrow(f: FunctionBuilder, times: Local<"i32">, at: Local<"i32">, fused: boolean): void {
  const [x, y] = [f.let(v128.load32_splat(at)), f.let(v128.load32_splat(at, 4))];
  const sums = Array.from({ length: CHAINS }, (_, n) => f.let(v128.load(at, 64 + 64 * n)));
  f.repeat(() => {
    for (let u = 0; u < UNROLL; u++)
      for (const sum of sums)
        f.set(sum, fused ? f32x4.relaxed_madd(sum, x, y) : f32x4.add(f32x4.mul(sum, x), y));
    f.step(times, -1);
    return times;
  });
  sums.forEach((sum, n) => f.storeVector(at, sum, 64 + 64 * n));
}

/** The inner loop of the wide kernels, whose neighboring stores V8 widens to 256 bits. */
function widened(f: FunctionBuilder, times: Local<"i32">, at: Local<"i32">): void {
  const { rows, vectors } = TILE;
  const sums = Array.from({ length: rows * vectors }, (_, n) => f.let(v128.load(at, 64 + 16 * n)));
  f.repeat(() => {
    const columns = Array.from({ length: vectors }, (_, j) => f.let(v128.load(at, 1024 + 16 * j)));
    for (let r = 0; r < rows; r++) {
      const one = f.let(v128.load32_splat(at, 4 * r));
      columns.forEach((column, j) => {
        const sum = sums[r * vectors + j];
        f.set(sum, f32x4.relaxed_madd(one, column, sum));
      });
    }
    f.step(times, -1);
    return times;
  });
  sums.forEach((sum, n) => f.storeVector(at, sum, 64 + 16 * n));
}

/** Sums `bytes` from `at` on, a multiple of 256, `times` times. */
function read(
  f: FunctionBuilder,
  times: Local<"i32">,
  scratch: Local<"i32">,
  at: Local<"i32">,
  bytes: Local<"i32">,
): void {
  const sums = Array.from({ length: 8 }, () => f.local("v128"));
  const p = f.local("i32");
  const end = f.int(i32.add(at, bytes));
  f.repeat(() => {
    f.set(p, at);
    f.repeat(() => {
      for (let n = 0; n < 16; n++) f.set(sums[n % 8], f32x4.add(sums[n % 8], v128.load(p, 16 * n)));
      f.step(p, 256);
      return i32.ne(p, end);
    });
    f.step(times, -1);
    return times;
  });
  sums.forEach((sum, n) => f.storeVector(scratch, sum, 64 * n));
}

/** The module: each loop as `loop0` … by its index in LOOPS; (times, scratch, at, bytes). */
function moduleOf(fused: boolean, wide: boolean): WebAssembly.Module {
  const module = new ModuleBuilder({ initial: 1, maximum: 65536, shared: true });
  LOOPS.forEach((loop, n) => {
    if (!fused && loop.startsWith("fma")) return;
    module.func(
      `loop${n}`,
      ["times", "scratch", "at", "bytes"],
      (f, { times, scratch, at, bytes }) => {
        if (loop === "read") read(f, times, scratch, at, bytes);
        else if (loop === "fma wide") widened(f, times, scratch);
        else narrow(f, times, scratch, loop === "fma");
      },
      { exported: true },
    );
  });
  return compile(module.encode(), wide);
}

/** A thread: sleeps until the epoch changes, then runs the requested loop. */
const THREAD = `
const { module, memory, words: W, index, scratch, data } = require("node:worker_threads").workerData;
const words = new Int32Array(memory.buffer, 0, 64);
const { exports } = new WebAssembly.Instance(module, { env: { memory } });
Atomics.add(words, W.ready, 1);
for (let epoch = 0; ; ) {
  while (Atomics.load(words, W.epoch) === epoch) Atomics.wait(words, W.epoch, epoch);
  epoch = Atomics.load(words, W.epoch);
  exports["loop" + words[W.loop]](words[W.times], scratch, data + index * words[W.part], words[W.part]);
  Atomics.add(words, W.done, 1);
  Atomics.notify(words, W.done);
}`;

type Run = (times: number, scratch: number, at: number, bytes: number) => void;

/** Loops ready to run on some threads. */
export class Rig {
  readonly threads: number;
  readonly wide: boolean;
  private readonly memory: WebAssembly.Memory;
  private readonly runs: (Run | undefined)[];
  private readonly words: Int32Array;
  private readonly workers: Worker[] = [];
  private readonly times = new Map<string, number>();
  private filled = DATA;

  /** With `wide`, the loops are compiled as wide kernels are. Throws if the engine does not support it. */
  constructor(threads: number, wide = false) {
    this.wide = availableLevel(wide ? "wide" : "relaxed").level === "wide";
    this.threads = threads;
    this.memory = new WebAssembly.Memory({ initial: DATA / PAGE, maximum: 65536, shared: true });
    this.words = new Int32Array(this.memory.buffer, 0, 64);
    const numbers = new Float32Array(this.memory.buffer);
    for (let n = SCRATCH / 4; n < DATA / 4; n++) numbers[n] = n % 2 === 0 ? 0.999 : 0.001;
    const module = moduleOf(hasRelaxed(), this.wide);
    const { exports } = new WebAssembly.Instance(module, { env: { memory: this.memory } });
    this.runs = LOOPS.map((_, n) => exports[`loop${n}`] as Run | undefined);
    for (let index = 1; index < threads; index++) {
      const scratch = SCRATCH + index * SCRATCH_BYTES;
      const workerData = { module, memory: this.memory, words: WORDS, index, scratch, data: DATA };
      const worker = new Worker(THREAD, { eval: true, execArgv: [], workerData });
      worker.unref();
      this.workers.push(worker);
    }
  }

  /** Waits until all threads run. */
  async ready(): Promise<this> {
    while (Atomics.load(this.words, WORDS.ready) < this.threads - 1)
      await new Promise((resolve) => setTimeout(resolve, 2));
    return this;
  }

  /** True if this engine can run the loop. */
  has(loop: Loop): boolean {
    return (loop !== "fma wide" || this.wide) && this.runs[LOOPS.indexOf(loop)] !== undefined;
  }

  /** Seconds that all threads take for `times` turns each. */
  private burst(loop: Loop, times: number, part: number): number {
    const { words } = this;
    words[WORDS.loop] = LOOPS.indexOf(loop);
    words[WORDS.times] = times;
    words[WORDS.part] = part;
    Atomics.store(words, WORDS.done, 0);
    const start = performance.now();
    Atomics.add(words, WORDS.epoch, 1);
    Atomics.notify(words, WORDS.epoch);
    (this.runs[LOOPS.indexOf(loop)] as Run)(times, SCRATCH, DATA, part);
    for (;;) {
      const done = Atomics.load(words, WORDS.done);
      if (done >= this.threads - 1) break;
      Atomics.wait(words, WORDS.done, done, 20);
    }
    return (performance.now() - start) / 1e3;
  }

  /** One burst: GFLOP/s, or GB/s of `bytes` read repeatedly, divided among the threads. */
  sample(loop: Loop, bytes = 0): number {
    if (!this.has(loop)) throw new Error(`roofline: this engine does not run "${loop}"`);
    const part = Math.ceil(bytes / this.threads / 256) * 256;
    this.fill(part * this.threads);
    const key = `${loop} ${part}`;
    if (!this.times.has(key)) {
      // Until V8's optimized code runs and a burst is long enough.
      let times = 1;
      for (let warm = 0; warm < 12 || this.burst(loop, times, part) * 1e3 < BURST_MS / 2; warm++) {
        const took = this.burst(loop, times, part) * 1e3;
        times = Math.max(1, Math.min(2 ** 30, Math.round((times * BURST_MS) / Math.max(took, 0.01))));
        if (times === 1 && took > BURST_MS) break;
      }
      this.times.set(key, times);
    }
    const times = this.times.get(key) as number;
    const work = loop === "read" ? part : FLOPS[loop];
    return (work * times * this.threads) / this.burst(loop, times, part) / 1e9;
  }

  /** The best of some samples. */
  best(loop: Loop, bytes = 0, samples = 12): number {
    return Math.max(...Array.from({ length: samples }, () => this.sample(loop, bytes)));
  }

  /** Memory to read, written once: pages that were never written share one page of zeros. */
  private fill(bytes: number): void {
    const end = DATA + bytes;
    if (end <= this.filled) return;
    const size = this.memory.buffer.byteLength;
    if (end > size) this.memory.grow(Math.ceil((end - size) / PAGE));
    new Float32Array(this.memory.buffer, this.filled, Math.floor((end - this.filled) / 4)).fill(0.5);
    this.filled = end;
  }

  /** Ends the threads. */
  async end(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }
}

/** Sizes to read, in bytes per thread, and the cache that they fit in on most machines. */
export const SIZES: readonly { readonly name: string; readonly bytes: number }[] = [
  { name: "512 KiB a thread (second cache)", bytes: 2 ** 19 },
  { name: "8 MiB a thread (third cache)", bytes: 2 ** 23 },
  { name: "256 MiB a thread (memory)", bytes: 2 ** 28 },
];

/** One row of the table: a ceiling for a number of threads. */
export interface Ceiling {
  readonly name: string;
  readonly unit: "GFLOP/s" | "GB/s";
  readonly threads: number;
  readonly best: number;
}

/** All ceilings for a number of threads, with those of `wide` if requested and supported. */
export async function roofline(threads: number, options: { wide?: boolean } = {}): Promise<Ceiling[]> {
  const rig = await new Rig(threads, options.wide ?? false).ready();
  const flops = (["fma", "mul+add", "fma wide"] as const)
    .filter((loop) => rig.has(loop))
    .map((loop): Ceiling => {
      const name =
        loop === "fma wide"
          ? "fused multiply-add, 256 bits"
          : `${loop === "fma" ? "fused multiply-add" : "multiply, then add"}, 128 bits`;
      return { name, unit: "GFLOP/s", threads, best: rig.best(loop) };
    });
  const reads = SIZES.map(
    ({ name, bytes }): Ceiling => ({
      name: `read, ${name}`,
      unit: "GB/s",
      threads,
      best: rig.best("read", bytes * threads, bytes > 2 ** 26 ? 4 : 12),
    }),
  );
  await rig.end();
  return [...flops, ...reads];
}

if (isMain(import.meta.url)) {
  const numbers = process.argv.slice(2).map(Number);
  if (numbers.some((n) => !(Number.isInteger(n) && n >= 1 && n <= 64))) {
    console.error("usage: node bench/roofline.ts [THREADS ...], each 1 to 64");
    process.exit(2);
  }
  const counts = numbers.length > 0 ? numbers : [...new Set([1, availableParallelism()])];
  const tables: Ceiling[][] = [];
  for (const threads of counts) tables.push(await roofline(threads, { wide: true }));
  const head = ["", ...counts.map(threadText), ""];
  const rows = tables[0].map(({ name, unit }, n) => [name, ...tables.map((t) => t[n].best.toFixed(1)), unit]);
  printTable(
    [head, ...rows],
    counts.map((_, n) => n + 1),
  );
}

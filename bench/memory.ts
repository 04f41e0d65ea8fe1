/**
 * Memory of a long call beyond its inputs and output: the engine's memory according to the plan, and the rise of the process's
 * resident memory, each in a separate process. A short call first starts threads and compiles kernels, so the rise does not
 * include the memory of the threads themselves (V8 isolates of about 5 MiB), which is shown separately.
 *
 *   node bench/memory.ts [--level LEVEL] [--threads N] [--length N]
 */
import { fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { configure, explain, prepare, type SimdLevel, scaledDotProductAttention } from "../src/index.ts";
import { CASES, type Case, figure } from "./support/cases.ts";
import { errorOf, inputsOf, type Outcome } from "./support/measure.ts";
import { spreadOf } from "./support/turns.ts";

const MIB = 2 ** 20;

/** Resident bytes now, and their peak since `forget`. */
function resident(): { now: number; most: number } {
  const now = process.memoryUsage.rss();
  try {
    const [, kib] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    if (kib) return { now, most: Number(kib) * 1024 };
  } catch {
    // Not Linux: the peak since the start of the process.
  }
  return { now, most: process.resourceUsage().maxRSS * 1024 };
}

/** Resets the peak (Linux; on other systems it counts from the start of the process). */
function forget(): void {
  try {
    writeFileSync("/proc/self/clear_refs", "5");
  } catch {
    // The figure is then an upper bound.
  }
}

/** Measures in this process. */
export async function measureHere(c: Case, level: SimdLevel, threads: number): Promise<Outcome> {
  configure({ simd: level, threads });
  const before = resident().now;
  const ready = await prepare();
  if (ready < threads) throw new Error(`bench: ${ready} of ${threads} threads are ready`);
  const started = resident().now;
  const inputs = inputsOf(c.sizes);
  const { query, key, value } = inputs;
  const short = inputsOf({ ...c.sizes, Nq: 512, Nk: 512 });
  for (let n = 0; n < 3; n++) scaledDotProductAttention(short.query, short.key, short.value);
  const plan = explain(query, key, value);
  const outputs = query.data.byteLength + 4 * c.sizes.B * c.sizes.H * c.sizes.Nq;
  (globalThis as { gc?: () => void }).gc?.();
  const at = resident().now;
  forget();
  const start = performance.now();
  const { output } = scaledDotProductAttention(query, key, value);
  const ms = performance.now() - start;
  const rise = Math.max(0, resident().most - at - outputs);
  const error = errorOf({ inputs, options: {} }, output);
  if (!(error <= 1)) throw new Error(`${c.name}: wrong by ${error} bounds`);
  const mib = (bytes: number) => bytes / MIB / threads;
  return {
    case: c.name,
    level: plan.simd as SimdLevel,
    threads,
    plan: { kernel: plan.kernel, threads: plan.threads, tasks: plan.tasks, splits: plan.splits },
    measured: [],
    absent: [],
    figures: {
      // The larger of the engine's plan and the system's count.
      [figure.memory]: spreadOf([Math.max(mib(plan.bytes), mib(rise))]),
      "MiB a thread by plan": spreadOf([mib(plan.bytes)]),
      "MiB a thread resident": spreadOf([mib(rise)]),
      "MiB to start": spreadOf([Math.max(0, started - before) / MIB]),
      [figure.ms]: spreadOf([ms]),
    },
    notes: [
      `${plan.stages} stages; inputs and output are ${((3 * query.data.byteLength + outputs) / MIB).toFixed(0)} MiB`,
    ],
  };
}

/** Measures in a separate process. */
function measureMemory(
  c: Case,
  level: SimdLevel,
  threads: number,
  execPath = process.execPath,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ["--child", JSON.stringify({ c, level, threads })], {
      execPath,
      execArgv: ["--expose-gc"],
    });
    let outcome: Outcome | undefined;
    child.on("message", (message) => {
      outcome = message as Outcome;
    });
    child.on("exit", (code) =>
      outcome
        ? resolve(outcome)
        : reject(new Error(`bench: the memory measurement ended with status ${code}`)),
    );
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      child: { type: "string" },
      level: { type: "string", default: "relaxed" },
      threads: { type: "string" },
      length: { type: "string", default: "32768" },
    },
  });
  if (values.child !== undefined) {
    const { c, level, threads } = JSON.parse(values.child);
    process.send?.(await measureHere(c, level, threads));
    process.disconnect?.();
  } else {
    const row = CASES.find(({ kind }) => kind === "memory") as Case;
    const N = Number(values.length);
    const c = { ...row, name: `memory N${N}`, sizes: { ...row.sizes, Nq: N, Nk: N } };
    for (const threads of values.threads ? [Number(values.threads)] : [1, 2]) {
      const { figures, notes, level } = await measureMemory(c, values.level as SimdLevel, threads);
      const at = (name: string) => figures[name].median.toFixed(1);
      console.log(
        `${c.name}, ${level}, ${threads} thread${threads > 1 ? "s" : ""}: ${at("MiB a thread by plan")} MiB a thread by plan, ` +
          `${at("MiB a thread resident")} by resident memory, in ${at("ms")} ms (${notes.join("; ")}); ${at("MiB to start")} MiB to start`,
      );
    }
  }
}

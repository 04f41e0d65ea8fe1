/**
 * Memory of a long call beyond its inputs and output: the engine's memory according to the plan, and the rise of the process's
 * resident memory, each in a separate process. A short call first starts threads and compiles kernels, so the rise does not
 * include the memory of the threads themselves (V8 isolates of about 5 MiB), which is shown separately.
 *
 *   node bench/memory.ts [--level LEVEL] [--threads N] [--length N]
 */
import { readFileSync, writeFileSync } from "node:fs";
import { configure, explain, type SimdLevel, scaledDotProductAttention } from "../src/index.ts";
import { CASES, type Case, figure } from "./support/cases.ts";
import { errorOf, inputsOf, type Outcome } from "./support/measure.ts";
import { inProcess, isMain, optionsOf, startThreads, threadText } from "./support/setup.ts";
import { spreadOf } from "./support/turns.ts";

const MIB = 2 ** 20;

/** Resident bytes now, and their peak since `forget`. */
function resident(): { now: number; peak: number } {
  const now = process.memoryUsage.rss();
  try {
    const [, kib] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    if (kib) return { now, peak: Number(kib) * 1024 };
  } catch {
    // Not Linux: the peak since the start of the process.
  }
  return { now, peak: process.resourceUsage().maxRSS * 1024 };
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
  await startThreads(threads, level);
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
  const rise = Math.max(0, resident().peak - at - outputs);
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

if (isMain(import.meta.url)) {
  const { child, level, threads, length } = optionsOf({
    child: false,
    level: "relaxed",
    threads: 0,
    length: 32_768,
  }).values;
  const row = CASES.find(({ kind }) => kind === "memory") as Case;
  const c = { ...row, name: `memory N${length}`, sizes: { ...row.sizes, Nq: length, Nk: length } };
  if (child) {
    process.stdout.write(JSON.stringify(await measureHere(c, level as SimdLevel, threads)));
    process.exit();
  }
  for (const count of threads > 0 ? [threads] : [1, 2]) {
    const args = ["--child", "--level", level, "--threads", `${count}`, "--length", `${length}`];
    const outcome = inProcess<Outcome>(import.meta.url, args);
    const at = (name: string) => outcome.figures[name].median.toFixed(1);
    console.log(
      `${c.name}, ${outcome.level}, ${threadText(count)}: ${at("MiB a thread by plan")} MiB a thread by plan, ` +
        `${at("MiB a thread resident")} by resident memory, in ${at("ms")} ms (${outcome.notes.join("; ")}); ${at("MiB to start")} MiB to start`,
    );
  }
}

/**
 * `heed doctor`: the capabilities of this machine. They are tested rather than inferred from version numbers: every SIMD level
 * runs a small call whose rows are compared with the formula in float64, a thread is started, and shared memory is reserved.
 */
import * as os from "node:os";
import { Worker } from "node:worker_threads";
import { scaledDotProductAttention } from "../../api/attention.ts";
import { explain } from "../../api/explain.ts";
import { hasRelaxed, unsupportedWide } from "../../backend/levels.ts";
import { resolve } from "../../backend/problem.ts";
import { configure, settings } from "../../backend/settings.ts";
import { launchOf } from "../../cluster/index.ts";
import { describeMpi } from "../../cluster/mpi/binding.ts";
import { zeros } from "../../core/create/construct.ts";
import { type Command, EXIT, type Io, UsageError } from "../support/line/command.ts";
import { bytesText, columnsOf, jsonText, styler } from "../support/output/terminal.ts";
import { checkRows } from "../support/run/check.ts";
import { describeGpu } from "../support/run/device.ts";
import { ENGINE_HELP, type EngineLevel, LEVELS, levelOf, settingsOf } from "../support/run/engine.ts";
import { seededTensor } from "../support/run/seeded.ts";

/** Whether a level runs, and the speed of a call of [1, 4, 512, 64] on one thread. */
export interface LevelFinding {
  readonly runs: boolean;
  readonly gflops?: number;
  readonly why?: string;
}

// A module of one function: () → v128, i32.const 0, i8x16.splat, i8x16.popcnt.
const SIMD128 = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98,
  11,
];
const validates = (bytes: readonly number[]) =>
  typeof WebAssembly === "object" && WebAssembly.validate(new Uint8Array(bytes));

function sharedMemory(): boolean {
  try {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true });
    return memory.buffer instanceof SharedArrayBuffer;
  } catch {
    return false;
  }
}

/** Starts a worker and waits for its answer, at most five seconds. */
function threadAnswers(): Promise<boolean> {
  return new Promise((resolve) => {
    let worker: Worker | undefined;
    const end = (answer: boolean) => {
      clearTimeout(timer);
      void worker?.terminate();
      resolve(answer);
    };
    const timer = setTimeout(() => end(false), 5000);
    try {
      worker = new Worker("require('node:worker_threads').parentPort.postMessage(1)", { eval: true });
      worker.once("message", () => end(true));
      worker.once("error", () => end(false));
    } catch {
      end(false);
    }
  });
}

/** Runs a small call on a level, checks it, then times a larger one. */
function tryLevel(level: EngineLevel): LevelFinding {
  const warnings: string[] = [];
  configure({ ...settingsOf(level), threads: 1, onWarning: (message) => warnings.push(message) });
  const [query, key, value] = [1, 2, 3].map((seed) => seededTensor([1, 2, 67, 64], seed));
  const plan = explain(query, key, value);
  const { output } = scaledDotProductAttention(query, key, value);
  const check = checkRows(resolve("heed doctor", query, key, value, {}), output, 16);
  const reason = warnings[0]?.replace(/^heed: /, "");
  if (!(check.bounds <= 1))
    return { runs: false, why: `its results are wrong: off by ${check.worst} in row ${check.at.row}` };
  // A failed self-test shows only after the call.
  const reached = levelOf(explain(query, key, value));
  if (reached !== level)
    return { runs: false, why: reason ?? plan.fallbackReason ?? `the engine took ${reached}` };
  if (level === "reference") return { runs: true };
  const [q, k, v] = [4, 5, 6].map((seed) => seededTensor([1, 4, 512, 64], seed));
  const times = Array.from({ length: 9 }, () => {
    const start = performance.now();
    scaledDotProductAttention(q, k, v);
    return performance.now() - start;
  });
  const median = times.sort((a, b) => a - b)[4];
  return { runs: true, gflops: (4 * 4 * 512 * 512 * 64) / median / 1e6 };
}

/** What this machine has. */
async function findingsOf(io: Pick<Io, "isTTY" | "color" | "columns">) {
  const before = settings();
  const constrained = process.constrainedMemory?.() ?? 0;
  const total = os.totalmem();
  const levels = {} as Record<EngineLevel, LevelFinding>;
  try {
    for (const level of LEVELS) {
      const why = level === "wide" ? unsupportedWide() : undefined;
      levels[level] = why === undefined ? tryLevel(level) : { runs: false, why };
    }
  } finally {
    configure(before);
  }
  const probe = zeros([1, 8, 1024, 64]);
  const plan = explain(probe, probe, probe);
  return {
    node: process.versions.node,
    v8: process.versions.v8,
    system: `${os.type()} ${os.release()} ${process.arch}`,
    cpu: os.cpus()[0]?.model.trim() ?? "unknown",
    cores: os.availableParallelism(),
    memory: { total, free: os.freemem(), limit: constrained > 0 && constrained < total ? constrained : null },
    wasm: { simd128: validates(SIMD128), relaxed: hasRelaxed(), sharedMemory: sharedMemory() },
    /** Whether a worker thread answers. */
    threads: await threadAnswers(),
    float16Array: "Float16Array" in globalThis,
    /** The MPI library that heed/cluster would use, or the reason why there is none. */
    mpi: await describeMpi(
      process.env.HEED_MPI || undefined,
      launchOf(process.env)?.family,
      process.env.HEED_FFI || undefined,
    ),
    /** The adapter of heed/webgpu and the level of its kernels, or the reason why there is none. */
    webgpu: await describeGpu(),
    levels,
    /** The level and threads of a call of [1, 8, 1024, 64]. */
    level: levelOf(plan),
    threadsUsed: plan.threads,
    terminal: { isTTY: io.isTTY, color: io.color, columns: io.columns ?? null },
  };
}

/** Examines the machine. */
export async function examine(io: Pick<Io, "isTTY" | "color" | "columns">) {
  const findings = await findingsOf(io);
  return { ...findings, ...judge(findings) };
}

/** The verdict and the advice. */
function judge(findings: Awaited<ReturnType<typeof findingsOf>>) {
  const { level, levels, wasm, threads, threadsUsed, mpi } = findings;
  const advice: string[] = [];
  if (!mpi.available) advice.push(mpi.text.replace("heed/cluster: ", ""));
  if (!wasm.relaxed && wasm.simd128) advice.push("Node 22 or later adds the level relaxed");
  if (!wasm.simd128) advice.push("this engine has no WebAssembly SIMD: only plain TypeScript runs");
  if (!threads || !wasm.sharedMemory)
    advice.push("threads need worker threads and shared memory; calls run on one");
  const fastest = LEVELS.find((one) => levels[one].runs);
  if (fastest !== undefined && LEVELS.indexOf(fastest) < LEVELS.indexOf(level))
    advice.push(`${level} was requested; ${fastest} runs here too`);
  if (!levels.wide.runs) advice.push(`wide does not run here: ${levels.wide.why}`);
  const many = threadsUsed > 1 ? `${threadsUsed} threads` : "one thread";
  const speed = levels[level].gflops;
  return {
    verdict: `heed runs here at level ${level}${speed ? `, ${Math.round(speed)} GFLOP/s a thread` : ""}, on ${many}`,
    advice,
  };
}

export const command: Command = {
  name: "doctor",
  summary: "report what this machine supports, and how to enable more",
  usage: "heed doctor [OPTIONS]",
  help: { ...ENGINE_HELP, json: "the findings as a JSON object" },
  notes: "Exit code 1 if no SIMD level gives correct results.",
  examples: ["heed doctor", "heed doctor --json", "HEED_SIMD=strict heed doctor"],
  async run(values, positionals, io) {
    if (positionals.length > 0)
      throw new UsageError(`doctor takes no arguments, got ${positionals.join(" ")}`);
    const findings = await examine(io);
    const healthy = LEVELS.some((level) => findings.levels[level].runs);
    if (values.json) {
      io.stdout.write(jsonText(findings));
      return healthy ? EXIT.ok : EXIT.failed;
    }
    const { bold, green, yellow, dim } = styler(io);
    const yes = (good: boolean, text = "") => `${good ? "yes" : "no"}${text && ` (${text})`}`;
    const { memory, wasm, terminal } = findings;
    const facts = [
      ["Node", `${findings.node}, V8 ${findings.v8}`],
      ["system", findings.system],
      [
        "processor",
        `${findings.cpu}, ${findings.cores} ${findings.cores === 1 ? "core" : "cores"} for this process`,
      ],
      [
        "memory",
        `${bytesText(memory.total)}, ${bytesText(memory.free)} free${memory.limit ? `, limited to ${bytesText(memory.limit)}` : ""}`,
      ],
      ["SIMD128", yes(wasm.simd128)],
      ["relaxed SIMD", yes(wasm.relaxed)],
      ["shared memory", yes(wasm.sharedMemory)],
      ["threads start", yes(findings.threads)],
      [
        "Float16Array",
        yes(
          findings.float16Array,
          findings.float16Array ? "" : "16-bit tensors are returned as Uint16Array bits",
        ),
      ],
      ["WebGPU", yes(findings.webgpu.available, findings.webgpu.text)],
      ["MPI", findings.mpi.available ? findings.mpi.text : "no (only for more than one machine)"],
      [
        "terminal",
        terminal.isTTY ? `${terminal.columns ?? "?"} columns, ${terminal.color || "no"} bits of color` : "no",
      ],
    ];
    const lines = columnsOf(facts);
    lines.push("", bold("Levels, fastest first"));
    const rows = LEVELS.map((level) => {
      const { runs, gflops, why } = findings.levels[level];
      const speed = gflops ? `, ${gflops.toFixed(0)} GFLOP/s on one thread` : "";
      return [
        `  ${level}`,
        runs ? `runs, checked${speed}` : (why ?? "does not run"),
        level === findings.level ? "← in use" : "",
      ];
    });
    lines.push(...columnsOf(rows), "");
    lines.push(`${healthy ? green("✓") : yellow("!")} ${bold(findings.verdict)}`);
    lines.push(...findings.advice.map((text) => `${dim("·")} ${text}`));
    io.stdout.write(`${lines.join("\n")}\n`);
    return healthy ? EXIT.ok : EXIT.failed;
  },
};

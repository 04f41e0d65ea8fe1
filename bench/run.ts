/**
 * The long measurement: the cases of cases.ts at every level and number of threads, interleaved with other packages (`--peers`).
 * One process for each level and number of threads, in which contestants take turns. Nothing is timed
 * before it is checked against the formula in float64 in the same process.
 *
 *   node bench/run.ts [--level wide,relaxed,strict] [--threads 1,2] [--cases "full*,decode*"] [--seconds 5]
 *                     [--peers] [--built] [--node 20 | --node chromium] [--json] > run.json
 */
import { fork } from "node:child_process";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { columnsOf } from "../src/cli/support/output/terminal.ts";
import type { SimdLevel } from "../src/index.ts";
import { translated } from "./support/built.ts";
import { CASES, type Case, chosen, figure, type Goal, goalsOf, goalText, reached } from "./support/cases.ts";
import type { Outcome } from "./support/measure.ts";
import type { Ceilings, Message, SessionOrder } from "./support/session.ts";

/** One process of a run. */
interface LevelSession {
  readonly level: SimdLevel;
  readonly threads: number;
  /** "Node 24.1.0". */
  readonly runtime?: string;
  readonly ceilings?: Ceilings;
  /** Files of peers that did not load, and why. */
  readonly missing?: Readonly<Record<string, string>>;
  /** Why the level could not be measured. */
  readonly refused?: string;
  readonly outcomes: readonly Judged[];
  readonly failures: readonly { readonly case: string; readonly why: string }[];
}

/** An outcome with its goals. */
interface Judged extends Outcome {
  readonly goals: readonly (Goal & {
    readonly text: string;
    /** Undefined if the figure was not measured, such as that of a missing peer. */
    readonly value?: number;
    readonly reached?: boolean;
  })[];
}

/** A run, as `--json` prints it. */
interface BenchRun {
  readonly command: string;
  readonly started: string;
  readonly machine: {
    readonly cpu: string;
    readonly cores: number;
    readonly memory: number;
    readonly platform: string;
  };
  readonly built: boolean;
  readonly seconds: number;
  readonly sessions: readonly LevelSession[];
}

/** Goals of an outcome, with what was measured. */
export function judge(outcome: Outcome, node: number): Judged {
  const row = CASES.find(({ name }) => name === outcome.case) as Case;
  const goals = goalsOf(row, outcome.level, outcome.threads, node).map((goal) => {
    const value = outcome.figures[goal.figure]?.median;
    return {
      ...goal,
      text: goalText(goal),
      ...(value === undefined ? {} : { value, reached: reached(goal, value) }),
    };
  });
  return { ...outcome, goals };
}

/** Browsers have the goals of the newest Node. */
const NEWEST = 26;

const say = (line: string) => process.stderr.write(`${line}\n`);

/** Runs one process; resolves when it has ended. */
function session(order: SessionOrder, file: string, execPath: string): Promise<LevelSession> {
  return new Promise((resolve) => {
    const outcomes: Judged[] = [];
    const failures: { case: string; why: string }[] = [];
    let about: Partial<LevelSession> = {};
    const child = fork(file, [JSON.stringify(order)], {
      execPath,
      execArgv: ["--expose-gc", "--no-warnings"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child.on("message", (data) => {
      const message = data as Message;
      if (message.kind === "begun") {
        const { runtime, ceilings, missing } = message;
        about = { runtime, ceilings, missing };
        say(
          `\n${order.level}, ${order.threads} thread${order.threads > 1 ? "s" : ""}, ${runtime}: ceiling ${ceilings.flops.toFixed(1)} GFLOP/s (${ceilings.loop})`,
        );
        for (const [name, why] of Object.entries(missing)) say(`  ${name}: not there (${why})`);
      } else if (message.kind === "refused") {
        about = { ...about, refused: message.why };
        say(`\n${order.level}: not measured, ${message.why}`);
      } else if (message.kind === "failed") {
        failures.push(message);
        say(`  ${message.case}: FAILED, ${message.why}`);
      } else {
        const judged = judge(message.outcome, Number(/^Node (\d+)/.exec(about.runtime ?? "")?.[1] ?? NEWEST));
        outcomes.push(judged);
        for (const line of linesOf(judged)) say(`  ${line}`);
      }
    });
    child.on("exit", (code, signal) => {
      const measured = outcomes.length + failures.length;
      if (about.refused === undefined && measured < order.cases.length)
        failures.push({
          case: order.cases[measured],
          why: `the process ended with ${signal ?? `status ${code}`}`,
        });
      resolve({ level: order.level, threads: order.threads, ...about, outcomes, failures });
    });
  });
}

/** A summary of an outcome. */
function linesOf({ case: name, measured, figures, goals, notes, ofCeiling, absent }: Judged): string[] {
  const speed = figures[figure.gflops];
  const of = ofCeiling === undefined ? "" : `, ${(100 * ofCeiling).toFixed(0)} % of the ceiling`;
  const lines = [speed ? `${name}: ${speed.median.toFixed(1)} GFLOP/s${of}` : name];
  const rows = measured.map(({ name, ms, gflops, turns, once }) => [
    `  ${name}`,
    `${ms.median.toPrecision(3)} ms`,
    `(${ms.p25.toPrecision(3)} – ${ms.p75.toPrecision(3)})`,
    `${gflops.toPrecision(3)} GFLOP/s`,
    once ? "one cold call" : `${turns} turns`,
  ]);
  lines.push(...columnsOf(rows, [1, 3]));
  for (const goal of goals)
    lines.push(
      `  ${goal.value === undefined ? "not measured" : goal.reached ? "reached" : "MISSED"}: ${goal.text}${goal.value === undefined ? "" : `, got ${goal.value.toPrecision(3)}`}`,
    );
  for (const { name, why } of absent) lines.push(`  ${name}: ${why}`);
  lines.push(...notes.map((note) => `  ${note}`));
  return lines;
}

/** The `--node` that is a browser. */
const CHROMIUM = "chromium";

/** The list of an option, or the default. */
const list = (text: string | undefined, none: readonly string[]): string[] =>
  text === undefined ? [...none] : text.split(",").map((part) => part.trim());

/** A Node by its path, or by a major version of tools/setup.mjs; the running one for Chromium, which it starts. */
async function nodeOf(name: string | undefined): Promise<{ path: string; major: number }> {
  const running = { path: process.execPath, major: Number(process.versions.node.split(".")[0]) };
  if (name === undefined || name === CHROMIUM) return running;
  const { toolchain, versionOf } = await import("../tools/setup.mjs");
  const path = /^\d+$/.test(name) ? toolchain(Number(name)) : name;
  const version = path === undefined ? undefined : versionOf(path);
  if (path === undefined || version === undefined) throw new Error(`--node ${name}: there is no such Node`);
  return { path, major: Number(String(version).replace(/^v/, "").split(".")[0]) };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      level: { type: "string" },
      threads: { type: "string" },
      cases: { type: "string" },
      seconds: { type: "string", default: "5" },
      peers: { type: "boolean", default: false },
      built: { type: "boolean", default: false },
      node: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const { path, major } = await nodeOf(values.node);
  // Node 20 does not run TypeScript, and only later versions of 22 do.
  const built = values.built || major < 24;
  const inPage = values.node === CHROMIUM;
  const levels = list(
    values.level,
    major >= 24 && !inPage ? ["wide", "relaxed", "strict"] : ["relaxed", "strict"],
  );
  const threads = list(values.threads, availableParallelism() > 1 && !inPage ? ["1", "2"] : ["1"]).map(
    Number,
  );
  // The other kinds of case start processes.
  const cases = chosen(list(values.cases, [])).filter(({ kind }) => !inPage || kind === "time");
  if (inPage && (values.peers || threads.some((n) => n !== 1)))
    throw new Error("--node chromium measures heed on one thread: leave out --peers, and --threads above 1");
  const seconds = Number(values.seconds);
  if (levels.some((level) => !["wide", "relaxed", "strict"].includes(level)))
    throw new Error(`--level takes wide, relaxed and strict, got ${values.level}`);
  if (threads.some((n) => !(Number.isInteger(n) && n >= 1 && n <= 64)))
    throw new Error(`--threads takes numbers from 1 to 64, got ${values.threads}`);
  if (!(seconds > 0)) throw new Error(`--seconds takes a number > 0, got ${values.seconds}`);
  if (cases.length === 0)
    throw new Error(`--cases ${values.cases} names none of: ${CASES.map(({ name }) => name).join(", ")}`);

  const here = fileURLToPath(new URL(".", import.meta.url));
  const folder = built ? translated() : here;
  const started = new Date().toISOString();
  const sessions: LevelSession[] = [];
  for (const level of levels as SimdLevel[])
    for (const n of threads) {
      const fits = (kind: Case["kind"]) => cases.filter((c) => (c.kind === "memory") === (kind === "memory"));
      const order = (some: readonly Case[]): SessionOrder => ({
        level,
        threads: n,
        cases: some.map(({ name }) => name),
        seconds,
        peers: values.peers ? join(here, "peers", "index.mjs") : undefined,
      });
      const file = inPage
        ? join(here, "support", "chromium.mjs")
        : join(folder, "support", built ? "child.mjs" : "child.ts");
      // Memory is measured in a process that has allocated nothing else.
      const parts = [fits("time"), ...fits("memory").map((c) => [c])].filter((some) => some.length > 0);
      const done: LevelSession[] = [];
      for (const part of parts) {
        const { peers, ...alone } = order(part);
        // If a process crashes in a case, which happens with peers, another process continues with the next case.
        for (let rest = part; rest.length > 0; ) {
          const names = rest.map(({ name }) => name);
          const request: SessionOrder =
            rest[0].kind === "memory" ? { ...alone, cases: names } : { ...alone, peers, cases: names };
          const one = await session(request, file, path);
          done.push(one);
          if (one.refused !== undefined) break;
          rest = rest.slice(one.outcomes.length + one.failures.length);
        }
      }
      sessions.push({
        ...done[0],
        outcomes: done.flatMap(({ outcomes }) => outcomes),
        failures: done.flatMap(({ failures }) => failures),
      });
    }
  const run: BenchRun = {
    command: ["node", "bench/run.ts", ...process.argv.slice(2).map(quoted)].join(" "),
    started,
    machine: {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: availableParallelism(),
      memory: totalmem(),
      platform: `${process.platform} ${process.arch}`,
    },
    built,
    seconds,
    sessions,
  };
  if (values.json) process.stdout.write(`${JSON.stringify(run, null, 1)}\n`);
  if (sessions.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
}

const quoted = (text: string) => (/^[\w.,=/-]+$/.test(text) ? text : `'${text}'`);

if (process.argv[1] === fileURLToPath(import.meta.url))
  main().catch((error: Error) => {
    say(`bench: ${error.message}`);
    process.exitCode = 2;
  });

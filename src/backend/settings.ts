/** Settings of the engine: SIMD level and threads. Read from HEED_SIMD and HEED_THREADS once, changed by `configure`. */
import { formatValue, OptionError } from "../core/errors.ts";
import type { Level } from "./plan.ts";

/** What `configure` takes; what is left out stays as it was. */
export interface Settings {
  /**
   * `"wide"` 256-bit registers (Node ≥ 24; sets an experimental V8 flag of the whole process and tests itself),
   * `"relaxed"` relaxed SIMD (default), `"strict"` plain SIMD with the same bits on every engine,
   * `"reference"` plain TypeScript. A level the engine lacks falls to the next, with one warning where it was asked for.
   */
  simd: Level;
  /** Most threads a call may use, the calling one included: 1 to 64. Default: the machine's cores, at most 16. */
  threads: number;
  /** Bytes a thread may hold beyond inputs and output. Default 12 MiB. */
  bytesPerThread: number;
  /** Called with each warning; default console.warn. */
  onWarning: (message: string) => void;
}

const LEVELS: readonly Level[] = ["wide", "relaxed", "strict", "reference"];

let current: Settings | undefined;
let asked = false;
const listeners: (() => void)[] = [];

/** The settings in force. */
export function settings(): Readonly<Settings> {
  current ??= initial();
  return current;
}

/** True where the SIMD level was chosen by the caller or the environment, not by default. */
export function levelWasAsked(): boolean {
  settings();
  return asked;
}

/** Changes settings for every later call of this process; returns those in force. */
export function configure(change: Partial<Settings> = {}): Readonly<Settings> {
  if (change === null || typeof change !== "object" || Array.isArray(change))
    throw new OptionError(
      "setting",
      `configure: expected an object of settings, got ${formatValue(change)}`,
      {
        got: change,
      },
    );
  for (const name of Object.keys(change))
    if (!["simd", "threads", "bytesPerThread", "onWarning"].includes(name))
      throw new OptionError(
        "setting",
        `configure: no setting ${formatValue(name)}; the settings are simd, threads, bytesPerThread, onWarning`,
        { got: name },
      );
  const next = { ...settings() };
  if (change.simd !== undefined) next.simd = checkLevel("configure: simd", change.simd);
  if (change.threads !== undefined) next.threads = checkThreads("configure: threads", change.threads);
  if (change.bytesPerThread !== undefined) {
    if (!(Number.isInteger(change.bytesPerThread) && change.bytesPerThread >= 2 ** 20))
      throw new OptionError(
        "setting",
        `configure: bytesPerThread must be an integer of at least 1 MiB, got ${formatValue(change.bytesPerThread)}`,
        { got: change.bytesPerThread },
      );
    next.bytesPerThread = change.bytesPerThread;
  }
  if (change.onWarning !== undefined) {
    if (typeof change.onWarning !== "function")
      throw new OptionError(
        "setting",
        `configure: onWarning must be a function, got ${formatValue(change.onWarning)}`,
        { got: change.onWarning },
      );
    next.onWarning = change.onWarning;
  }
  if (change.simd !== undefined) asked = true;
  current = next;
  for (const tell of listeners) tell();
  return current;
}

/** Calls `tell` after each change. */
export function onConfigure(tell: () => void): void {
  listeners.push(tell);
}

const warned = new Set<string>();

/** One clear warning a cause. */
export function warnOnce(cause: string, message: string): void {
  if (warned.has(cause)) return;
  warned.add(cause);
  settings().onWarning(`heed: ${message}`);
}

function initial(): Settings {
  const env = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
  const simd = env.HEED_SIMD ? checkLevel("HEED_SIMD", env.HEED_SIMD) : "relaxed";
  if (env.HEED_SIMD) asked = true;
  const cores =
    (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator?.hardwareConcurrency ??
    nodeCores();
  const threads = env.HEED_THREADS
    ? checkThreads("HEED_THREADS", Number(env.HEED_THREADS))
    : Math.min(16, Math.max(1, cores));
  return { simd, threads, bytesPerThread: 12 * 2 ** 20, onWarning: (message) => console.warn(message) };
}

function nodeCores(): number {
  const process = (globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }).process;
  const os = process?.getBuiltinModule?.("node:os") as { availableParallelism(): number } | undefined;
  return os?.availableParallelism() ?? 1;
}

function checkLevel(what: string, level: string): Level {
  if (!LEVELS.includes(level as Level))
    throw new OptionError(
      "simd",
      `${what}: expected ${LEVELS.map((l) => `"${l}"`).join(", ")}, got ${formatValue(level)}`,
      { got: level },
    );
  return level as Level;
}

function checkThreads(what: string, n: number): number {
  if (!(Number.isInteger(n) && n >= 1 && n <= 64))
    throw new OptionError("threads", `${what}: expected an integer from 1 to 64, got ${formatValue(n)}`, {
      got: n,
    });
  return n;
}

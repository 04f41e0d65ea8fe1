/**
 * Settings of the process: backend, SIMD level and threads. Read once from HEED_BACKEND, HEED_SIMD and HEED_THREADS, changed
 * by `configure`.
 */
import { checkCount, formatValue, isFunction, OptionError, refuseGot } from "../core/errors.ts";
import { availableLevel } from "./levels.ts";
import type { SimdLevel } from "./plan/plan.ts";

/** Settings of `configure`; omitted settings do not change. */
export interface Settings {
  /**
   * Which backend computes on CPU tensors. `"auto"` (default): `wasm` where it supports the call, else `reference`.
   * `"wasm"`: WebAssembly kernels only; a call they do not support throws. `"reference"`: the formula in float64, in plain
   * TypeScript.
   */
  backend: BackendName;
  /**
   * `"wide"` 256-bit registers (default in Node ≥ 24 on x86-64; an experimental flag of V8 is set only while heed's kernels are
   * compiled, and the level tests itself), `"relaxed"` relaxed SIMD (default elsewhere; the same bits as `"wide"`), `"strict"` plain
   * SIMD with the same bits on every JavaScript engine (default where there is no relaxed SIMD). The setting is the level that runs:
   * where a level is not available it is the next one, with one warning at the first call if the caller chose the level.
   */
  simd: SimdLevel;
  /** Maximum number of threads of a call, the calling thread included: 1 to 64. Default: the number of cores, at most 16. */
  threads: number;
  /** Bytes that a thread may allocate beyond inputs and output. Default 12 MiB. */
  bytesPerThread: number;
  /** Called with each warning; default console.warn. */
  onWarning: (message: string) => void;
}

/** Backends that a caller can choose for CPU tensors. */
export type BackendName = "auto" | "wasm" | "reference";

const BACKENDS: readonly BackendName[] = ["auto", "wasm", "reference"];
const LEVELS: readonly SimdLevel[] = ["wide", "relaxed", "strict"];
const NAMES = ["backend", "simd", "threads", "bytesPerThread", "onWarning"];

/** The settings; the SIMD level that the caller or the environment chose, and why a lower one runs. */
interface Current {
  readonly settings: Settings;
  readonly chosen?: SimdLevel;
  readonly lowerReason?: string;
}

let current: Current | undefined;

/** The current settings. */
export function settings(): Readonly<Settings> {
  current ??= initial();
  return current.settings;
}

/** Warns once where the level that was chosen is not available. */
export function warnOfLowerLevel(): void {
  current ??= initial();
  const { settings, chosen, lowerReason } = current;
  const text = `simd: "${chosen}" is not available: ${lowerReason}; running "${settings.simd}"`;
  if (lowerReason !== undefined) warnOnce(`simd ${chosen}`, text);
}

/** The level that runs for a choice. */
function chooseLevel(
  chosen: SimdLevel | undefined,
): Pick<Current, "chosen" | "lowerReason"> & { simd: SimdLevel } {
  const { level, reason } = availableLevel(chosen);
  return { simd: level, ...(chosen && { chosen, ...(reason !== undefined && { lowerReason: reason }) }) };
}

/**
 * Changes settings for all later calls of this process; returns the current settings.
 *
 * @example
 * configure({ simd: "strict", threads: 2 }); // the same bits on every engine
 */
export function configure(change: Partial<Settings> = {}): Readonly<Settings> {
  checkCount("configure", arguments, 1);
  if (Object.prototype.toString.call(change) !== "[object Object]")
    refuseGot("setting", "configure: expected an object of settings", change);
  for (const name of Object.keys(change))
    if (!NAMES.includes(name))
      throw new OptionError(
        "setting",
        `configure: unknown setting ${formatValue(name)}; expected one of ${NAMES.join(", ")}`,
        { got: name },
      );
  const next = { ...settings() };
  if (change.backend !== undefined) next.backend = checkBackend("configure: backend", change.backend);
  const { simd, ...choice } =
    change.simd === undefined
      ? { ...current, simd: next.simd }
      : chooseLevel(checkLevel("configure: simd", change.simd));
  next.simd = simd;
  if (change.threads !== undefined) next.threads = checkThreads("configure: threads", change.threads);
  const { bytesPerThread = next.bytesPerThread, onWarning = next.onWarning } = change;
  if (!(Number.isInteger(bytesPerThread) && bytesPerThread >= 2 ** 20))
    refuseGot("setting", "configure: bytesPerThread must be an integer of at least 1 MiB", bytesPerThread);
  if (!isFunction(onWarning)) refuseGot("setting", "configure: onWarning must be a function", onWarning);
  Object.assign(next, { bytesPerThread, onWarning });
  current = { ...choice, settings: Object.freeze(next) };
  return next;
}

const warned = new Set<string>();

/** Warns once per cause. */
export function warnOnce(cause: string, message: string): void {
  if (warned.has(cause)) return;
  warned.add(cause);
  settings().onWarning(`heed: ${message}`);
}

/** Warns once that a name is to go, with what to write in its place: the first line of each function that `@deprecated` marks. */
export function warnOfDeprecated(name: string, instead: string): void {
  warnOnce(
    `deprecated ${name}`,
    `${name} is deprecated and goes with the next first number of heed; write ${instead}`,
  );
}

/** An environment variable; undefined where it is not set or the runtime does not allow reading it (Deno without --allow-env). */
function environment(name: string): string | undefined {
  try {
    return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name];
  } catch {
    return undefined;
  }
}

function initial(): Current {
  const env = {
    HEED_BACKEND: environment("HEED_BACKEND"),
    HEED_SIMD: environment("HEED_SIMD"),
    HEED_THREADS: environment("HEED_THREADS"),
  };
  const { simd, ...choice } = chooseLevel(env.HEED_SIMD ? checkLevel("HEED_SIMD", env.HEED_SIMD) : undefined);
  const backend = env.HEED_BACKEND ? checkBackend("HEED_BACKEND", env.HEED_BACKEND) : "auto";
  const cores =
    (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator?.hardwareConcurrency ??
    nodeCores();
  const threads = env.HEED_THREADS
    ? checkThreads("HEED_THREADS", Number(env.HEED_THREADS))
    : Math.min(16, Math.max(1, cores));
  const settings: Settings = {
    backend,
    simd,
    threads,
    bytesPerThread: 12 * 2 ** 20,
    onWarning: (message) => console.warn(message),
  };
  return { ...choice, settings };
}

function nodeCores(): number {
  const process = (globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }).process;
  const os = process?.getBuiltinModule?.("node:os") as { availableParallelism(): number } | undefined;
  return os?.availableParallelism() ?? 1;
}

function checkBackend(what: string, name: string): BackendName {
  if (!BACKENDS.includes(name as BackendName))
    throw new OptionError(
      "backend",
      `${what}: expected ${BACKENDS.map((b) => `"${b}"`).join(", ")}, got ${formatValue(name)}`,
      { got: name },
    );
  return name as BackendName;
}

function checkLevel(what: string, level: string): SimdLevel {
  if (level === "reference")
    throw new OptionError(
      "simd",
      `${what}: "reference" is a backend, not a SIMD level; set ${what.startsWith("HEED") ? "HEED_BACKEND=reference" : 'configure({ backend: "reference" })'}`,
      { got: level },
    );
  if (!LEVELS.includes(level as SimdLevel))
    throw new OptionError(
      "simd",
      `${what}: expected ${LEVELS.map((l) => `"${l}"`).join(", ")}, got ${formatValue(level)}`,
      { got: level },
    );
  return level as SimdLevel;
}

export function checkThreads(what: string, n: number): number {
  if (!(Number.isInteger(n) && n >= 1 && n <= 64))
    refuseGot("threads", `${what}: expected an integer from 1 to 64`, n);
  return n;
}

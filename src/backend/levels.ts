/** Which SIMD levels this runtime has, and why it lacks one; how V8's flags are set for the level `wide`. */

import type { SimdLevel } from "./plan/plan.ts";

interface HostProcess {
  readonly versions?: Readonly<Record<string, string | undefined>>;
  readonly arch?: string;
  readonly platform?: string;
  readonly execArgv?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  getBuiltinModule?(id: string): unknown;
}

const hostProcess = (): HostProcess | undefined => (globalThis as { process?: HostProcess }).process;

/** The result of `read`; undefined where the runtime does not allow it (Deno without permissions, Node's permission model). */
function allowed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A module with one `f32x4.relaxed_madd`, for `WebAssembly.validate`. */
const RELAXED = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 123, 123, 123, 1, 123, 3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32,
  1, 32, 2, 253, 133, 2, 11,
];

/** True where the engine has relaxed SIMD: every current one; Node 20 with a flag. */
export const hasRelaxed = (): boolean =>
  typeof WebAssembly === "object" && allowed(() => WebAssembly.validate(Uint8Array.from(RELAXED))) === true;

/** Flags with which this process was started. */
const startFlags = (): readonly string[] => [
  ...(allowed(() => hostProcess()?.execArgv) ?? []),
  ...(allowed(() => hostProcess()?.env?.NODE_OPTIONS) ?? "").split(/\s+/),
];

/** True for a flag that the process was started with; V8 takes `_` for `-`. */
const isStartFlag = (name: string): boolean =>
  startFlags().some((flag) => flag.replaceAll("_", "-") === `--${name}`);

/** Sets flags of V8 in this process; false outside of Node. */
function setV8Flags(flags: readonly string[]): boolean {
  const v8 = allowed(() => hostProcess()?.getBuiltinModule?.("node:v8")) as
    | { setFlagsFromString(flag: string): void }
    | undefined;
  const versions = hostProcess()?.versions;
  if (!v8 || !versions?.node || versions.bun || versions.deno) return false;
  for (const flag of flags) v8.setFlagsFromString(flag);
  return true;
}

/** V8's major version in Node and Deno; undefined in a page. */
export function v8Version(): number | undefined {
  const major = Number.parseInt(hostProcess()?.versions?.v8 ?? "", 10);
  return Number.isFinite(major) ? major : undefined;
}

/** True where the processor has AVX2, which V8 needs for 256 bits. Read on Linux; elsewhere assumed, as all x86-64 processors since 2015 have it. */
function hasAvx2(): boolean {
  if (hostProcess()?.platform !== "linux") return true;
  const fs = hostProcess()?.getBuiltinModule?.("node:fs") as
    | { readFileSync(path: string, encoding: string): string }
    | undefined;
  const text = allowed(() => fs?.readFileSync("/proc/cpuinfo", "utf8"));
  return text === undefined || / avx2 /.test(`${text.replaceAll("\n", " ")} `);
}

/**
 * The only major version of V8 whose compiler flags are changed in a running process, Node 24's. V8 14 ends the process if another
 * thread compiles while they change.
 */
const SWITCHED_V8 = 13;

/** V8's flag for 256-bit registers. */
const FUSE = "experimental-wasm-revectorize";

let wideReason: { readonly text: string | undefined } | undefined;

/** Why this process has no level `wide`; undefined where it has. */
export function unsupportedWide(): string | undefined {
  wideReason ??= { text: findWideReason() };
  return wideReason.text;
}

function findWideReason(): string | undefined {
  const host = hostProcess();
  const { node, bun, deno, electron } = host?.versions ?? {};
  if (bun) return "Bun's engine has no 256-bit WebAssembly registers";
  if (deno || !node) return "only Node has V8's flag for 256-bit registers";
  if (electron) return "Electron does not allow flags of V8 to change";
  const version = v8Version() ?? 0;
  if (version < 13) return `it needs Node 24 or later, and this is Node ${node}`;
  if (version !== SWITCHED_V8 && !isStartFlag(FUSE))
    return `Node ${node} cannot change its compiler while it runs; start it with --${FUSE}`;
  if (host?.arch !== "x64") return `V8 fuses 128-bit pairs on x86-64 only, and this is ${host?.arch}`;
  if (isStartFlag("freeze-flags-after-init"))
    return "this process was started with --freeze-flags-after-init";
  if (isStartFlag("liftoff-only")) return "this process was started with --liftoff-only";
  if (!hasRelaxed()) return "the engine has no relaxed SIMD";
  return hasAvx2() ? undefined : "the processor has no AVX2";
}

/** Why this process has no level `relaxed`; undefined where it has. `enable` sets V8's flag where that is all it needs (Node 20). */
function unsupportedRelaxed(enable: boolean): string | undefined {
  if (hasRelaxed() || (enable && setV8Flags(["--experimental-wasm-relaxed-simd"]) && hasRelaxed()))
    return undefined;
  return "the engine has no relaxed SIMD";
}

/**
 * The level that runs where `requested` was asked for, and why it is another one. Without a request it is the fastest level of
 * this process that needs no lasting change of it.
 */
export function availableLevel(requested?: SimdLevel): {
  readonly level: SimdLevel;
  readonly reason?: string;
} {
  if (requested === "strict") return { level: "strict" };
  const noWide = requested === "relaxed" ? "" : unsupportedWide();
  if (noWide === undefined) return { level: "wide" };
  const noRelaxed = unsupportedRelaxed(requested !== undefined);
  const level = noRelaxed === undefined ? "relaxed" : "strict";
  return level === requested ? { level } : { level, reason: noWide || noRelaxed };
}

/**
 * Flags while a wide kernel is compiled: pairs of vectors are fused, and all code is optimized before the call returns. Inlining is
 * not among them: code of other threads that counts calls for it would write to counters that do not exist.
 */
const WIDE_FLAGS = [FUSE, "no-liftoff", "no-wasm-lazy-compilation"];

/** A flag at V8's default again. Flags that the process was started with are left alone. */
const opposite = (flag: string): string => (flag.startsWith("no-") ? flag.slice(3) : `no-${flag}`);

let wideFlags: readonly string[] | undefined;

/** True where wide kernels are optimized when `compile` returns; elsewhere V8 optimizes them after some calls. */
export const optimizesAtOnce = (): boolean => v8Version() === SWITCHED_V8;

/**
 * Compiles a module. A `wide` one is compiled with V8's revectorizer and without its baseline compiler, and both are as before when
 * the function returns: V8 reads the flags while it compiles, so other modules are compiled as without heed. Only a module that
 * another thread compiles in the same milliseconds may be fused too; its results have the same bits. A process that was started with
 * V8's flag keeps it, and another version of V8 than Node 24's keeps all flags.
 */
export function compile(code: Uint8Array<ArrayBuffer>, wide: boolean): WebAssembly.Module {
  if (!wide || unsupportedWide() !== undefined) return new WebAssembly.Module(code);
  wideFlags ??= optimizesAtOnce() ? WIDE_FLAGS.filter((flag) => !isStartFlag(flag)) : [];
  setV8Flags(wideFlags.map((flag) => `--${flag}`));
  try {
    return new WebAssembly.Module(code);
  } finally {
    setV8Flags(wideFlags.map((flag) => `--${opposite(flag)}`));
  }
}

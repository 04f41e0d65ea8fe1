/** Features of this WebAssembly engine, detected by validating tiny modules, and the register tiles for it. */
import type { SimdLevel } from "../../backend/plan/plan.ts";
import { f32x4, i32x4, ModuleBuilder, v128 } from "../assembler/index.ts";
import type { RegisterTile } from "../codegen/spec.ts";

function validates(write: (module: ModuleBuilder) => void, shared: boolean): boolean {
  if (typeof WebAssembly !== "object") return false;
  const module = new ModuleBuilder({ initial: 1, maximum: 1, shared });
  write(module);
  try {
    return WebAssembly.validate(module.encode());
  } catch {
    return false;
  }
}

/** Plain 128-bit SIMD. */
export function hasSimd(): boolean {
  return validates(
    (m) => m.func("f", {}, (f) => f.storeVector(0, i32x4.add(v128.load(0), v128.load(0)))),
    false,
  );
}

/** Relaxed SIMD: every current engine; Node 20 with a flag. */
export function hasRelaxed(): boolean {
  const x = v128.load(0);
  return validates((m) => m.func("f", {}, (f) => f.storeVector(0, f32x4.relaxed_madd(x, x, x))), false);
}

/** Memory that threads can share: in a page only when it is cross-origin isolated. */
export function hasSharedMemory(): boolean {
  if (typeof SharedArrayBuffer !== "function" || typeof Atomics !== "object") return false;
  const page = globalThis as { crossOriginIsolated?: boolean; window?: unknown };
  if (page.crossOriginIsolated === false) return false;
  return validates((m) => m.func("f", {}, () => {}), true);
}

interface NodeProcess {
  versions?: { node?: string; v8?: string };
  getBuiltinModule?: (id: string) => unknown;
}

const nodeProcess = (): NodeProcess | undefined => (globalThis as { process?: NodeProcess }).process;

/** V8's version as [major, minor] in Node and Deno; undefined in a page. */
function v8Version(): [number, number] | undefined {
  const version = nodeProcess()?.versions?.v8?.split(".").map(Number);
  return version && Number.isFinite(version[0]) ? [version[0], version[1]] : undefined;
}

/** True for V8 before 13, which hoists loads above all arithmetic and spills larger tiles. */
const isOldV8 = (): boolean => (v8Version()?.[0] ?? 99) < 13;

/** True once `enableRevectorizer` has set V8's flag. */
export let revectorizerEnabled = false;

/** Sets a flag of V8 for this process; false outside of Node. */
function setV8Flag(flag: string): boolean {
  const v8 = nodeProcess()?.getBuiltinModule?.("node:v8") as
    | { setFlagsFromString(flag: string): void }
    | undefined;
  if (!v8 || !nodeProcess()?.versions?.node) return false;
  v8.setFlagsFromString(flag);
  return true;
}

/**
 * Enables V8's 128 → 256-bit revectorizer for the rest of this process: an experimental flag, in V8 since
 * 12.x and useful from 13 on (Node 24). Returns false where it cannot be set.
 */
export function enableRevectorizer(): boolean {
  if (revectorizerEnabled) return true;
  if (isOldV8() || !setV8Flag("--experimental-wasm-revectorize")) return false;
  revectorizerEnabled = true;
  return true;
}

const LETTERS = "a".repeat(256);
const ENCODED = new Uint8Array(LETTERS.length);
let encoder: TextEncoder | undefined;

/**
 * Clears the upper halves of the 256-bit registers after a wide kernel. Where they are in use, every legacy SSE instruction
 * waits for them on Intel's processors, and Math.exp takes 200 ns instead of 10 (measured, Node 24). V8 does not expose
 * vzeroupper; Node's encoder of plain ASCII is compiled for AVX and ends with one (0.1 µs).
 */
export function clearUpperYmm(): void {
  encoder ??= new TextEncoder();
  encoder.encodeInto(LETTERS, ENCODED);
}

/** Enables relaxed SIMD for this process where it needs a flag (Node 20); call it only where the user chose the level. */
export const enableRelaxedSimd = (): boolean => setV8Flag("--experimental-wasm-relaxed-simd");

/** Register tiles by level, measured (docs/optimization-log.md): the largest that V8 keeps in 15 vector registers. */
export function tileFor(level: SimdLevel): RegisterTile {
  if (level === "wide") return { rows: 6, vectors: 4, unroll: 1 };
  if (isOldV8()) return { rows: 4, vectors: 2, unroll: 1 };
  return level === "relaxed" ? { rows: 6, vectors: 2, unroll: 1 } : { rows: 5, vectors: 2, unroll: 8 };
}

/** Features of this WebAssembly engine, detected by validating tiny modules, and the register tiles for it. */

import { v8Version } from "../../backend/levels.ts";
import type { SimdLevel } from "../../backend/plan/plan.ts";
import { i32x4, ModuleBuilder, v128 } from "../assembler/index.ts";
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

/** Memory that threads can share: in a page only when it is cross-origin isolated. */
export function hasSharedMemory(): boolean {
  if (typeof SharedArrayBuffer !== "function" || typeof Atomics !== "object") return false;
  const page = globalThis as { crossOriginIsolated?: boolean; window?: unknown };
  if (page.crossOriginIsolated === false) return false;
  return validates((m) => m.func("f", {}, () => {}), true);
}

/** True for V8 before 13, which hoists loads above all arithmetic and spills larger tiles. */
const isOldV8 = /* @__PURE__ */ (() => (v8Version() ?? 99) < 13)();

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

/** Register tiles by level, measured (docs/optimization-log.md): the largest that V8 keeps in 15 vector registers. */
export function tileFor(level: SimdLevel): RegisterTile {
  if (level === "wide") return { rows: 6, vectors: 4, unroll: 1 };
  if (isOldV8) return { rows: 4, vectors: 2, unroll: 1 };
  return level === "relaxed" ? { rows: 6, vectors: 2, unroll: 1 } : { rows: 5, vectors: 2, unroll: 8 };
}

/**
 * The WebAssembly backend: every option, float32 and 16-bit storage. Each operation is a part of its own, so that a program
 * bundles the kernels of the operations that it calls; `wasm` is all of them.
 */

import type { Backend, Operation } from "../backend/contract.ts";
import { settings } from "../backend/settings.ts";
import { wasmBackward } from "./backward/backward.ts";
import { type EngineArena, engineArena } from "./engine/arena.ts";
import { type Engine, getEngine, unavailableReason } from "./engine/engine.ts";
import { empty } from "./engine/resident.ts";
import { planOf } from "./explain.ts";
import { forwardLevel, wasmForward, wasmWeights } from "./forward/forward.ts";
import { wasmMatmul } from "./ops/matmul.ts";
import { packedMatrix, packedProduct } from "./ops/packed.ts";
import { wasmRowwise } from "./ops/rowwise.ts";

export {
  empty,
  packedMatrix,
  packedProduct,
  wasmBackward,
  wasmForward,
  wasmMatmul,
  wasmRowwise,
  wasmWeights,
};

/** The part of each kind of operation. */
const PARTS = {
  forward: wasmForward,
  weights: wasmWeights,
  backward: wasmBackward,
  matmul: wasmMatmul,
  rowwise: wasmRowwise,
};

/** The whole backend. */
export const wasm: Backend = {
  name: "wasm",
  device: "cpu",
  supports: (operation: Operation) => PARTS[operation.kind].supports(operation),
  allocate: empty,
  plan: (operation) => planOf(getEngine() as Engine, operation),
  forward: (problem) => wasmForward.forward(problem),
  weights: (problem, lse, selection) => wasmWeights.weights(problem, lse, selection),
  backward: (problem, tensors, wanted) => wasmBackward.backward(problem, tensors, wanted),
  matmul: (product) => wasmMatmul.matmul(product),
  rowwise: (operation) => wasmRowwise.rowwise(operation),
};

/** The arena for the results of a scope (core/arena.ts); undefined where there is no engine. */
export const stepArena = (): EngineArena | undefined =>
  unavailableReason() === undefined ? engineArena(getEngine() as Engine) : undefined;

/** Starts threads, selects the level, and resolves to the number of threads that are ready. */
export async function prepare(): Promise<number> {
  const engine = getEngine();
  if (!engine) return 1;
  forwardLevel(engine);
  return engine.pool.whenReady(settings().threads, 10_000);
}

/**
 * The WebAssembly backend: every option, float32 and 16-bit storage. Each operation is a separate part, so that a program
 * bundles only the kernels of the operations that it calls; `wasm` has all of them.
 */

import type {
  AttentionOperation,
  Backend,
  BackendPart,
  MatmulOperation,
  Operation,
} from "../backend/contract.ts";
import { settings } from "../backend/settings.ts";
import { UnsupportedError } from "../core/errors.ts";
import { wasmBackward } from "./attention/backward/backward.ts";
import { forwardLevel, wasmForward, wasmWeights } from "./attention/forward/forward.ts";
import { type EngineArena, engineArena } from "./engine/arena.ts";
import { type Engine, getEngine, unavailableReason } from "./engine/engine.ts";
import { empty } from "./engine/resident.ts";
import { whenReady } from "./engine/worker-pool.ts";
import { planAttention, planMatmul, planRowwise } from "./explain.ts";
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

/** Plans of attention calls. */
export const wasmAttentionPlans: BackendPart<"plan"> = {
  name: "wasm",
  device: "cpu",
  supports: (operation: AttentionOperation) =>
    (operation.kind === "backward" ? wasmBackward : wasmForward).supports(operation),
  plan: (operation: AttentionOperation) => planAttention(getEngine() as Engine, operation),
};

/** Plans of matrix products. */
export const wasmMatmulPlans: BackendPart<"plan"> = {
  name: "wasm",
  device: "cpu",
  supports: (operation) => wasmMatmul.supports(operation),
  plan: (operation: MatmulOperation) => planMatmul(getEngine() as Engine, operation.product),
};

/** Why no array operation runs on this backend. */
const NO_ARRAYS = "it has no kernels for array operations";

/** The whole backend. */
export const wasm: Backend = {
  name: "wasm",
  device: "cpu",
  supports: (operation: Operation) =>
    operation.kind === "array" ? NO_ARRAYS : PARTS[operation.kind].supports(operation),
  allocate: empty,
  plan(operation) {
    const engine = getEngine() as Engine;
    if (operation.kind === "matmul") return planMatmul(engine, operation.product);
    if (operation.kind === "rowwise") return planRowwise(engine, operation.operation);
    if (operation.kind === "array") throw new UnsupportedError("backend", `wasm: ${NO_ARRAYS}`);
    return planAttention(engine, operation);
  },
  forward: (problem) => wasmForward.forward(problem),
  weights: (problem, lse, selection) => wasmWeights.weights(problem, lse, selection),
  backward: (problem, tensors, wanted) => wasmBackward.backward(problem, tensors, wanted),
  matmul: (product) => wasmMatmul.matmul(product),
  rowwise: (operation) => wasmRowwise.rowwise(operation),
  array() {
    throw new UnsupportedError("backend", `wasm: ${NO_ARRAYS}`);
  },
};

/** The arena for the results of a scope (core/arena.ts); undefined where there is no engine. */
export const stepArena = (): EngineArena | undefined =>
  unavailableReason() === undefined ? engineArena(getEngine() as Engine) : undefined;

/** Starts threads, selects the level, and resolves to the number of threads that are ready. */
export async function prepare(): Promise<number> {
  const engine = getEngine();
  if (!engine) return 1;
  forwardLevel(engine);
  return whenReady(engine.pool, settings().threads, 10_000);
}

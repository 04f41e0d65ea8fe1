/** The backends, in the order they are tried, and what the front door needs of them. */

import type { Backend } from "./backend/contract.ts";
import type { Problem } from "./backend/problem.ts";
import type { Product } from "./backend/product.ts";
import { matmul as plainMatmul, reference } from "./reference/backend.ts";
import { wasm, matmul as wasmMatmul } from "./wasm/backend.ts";

export {
  type AdamWScalars,
  adamwPipeline,
  columnSumsPipeline,
  crossEntropyPipeline,
  empty,
  type MapName,
  mapBackwardPipeline,
  mapPipeline,
  normBackwardPipeline,
  normPipeline,
  prepare,
  runRowPipeline,
  stepArena,
} from "./wasm/backend.ts";

const BACKENDS: readonly Backend[] = [wasm, reference];

/** The first backend that takes the problem (in the direction asked for), and why those before it did not. */
export function backendFor(
  problem: Problem,
  direction: "forward" | "backward" = "forward",
): { backend: Backend; because?: string } {
  let because: string | undefined;
  for (const backend of BACKENDS) {
    let reason = backend.refuses(problem);
    if (reason === undefined && direction === "backward") reason = backend.refusesBackward(problem);
    if (reason === undefined) return { backend, because };
    because ??= reason;
  }
  return { backend: reference, because };
}

/** Fills the result of a matrix product: on the engine, or in plain loops. */
export function multiply(product: Product): void {
  if (!wasmMatmul(product)) plainMatmul(product);
}

/**
 * Tensors in the engine's memory: a call reads them in place, so a key/value cache is not copied at each
 * step. They are ordinary tensors over a shared buffer; the region is freed when no view of it is reachable.
 */

import { warnOnce } from "../../backend/settings.ts";
import { arrayFor, DTYPES, type DType } from "../../core/dtype.ts";
import { checkShape, sizeOf, Tensor } from "../../core/tensor.ts";
import { getEngine, unavailableReason } from "./engine.ts";
import { freeWithOwner } from "./memory.ts";
import { registerBuffer } from "./transfer.ts";

/**
 * A zero-filled tensor in the engine's shared memory. The memory is freed when the tensor and all views of its `data`
 * are collected in the thread that made it; keep it there for as long as another thread uses it. Without shared memory (a page
 * that is not cross-origin isolated, a policy against WebAssembly) it is an ordinary tensor, and calls copy it.
 */
export function empty<D extends DType = "float32">(
  shape: readonly number[],
  dtype: D = "float32" as D,
): Tensor<D> {
  checkShape("empty", shape);
  const engine = getEngine();
  if (!engine?.memory.shared || dtype === "int64") {
    if (dtype !== "int64")
      warnOnce(
        "empty",
        `empty: ${unavailableReason() ?? "there is no shared memory here"}; the tensor is an ordinary one, and each call copies it`,
      );
    return new Tensor(arrayFor(dtype, sizeOf(shape)), [...shape], dtype);
  }
  const size = sizeOf(shape);
  const at = engine.memory.alloc(size * DTYPES[dtype].bytes);
  // A separate buffer object over the same memory, which every view of these numbers keeps alive.
  const buffer = structuredClone(engine.memory.memory.buffer);
  const data = new DTYPES[dtype].array(buffer, at, size);
  (data as Float32Array).fill(0);
  registerBuffer(buffer, engine.memory);
  freeWithOwner(buffer, engine.memory, at);
  return new Tensor(data, [...shape], dtype);
}

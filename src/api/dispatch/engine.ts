/** The engine of the CPU: tensors in its memory, its start, and the arena of a scope. */
import { settings } from "../../backend/settings.ts";
import type { Arena } from "../../core/arena.ts";
import { placementOn } from "../../core/device/device.ts";
import { checkDType, type DType } from "../../core/dtype.ts";
import { checkCount, formatValue, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import type { Tensor } from "../../core/tensor.ts";
import {
  empty as emptyWasm,
  prepare as prepareWasm,
  stepArena as stepArenaWasm,
} from "../../wasm/backend.ts";

/**
 * A zero-filled tensor in the memory of the CPU's kernels, which read it in place: a key/value cache is not copied at each
 * step. The memory is released when the tensor and all views of its `data` are collected in the thread that made it; keep
 * the tensor there for as long as another thread uses it. Without shared memory (a page that is not cross-origin isolated, a policy
 * against WebAssembly) it is an ordinary tensor, and calls copy it.
 *
 * @example
 * const cache = empty([1, 2, 1024, 8], "bfloat16"); // keys of 1,024 positions, read in place
 */
export function empty<D extends DType = "float32">(
  shape: readonly number[],
  dtype: D = "float32" as D,
): Tensor<D> {
  checkCount("empty", arguments, 2);
  if (!Array.isArray(shape))
    throw new ShapeError("shape", `empty: shape must be a list of lengths, got ${formatValue(shape)}`, {
      got: shape,
    });
  checkDType("empty", dtype);
  return emptyWasm(shape, dtype);
}

/**
 * Prepares the first call, without blocking. On the CPU it starts worker threads and selects the SIMD level, and resolves to
 * the number of threads that are ready. Calls work without it; the first calls then run on fewer threads. With `device` it
 * starts that device (it awaits the adapter of a GPU), as `tensor.to(device)` does, and resolves to 0.
 *
 * @throws OptionError where no device has that name; the error of the device where it cannot start
 *
 * @example
 * await prepare(); // the threads run before the first call
 */
export async function prepare(options: { readonly device?: string } = {}): Promise<number> {
  checkCount("prepare", arguments, 1);
  checkOptionNames("prepare", options, ["device"]);
  const { device = "cpu" } = options;
  if (device === "cpu") return settings().backend === "reference" ? 1 : prepareWasm();
  await placementOn("prepare", device).device.prepare?.();
  return 0;
}

/** The arena for the results of a scope (core/arena.ts); undefined where no backend has one. */
export function stepArena(): Arena | undefined {
  return settings().backend === "reference" ? undefined : stepArenaWasm();
}

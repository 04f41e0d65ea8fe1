/**
 * Scoped memory with the contract of tf.tidy: the tensors that a piece of work makes end with it, but for those that it
 * returns. Where the engine has shared memory, float32 results are placed in an arena in it, where kernels read and write
 * them without a copy, and the next scope reuses the arena.
 */
import { isScoped, keepTensor, withArena } from "./core/arena.ts";
import { formatValue, OptionError } from "./core/errors.ts";
import { Tensor } from "./core/tensor.ts";
import { stepArena } from "./dispatch/engine.ts";

/**
 * Runs `work` and returns what it returns. Every tensor made inside is disposed when it ends, except for those that are
 * returned (also in arrays, objects, maps and sets) and those that were passed to `keep`. Tensors from outside, such as
 * parameters and the state of an optimizer, stay.
 *
 * A training step in `tidy` takes about two thirds of its time outside of it: nothing is copied to the engine and back,
 * no memory is cleared and none is left for the garbage collector. `train` does it for each of its steps.
 *
 * A disposed tensor throws a HeedError of code `disposed` when its data is read, in every dtype and on every backend. An
 * array that was taken out of one (`t.data`) may hold other numbers by then. `work` is synchronous. Scopes nest: what an
 * inner one returns belongs to the outer one. The memory is kept for the next scope, and released a second after the last.
 *
 * @example
 * const loss = tidy(() => {
 *   const tape = new Tape();
 *   const mean = tape.run(() => model.loss(batch));
 *   optimizer.step(tape.gradients(mean, parameters.values()));
 *   return mean;
 * });
 *
 * @throws OptionError where `work` is not a function, or returns a promise
 */
export function tidy<T>(work: () => T): T {
  if (typeof work !== "function")
    throw new OptionError("work", `tidy: work must be a function, got ${formatValue(work)}`, { got: work });
  return withArena(isScoped() ? undefined : stepArena(), work, (result) => {
    if (typeof (result as { then?: unknown } | null | undefined)?.then === "function")
      throw new OptionError("work", "tidy: work must be synchronous, but it returned a promise");
    return tensorsIn(result);
  });
}

/**
 * Lets a tensor that is made inside `tidy` outlive the scope. Returns it.
 *
 * @example
 * tidy(() => { best = keep(scale(x, 2)); });
 */
export function keep<T extends Tensor>(tensor: T): T {
  if (!(tensor instanceof Tensor))
    throw new OptionError("tensor", `keep: expected a tensor, got ${formatValue(tensor)}`, { got: tensor });
  keepTensor(tensor);
  return tensor;
}

/** All tensors in a result: in objects, arrays, maps and sets, at any depth. */
function tensorsIn(result: unknown, found = new Set<Tensor>(), seen = new Set<unknown>()): Set<Tensor> {
  if (typeof result !== "object" || result === null || seen.has(result) || ArrayBuffer.isView(result))
    return found;
  seen.add(result);
  if (result instanceof Tensor) found.add(result);
  else if (result instanceof Map)
    for (const entry of result) for (const part of entry) tensorsIn(part, found, seen);
  else if (Array.isArray(result) || result instanceof Set)
    for (const part of result) tensorsIn(part, found, seen);
  else for (const part of Object.values(result)) tensorsIn(part, found, seen);
  return found;
}

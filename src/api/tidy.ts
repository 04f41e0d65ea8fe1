/**
 * Scoped memory with the contract of tf.tidy: the tensors that a function makes are disposed when it ends, except those that
 * it returns. Where the engine has shared memory, float32 results are allocated there in an arena: kernels read and write
 * them without a copy, and the next scope reuses the arena.
 */
import { isScoped, keepTensor, PartedScope, withArena } from "../core/arena.ts";
import { checkCount, isFunction, refuseGot, refuseValue } from "../core/errors.ts";
import { checkSynchronous } from "../core/synchronous.ts";
import { Tensor } from "../core/tensor.ts";
import { stepArena } from "./dispatch/engine.ts";

/**
 * Runs `work` and returns what it returns. Every tensor made inside is disposed when it ends, except for those that are
 * returned (also in arrays, objects, maps and sets) and those that were passed to `keep`. Tensors made outside, such as
 * parameters and the state of an optimizer, are not disposed.
 *
 * A training step is faster in `tidy` (`node bench/train.ts --untidy` compares): nothing is copied to the engine and back,
 * no memory is cleared and none is left for the garbage collector. `train` runs each of its steps in `tidy`.
 *
 * A disposed tensor throws a HeedError of code `disposed` when its data is read, in every dtype and on every backend. An
 * array that was read from it earlier (`t.data`) may then hold other numbers. `work` is synchronous. Scopes nest: tensors
 * that an inner scope returns belong to the outer one. The memory is kept for the next scope, and released a second after
 * the last.
 *
 * @example
 * const layer = new Linear(8, 1, { seed: 1 });
 * const optimizer = new AdamW(layer.parameters());
 * const loss = tidy(() => {
 *   const tape = new Tape();
 *   const error = tape.run(() => mean(square(layer.forward(x))));
 *   optimizer.step(tape.gradients(error, layer.parameters().values()));
 *   return error;
 * });
 *
 * @throws OptionError where `work` is not a function, or returns a promise
 */
export function tidy<T>(work: () => T): T {
  checkCount("tidy", arguments, 1);
  if (!isFunction(work)) refuseValue("tidy", "work", "a function", work);
  return withArena(isScoped() ? undefined : stepArena(), work, (result) => {
    return tensorsIn(checkSynchronous("tidy", result));
  });
}

/** The memory of a step whose parts wait for messages: `tidy` for each of them, until it ends. */
export const stepMemory = (): PartedScope => new PartedScope(stepArena());

/**
 * Lets a tensor that is made inside `tidy` outlive the scope. Returns it.
 *
 * @example
 * let best = x;
 * tidy(() => { best = keep(scale(x, 2)); });
 * best.shape; // → [2, 3, 8]
 */
export function keep<T extends Tensor>(tensor: T): T {
  checkCount("keep", arguments, 1);
  if (!(tensor instanceof Tensor)) refuseGot("tensor", "keep: expected a tensor", tensor);
  keepTensor(tensor);
  return tensor;
}

/** All tensors in a result: in objects, arrays, maps and sets, at any depth. */
function tensorsIn(result: unknown, tensors = new Set<Tensor>(), visited = new Set<unknown>()): Set<Tensor> {
  if (typeof result !== "object" || result === null || visited.has(result) || ArrayBuffer.isView(result))
    return tensors;
  visited.add(result);
  if (result instanceof Tensor) tensors.add(result);
  else if (result instanceof Map)
    for (const entry of result) for (const part of entry) tensorsIn(part, tensors, visited);
  else if (Array.isArray(result) || result instanceof Set)
    for (const part of result) tensorsIn(part, tensors, visited);
  else for (const part of Object.values(result)) tensorsIn(part, tensors, visited);
  return tensors;
}

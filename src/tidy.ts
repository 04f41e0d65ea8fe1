/**
 * Room that is used again: what a step of training makes, it makes in the engine's memory, where kernels read and write
 * it in place, and the next step makes its own in the same place.
 */
import { isScoped, withArena } from "./core/arena.ts";
import { formatValue, OptionError } from "./core/errors.ts";
import { stepArena } from "./dispatch.ts";

/**
 * Runs `work` and gives back what it returns; every float32 result that heed computes in it ends with it. A step of
 * training in `tidy` takes about two thirds of its time outside of it: nothing is copied to the engine and back, no
 * memory is cleared and none is left for the garbage collector. `train` does it for each of its steps.
 *
 *   const loss = tidy(() => {
 *     const tape = new Tape();
 *     const mean = tape.run(() => model.loss(batch));
 *     optimiser.step(tape.gradients(mean, parameters.values()));
 *     return mean.toFloat64()[0];
 *   });
 *
 * Take numbers out, or copies (`toFloat64`). A tensor made inside throws a HeedError of code `disposed` when its data is
 * read later; an array that was taken out of one (`t.data`) has other numbers by then. Tensors that come from outside,
 * such as parameters and the state of an optimiser, stay. `work` is synchronous; inside another `tidy` it belongs to
 * the outer one. The memory is kept for the next call, and given back a second after the last. Without shared memory
 * (a page that is not cross-origin isolated), and in float64, `work` runs as it would outside.
 *
 * @throws OptionError where `work` is no function, or gives a promise
 */
export function tidy<T>(work: () => T): T {
  if (typeof work !== "function")
    throw new OptionError("work", `tidy: work must be a function, got ${formatValue(work)}`, { got: work });
  const room = isScoped() ? undefined : stepArena();
  const result = room ? withArena(room, work) : work();
  if (typeof (result as { then?: unknown } | undefined)?.then === "function")
    throw new OptionError("work", "tidy: work must be synchronous, it gave a promise");
  return result;
}

/** Starting and pausing a recording (core/recording/record.ts), with the derivatives of the calls outside heed/nn. */
import { checkArgument, checkCount, isFunction } from "../core/errors.ts";
import { type Recorder, recordWith } from "../core/recording/record.ts";
import { checkSynchronous } from "../core/synchronous.ts";
import { type TensorLike, viewOf } from "../core/tensor.ts";
import { attentionDerivative } from "./ops/attend-derivative.ts";
import { type FloatTensorOf, operand } from "./ops/operand.ts";

export { isRecording, type Operation, type Recorder, record } from "../core/recording/record.ts";

const DERIVATIVES = { attention: attentionDerivative };

/**
 * Runs `work` while `recorder` receives every operation, and returns what it returns. Recordings nest: the innermost
 * recorder receives. With `undefined` nothing is recorded. `work` is synchronous: it may not
 * return a promise, since operations after an `await` would not be recorded.
 *
 * @example
 * const operations: Operation[] = [];
 * const y = withRecorder((operation) => operations.push(operation), () => relu(x));
 */
export function withRecorder<T>(recorder: Recorder | undefined, work: () => T): T {
  checkCount("withRecorder", arguments, 2);
  checkArgument(
    isFunction(work) && (recorder === undefined || isFunction(recorder)),
    "withRecorder",
    "a recorder or undefined, and a function",
    isFunction(work) ? recorder : work,
  );
  return runRecorded("withRecorder", recorder, work);
}

/** `withRecorder` for the function `what`, without the checks of its arguments. */
export function runRecorded<T>(what: string, recorder: Recorder | undefined, work: () => T): T {
  return checkSynchronous(what, recordWith(recorder, DERIVATIVES, work));
}

/**
 * Runs `work` without recording, inside a tape too, and returns what it returns: its results are constants. `work` is synchronous.
 *
 * @example
 * new Tape().run(() => noGrad(() => isRecording())); // → false
 */
export function noGrad<T>(work: () => T): T {
  checkCount("noGrad", arguments, 1);
  checkArgument(isFunction(work), "noGrad", "a function, as in noGrad(() => model.forward(x))", work);
  return runRecorded("noGrad", undefined, work);
}

/**
 * The same numbers as a constant: no gradient flows through the result. Nothing is copied. PyTorch's `detach()`.
 *
 * @example
 * const tape = new Tape();
 * const loss = tape.run(() => sum(multiply(x, stopGradient(x))));
 * tape.gradients(loss, [x]).get(x)!.shape; // → [2, 3, 8], its values are those of x, not 2·x
 */
export function stopGradient<T extends TensorLike>(x: T): FloatTensorOf<T> {
  checkCount("stopGradient", arguments, 1);
  const from = operand("stopGradient", "x", x);
  return viewOf(from, from.shape, from.strides, from.offset);
}

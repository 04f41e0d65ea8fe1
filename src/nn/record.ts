/** Starting and pausing a recording (core/recording/record.ts), with the derivatives of the calls outside heed/nn. */
import { checkArgument } from "../core/errors.ts";
import { type Recorder, recordWith } from "../core/recording/record.ts";
import { checkSynchronous } from "../core/synchronous.ts";
import { attentionDerivative } from "./ops/attend-derivative.ts";

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
  checkArgument(
    typeof work === "function" && (recorder === undefined || typeof recorder === "function"),
    "withRecorder",
    "a recorder or undefined, and a function",
    typeof work === "function" ? recorder : work,
  );
  return runRecorded("withRecorder", recorder, work);
}

/** `withRecorder` for the function `what`, without the checks of its arguments. */
export function runRecorded<T>(what: string, recorder: Recorder | undefined, work: () => T): T {
  return checkSynchronous(what, recordWith(recorder, DERIVATIVES, work));
}

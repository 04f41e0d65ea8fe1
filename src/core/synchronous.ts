/** Work that must end before its scope does: a recording, a seed, a tidy. */
import { OptionError } from "./errors.ts";

/** Throws an OptionError where `result`, of the work passed to `what`, is a promise: what follows an `await` would run too late. */
export function checkSynchronous<T>(what: string, result: T): T {
  if (typeof (result as { then?: unknown } | null | undefined)?.then === "function")
    throw new OptionError("work", `${what}: work must be synchronous, but it returned a promise`);
  return result;
}

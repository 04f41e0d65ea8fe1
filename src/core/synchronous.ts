/**
 * Work that must end before its scope does, such as a recording, a seed or a tidy; and computations that wait for answers: a generator
 * yields requests, such as an attention call, and goes on with the answer. The same code then runs at once (`runSteps`), or with answers
 * that arrive later, from other processes (`awaitSteps`).
 */
import { OptionError } from "./errors.ts";

/** Throws an OptionError where `result`, of the work passed to `what`, is a promise: what follows an `await` would run too late. */
export function checkSynchronous<T>(what: string, result: T): T {
  if (typeof (result as { then?: unknown } | null | undefined)?.then === "function")
    throw new OptionError("work", `${what}: work must be synchronous, but it returned a promise`);
  return result;
}

/** A computation of T that yields requests of type Q and is resumed with answers of type A. */
export type Resumable<Q, A, T> = Generator<Q, T, A>;

/** How a computation runs in parts: `run` runs each of them, and `pause` is awaited between two; it throws to end the computation. */
export interface WorkParts {
  readonly run: <T>(part: () => T) => T;
  readonly pause: Pause;
}

/** Between two parts of a computation; undefined where there is nothing to wait for. */
export type Pause = () => Promise<void> | undefined;

/** Runs a computation to its end; `answer` is synchronous. */
export function runSteps<Q, A, T>(steps: Resumable<Q, A, T>, answer: (request: Q) => A): T {
  let next = steps.next();
  while (!next.done) next = steps.next(answer(next.value));
  return next.value;
}

/** Runs a computation whose answers are awaited. `run` runs each part of it between two requests: inside a tape, for example. */
export async function awaitSteps<Q, A, T>(
  steps: Resumable<Q, A, T>,
  answer: (request: Q) => A | Promise<A>,
  run: <R>(part: () => R) => R = (part) => part(),
): Promise<T> {
  let next = run(() => steps.next());
  while (!next.done) {
    const value = await answer(next.value);
    next = run(() => steps.next(value));
  }
  return next.value;
}

/**
 * Computations that wait for answers: a generator yields requests, such as an attention call, and goes on with the answer. The same
 * code then runs at once (`runSteps`), or with answers that arrive later, from other processes (`awaitSteps`).
 */

/** A computation of T that yields requests of type Q and is resumed with answers of type A. */
export type Resumable<Q, A, T> = Generator<Q, T, A>;

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

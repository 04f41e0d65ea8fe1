/**
 * The active recording, and the operation that the methods of Tensor record. record.ts has the types of operations and their
 * rules; this file imports no tensor, so that tensor.ts can import it.
 */
import { isFloat } from "../dtype.ts";

/** Receives operations, and attention calls with their derivative. */
export interface Recording {
  recorder(operation: object): void;
  readonly derivatives: { attention(call: object): void };
}

/** The active recording, if any; code reads it to skip work that only a recording needs. */
export let activeRecording: Recording | undefined;

/** Replaces the active recording. */
export function setRecording(recording: Recording | undefined): void {
  activeRecording = recording;
}

/** Storage that operations of a recording wrote. */
const results = /* @__PURE__ */ new WeakSet<object>();

/** Reports what an operation wrote: its numbers, read out and put back by hand, would be constants. */
export function markResults(
  inputs: readonly { readonly storage: object }[],
  outputs: readonly { readonly storage: object }[],
): void {
  for (const { storage } of outputs)
    if (!inputs.some((input) => input.storage === storage)) results.add(storage);
}

/** True for an array that a recorded operation wrote. */
export const isResult = (data: unknown): boolean => results.has(data as object);

/** Records an operation that moves elements and changes none. Integers and booleans have no gradient. */
export function recordMove<T extends { readonly dtype: string }>(
  name: string,
  x: T,
  y: T,
  back: (d: T) => T,
): void {
  if (!activeRecording || !isFloat(x.dtype)) return;
  const backward = ([d]: readonly (T | undefined)[]) => [d && back(d)];
  markResults([x as never], [y as never]);
  activeRecording.recorder({ name, inputs: [x], outputs: [y], backward });
}

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

/** Records an operation that moves elements and changes none. Integers and booleans have no gradient. */
export function recordMove<T extends { readonly dtype: string }>(
  name: string,
  x: T,
  y: T,
  back: (d: T) => T,
): void {
  if (!activeRecording || !isFloat(x.dtype)) return;
  const backward = ([d]: readonly (T | undefined)[]) => [d && back(d)];
  activeRecording.recorder({ name, inputs: [x], outputs: [y], backward });
}

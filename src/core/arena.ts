/**
 * Where results are put. Usually each has an array of its own. Inside a scope (tidy.ts) they are put into room that is
 * used again when it ends: then their tensors are ended, and whoever reads one later gets an error, not other numbers.
 *
 * This is the hook only; what room there is, a backend knows.
 */
import { HeedError } from "./errors.ts";

/** Room for results. */
export interface Room {
  /** An array of any content, with room behind it for `behind` numbers more; undefined where there is no room left. */
  take(length: number, behind: number): Float32Array | undefined;
  /** Whether an array lies in this room. */
  holds(data: ArrayBufferView): boolean;
  /** All of it may be taken again. */
  reset(): void;
}

interface Scope {
  readonly room: Room;
  /** All tensors made in the scope. */
  readonly tensors: { readonly data: ArrayBufferView }[];
}

let scope: Scope | undefined;

/** An array for float32 results, of any content: the caller writes all of it, and up to `behind` numbers more where told so. */
export function resultArray(length: number, behind = 0): Float32Array {
  return scope?.room.take(length, behind) ?? new Float32Array(length);
}

/** An array of float32 zeros. */
export function zeroArray(length: number): Float32Array {
  return scope?.room.take(length, 0)?.fill(0) ?? new Float32Array(length);
}

/** True inside a scope. */
export const isScoped = (): boolean => scope !== undefined;

/** Hears of every new tensor. */
export function notice(tensor: { readonly data: ArrayBufferView }): void {
  scope?.tensors.push(tensor);
}

/** Runs `work`, with `room` for its results, and ends the tensors in it. */
export function scoped<T>(room: Room, work: () => T): T {
  const own: Scope = { room, tensors: [] };
  scope = own;
  try {
    return work();
  } finally {
    scope = undefined;
    for (const tensor of own.tensors)
      if (room.holds(tensor.data)) Object.defineProperty(tensor, "data", { get: ended });
    room.reset();
  }
}

function ended(): never {
  throw new HeedError(
    "ended",
    "this tensor was made inside tidy (a step of training is one) and ended with it; take what you need inside, toFloat64() is a copy",
  );
}

/**
 * Where results are allocated. Outside a scope every result has an array of its own. Inside a scope (tidy.ts) results come
 * from an arena, which is reset when the scope ends: its tensors are then disposed, and reading one throws.
 *
 * This file holds the interface only; a backend owns the memory.
 */
import { HeedError } from "./errors.ts";

/** Memory that holds the results of one scope. */
export interface Arena {
  /** An uninitialized array followed by `padding` writable elements; undefined where the arena is full. */
  allocate(length: number, padding: number): Float32Array | undefined;
  /** True for an array that this arena allocated. */
  owns(data: ArrayBufferView): boolean;
  /** Makes all of the arena available again. */
  reset(): void;
}

interface Scope {
  readonly arena: Arena;
  /** All tensors made in the scope. */
  readonly tensors: { readonly storage: object }[];
}

let scope: Scope | undefined;

/** An uninitialized float32 array. The caller writes every element; with `padding`, a kernel may write as many elements after the end. */
export function resultArray(length: number, padding = 0): Float32Array {
  return scope?.arena.allocate(length, padding) ?? new Float32Array(length);
}

/** An array of float32 zeros. */
export function zeroArray(length: number): Float32Array {
  return scope?.arena.allocate(length, 0)?.fill(0) ?? new Float32Array(length);
}

/** True inside a scope. */
export const isScoped = (): boolean => scope !== undefined;

/** Registers a new tensor with the scope, if there is one. */
export function trackTensor(tensor: { readonly storage: object }): void {
  scope?.tensors.push(tensor);
}

/** Runs `work` with its results in `arena`; disposes of them afterwards. */
export function withArena<T>(arena: Arena, work: () => T): T {
  const own: Scope = { arena, tensors: [] };
  scope = own;
  try {
    return work();
  } finally {
    scope = undefined;
    for (const tensor of own.tensors)
      if (ArrayBuffer.isView(tensor.storage) && arena.owns(tensor.storage))
        Object.defineProperty(tensor, "data", { get: throwDisposed });
    arena.reset();
  }
}

function throwDisposed(): never {
  throw new HeedError(
    "disposed",
    "this tensor was disposed when its tidy() scope ended; copy the values out inside the scope, for example with toFloat64()",
  );
}

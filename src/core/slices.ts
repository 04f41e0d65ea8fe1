/**
 * Long work in slices of some milliseconds. Between two slices the event loop runs, so that timers and input are handled, and an
 * `AbortSignal` ends the work.
 */
import { isScoped } from "./arena.ts";
import { isFunction, refuseGot, refuseValue, UnsupportedError } from "./errors.ts";
import { activeRecording } from "./recording/recording.ts";
import type { Pause } from "./synchronous.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Work in slices of bounded size: each `next` computes one and yields the share of the work that is done; the last one returns the
 * result. `return` ends the work early and frees its memory.
 * @beta
 */
export type WorkSlices<T> = Generator<number, T, void>;

/** Slices that also yield tensors of any device, and go on with their numbers. */
export type ReadingSlices<T> = Generator<number | Tensor, T, Float64Array>;

/** Options of work that is computed in slices. */
export interface SliceOptions {
  /** An `AbortSignal`, which ends the work: the promise is rejected with its `reason`, as that of `fetch` is. Default none. */
  signal?: {
    /** Throws the reason once the signal is aborted. */
    throwIfAborted(): void;
  };
  /** Called after each slice with the share of the work that is done, from 0 to 1. Default none. */
  onProgress?: (share: number) => void;
}

/** Names of the options. */
export const SLICE_OPTIONS: readonly (keyof SliceOptions)[] = ["signal", "onProgress"];

/** Computes slices, each in its own turn of the event loop. When the signal is aborted, ends the work and throws its reason. */
export async function runSlices<T>(
  begin: () => WorkSlices<T> | ReadingSlices<T>,
  { signal, onProgress }: SliceOptions,
): Promise<T> {
  let slices: WorkSlices<T> | ReadingSlices<T> | undefined;
  let numbers: Float64Array = new Float64Array(0);
  try {
    for (;;) {
      // In a later turn no scope is active, so that results are allocated outside of arenas.
      await nextTurn();
      signal?.throwIfAborted();
      slices ??= begin();
      const { done, value } = slices.next(numbers as never);
      if (done) return value;
      if (typeof value === "number") onProgress?.(value);
      else numbers = (await value.to("cpu")).toFloat64();
    }
  } finally {
    // Frees the memory of work that was not finished.
    slices?.return(undefined as never);
  }
}

/** Milliseconds after which long work lets the event loop run. */
const TURN = 20;

/** Pauses of work in parts: lets the event loop run where it has not for some milliseconds, and throws the reason of the signal. */
export function pauses(signal: SliceOptions["signal"], turn = TURN): Pause {
  let last = performance.now();
  return () => {
    if (performance.now() - last < turn) {
      signal?.throwIfAborted();
      return undefined;
    }
    return nextTurn().then(() => {
      last = performance.now();
      signal?.throwIfAborted();
    });
  };
}

/** Checks the options of slices, and that no scope is active that would end before the work does. */
export function checkSlices(what: string, { signal, onProgress }: SliceOptions): void {
  if (signal !== undefined && typeof signal?.throwIfAborted !== "function")
    refuseValue(what, "signal", "the signal of an AbortController", signal);
  if (onProgress !== undefined && !isFunction(onProgress))
    refuseGot("on-progress", `${what}: onProgress must be a function`, onProgress);
  if (isScoped() || activeRecording)
    throw new UnsupportedError(
      "synchronous",
      `${what}: not available inside ${activeRecording ? "a recording, which ends before the call does" : "tidy, which would free the result"}; call ${what.replace("Async", "")} there`,
    );
}

/** Resolves in a later turn of the event loop: by a message, which pages do not delay as they delay nested timers. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof MessageChannel === "undefined") {
      setTimeout(resolve, 0);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      // An open port would keep the process alive.
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

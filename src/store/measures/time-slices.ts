/** Slices of time of a long computation on one thread. */

/** Milliseconds of a time slice. */
const SLICE = 10;

/** Time slices of a computation: when one is over, `pause` lets the thread's other tasks run, so that a page stays responsive. */
export class TimeSlices {
  readonly #signal: AbortSignal | undefined;
  #end = Date.now() + SLICE;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** True if the slice is over and it is time to `pause`. */
  get over(): boolean {
    return Date.now() > this.#end;
  }

  /** Lets other tasks run and starts the next slice. Throws if the signal was aborted. */
  async pause(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    this.#signal?.throwIfAborted();
    this.#end = Date.now() + SLICE;
  }
}

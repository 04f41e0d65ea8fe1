/** The time limits of a job over MPI: of MPI_Init, which waits for all ranks, and of each operation. */
import { checkCode, type MpiBinding } from "./binding.ts";

/** Options of `openMpi`. */
export interface MpiOptions {
  /** Seconds after which an operation that has not ended ends the job; Infinity: never. */
  readonly timeout: number;
  /** Number of ranks that the launcher started, where it is known. */
  readonly expectedSize?: number;
}

/**
 * Calls `late` after `seconds` in which the event loop of this process ran. Time in which this rank computes does not count.
 * Returns a function that stops the timer.
 */
export function watch(seconds: number, late: () => void): () => void {
  if (seconds === Number.POSITIVE_INFINITY) return () => undefined;
  let waited = 0;
  const step = Math.min(1, seconds);
  const timer = setInterval(() => {
    waited += step;
    if (waited < seconds) return;
    clearInterval(timer);
    late();
  }, 1000 * step);
  return () => clearInterval(timer);
}

/** How the limit is set, for messages. */
export const TIMEOUT_HINT = "(HEED_MPI_TIMEOUT sets the limit in seconds, 0 for none)";

/**
 * Initializes MPI and returns the thread level. MPI_Init waits for all ranks. On a thread other than the main thread, Open MPI
 * 4.1 crashes at exit (measured), so it blocks this thread, and a watchdog thread ends the process after the timeout. The
 * launcher ends the job when a rank exits without MPI_Finalize.
 */
export function initialize(binding: MpiBinding, { timeout, expectedSize }: MpiOptions): number {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  // Not written inside `new Worker(…)`: bundlers would bundle a worker that only Node runs.
  const url = new URL("./watchdog.js", import.meta.url);
  const message = `heed/cluster: MPI_Init has not ended within ${timeout} s: a rank${expectedSize === undefined ? "" : ` of ${expectedSize}`} has not started ${TIMEOUT_HINT}\n`;
  const watchdog =
    timeout === Number.POSITIVE_INFINITY
      ? undefined
      : new Worker(url, { workerData: { seconds: timeout, message }, execArgv: [] });
  watchdog?.unref();
  try {
    const provided: [number] = [0];
    const { functions, constants } = binding;
    const code = functions.MPI_Init_thread(null, null, constants.threadMultiple, provided);
    checkCode(binding, "MPI_Init_thread", code);
    return provided[0];
  } finally {
    void watchdog?.terminate();
  }
}

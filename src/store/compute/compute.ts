/**
 * Long computations: on this thread in time slices (here), or in workers (`remote.ts`). Both have the interface `Compute` of `request.ts`.
 */
import { OptionError } from "../../core/errors.ts";
import type { Compute, RequestOptions } from "./request.ts";
import { type Kernel, plainKernel } from "./row-source.ts";
import { Runner } from "./scheduler.ts";
import { Subject } from "./subject.ts";
import { workOn } from "./work.ts";

/** Maximum number of heads whose sums and maps are cached. */
const MAX_SUBJECTS = 64;

/** A cache of heads with their sums and maps; the least recently used are evicted. */
class Subjects {
  private readonly subjects = new Map<string, Subject>();

  get(key: string): Subject | undefined {
    const subject = this.subjects.get(key);
    if (subject) {
      this.subjects.delete(key);
      this.subjects.set(key, subject);
    }
    return subject;
  }

  set(key: string, subject: Subject): void {
    this.subjects.set(key, subject);
    for (const oldest of this.subjects.keys()) {
      if (this.subjects.size <= MAX_SUBJECTS) break;
      this.subjects.delete(oldest);
    }
  }
}

/** Computes on this thread, in slices of 8 ms. */
export function localCompute(kernel: Kernel = plainKernel): Compute {
  const runner = new Runner();
  const subjects = new Subjects();
  let disposed = false;
  return {
    async answer({ key, request, data, places, urgency }, { onProgress, signal } = {}) {
      if (disposed) throw gone();
      signal?.throwIfAborted();
      let subject = subjects.get(key);
      if (!subject) {
        const loaded = await data();
        if (disposed) throw gone();
        signal?.throwIfAborted();
        subject = subjects.get(key) ?? new Subject(loaded, places());
        subjects.set(key, subject);
      }
      const { result, cancel } = runner.add({
        work: () => workOn(subject, request, kernel),
        urgency,
        onProgress: onProgress && paced(onProgress),
      });
      return stopping(result, cancel, signal);
    },
    reorder() {},
    dispose() {
      disposed = true;
      runner.stop(gone());
    },
  };
}

/** The error of requests to a disposed store. */
export function gone(): OptionError {
  return new OptionError("disposed", "HeadStore: the store has been disposed; open it again");
}

/** The result. Calls `cancel` with the signal's reason if the signal aborts first. */
export async function stopping<T>(
  result: Promise<T>,
  cancel: (reason: unknown) => void,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!signal) return result;
  const stop = () => cancel(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await result;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Minimum milliseconds between two progress reports. */
const PACE = 80;

/** A progress handler that calls `report` at most every 80 ms, and makes an overview only then. */
export function paced(
  report: NonNullable<RequestOptions["onProgress"]>,
): (progress: { readonly done: number; readonly overview?: () => Parameters<typeof report>[1] }) => void {
  let last = performance.now();
  return ({ done, overview }) => {
    const now = performance.now();
    if (now - last < PACE) return;
    last = now;
    report(done, overview?.());
  };
}

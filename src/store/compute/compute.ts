/**
 * Where long answers come from: this thread, in slices (here), or workers (`remote.ts`). A store asks either the same way.
 */
import { OptionError } from "../../core/errors.ts";
import type { Places } from "../measures/measures.ts";
import type { Asking } from "../types.ts";
import type { HeadData } from "./head.ts";
import { type Kernel, plainKernel } from "./row-source.ts";
import { Runner } from "./scheduler.ts";
import { type Answer, type Ask, Subject, workOn } from "./work.ts";

/** A head as a question names it. */
export interface Asked {
  /** Names the head; the same key is the same head. */
  readonly key: string;
  /** Its numbers, asked for when they are needed. */
  readonly data: () => HeadData | Promise<HeadData>;
  readonly places: Places;
  /** How urgent the question is now: lower comes first. */
  readonly urgency: () => number;
}

/** Answers questions about heads. */
export interface Compute {
  ask(head: Asked, ask: Ask, asking?: Asking): Promise<Answer>;
  /** Urgencies have changed. */
  reorder(): void;
  dispose(): void;
}

/** Heads whose sums and maps are kept. */
const KEPT = 64;

/** Heads under work, the latest used last; the oldest are forgotten. */
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

  set(key: string, subject: Subject, most = KEPT): void {
    this.subjects.set(key, subject);
    for (const oldest of this.subjects.keys()) {
      if (this.subjects.size <= most) break;
      this.subjects.delete(oldest);
    }
  }

  delete(key: string): void {
    this.subjects.delete(key);
  }
}

/** Computes on this thread, in slices of 8 ms, with the plain kernel or the one given. */
export function localCompute(kernel: Kernel = plainKernel): Compute {
  const runner = new Runner();
  const subjects = new Subjects();
  let disposed = false;
  return {
    async ask(head, ask, asking = {}) {
      if (disposed) throw gone();
      asking.signal?.throwIfAborted();
      let subject = subjects.get(head.key);
      if (!subject) {
        const data = await head.data();
        if (disposed) throw gone();
        asking.signal?.throwIfAborted();
        subject = subjects.get(head.key) ?? new Subject(data, head.places);
        subjects.set(head.key, subject);
      }
      const { onProgress, signal } = asking;
      const { result, cancel } = runner.add({
        work: () => workOn(subject, ask, kernel),
        urgency: head.urgency,
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

/** What questions to a store that is closed end with. */
export function gone(): OptionError {
  return new OptionError("disposed", "HeadStore: the store has been disposed; open it again");
}

/** The result, or the signal's reason where it is given up first. */
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

/** Milliseconds between two pictures of a pass under way. */
const PACE = 80;

/** Progress as a caller hears it: shares at once, pictures now and then. */
export function paced(
  tell: NonNullable<Asking["onProgress"]>,
): (progress: { readonly done: number; readonly overview?: () => Parameters<typeof tell>[1] }) => void {
  let last = performance.now();
  return ({ done, overview }) => {
    const now = performance.now();
    if (now - last < PACE) return;
    last = now;
    tell(done, overview?.());
  };
}

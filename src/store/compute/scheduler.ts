/**
 * Long jobs on one thread without blocking it: the most urgent job runs for a time slice of a few milliseconds, then the
 * thread handles frames, clicks and messages. Workers use the same runner; between slices they receive cancellations.
 */
import type { Work, WorkProgress } from "./work.ts";

/** A job of the runner. */
export interface RunnerJob<T> {
  readonly work: () => Work<T>;
  /** The priority: lower runs first. It is called before every step. */
  readonly urgency: () => number;
  readonly onProgress?: (progress: WorkProgress) => void;
}

interface Running<T> extends RunnerJob<T> {
  steps?: Work<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** Milliseconds of a time slice. */
const SLICE = 8;

/** Runs jobs, the most urgent first. */
export class Runner {
  private readonly jobs: Running<unknown>[] = [];
  private readonly slice: number;
  private channel: MessageChannel | undefined;
  private waiting = false;

  constructor(slice = SLICE) {
    this.slice = slice;
  }

  /** Adds a job. The promise is rejected with the reason of `cancel`, or with the error that the work throws. */
  add<T>(job: RunnerJob<T>): { readonly result: Promise<T>; cancel(reason: unknown): void } {
    let running!: Running<T>;
    const result = new Promise<T>((resolve, reject) => {
      running = { ...job, resolve, reject };
    });
    this.jobs.push(running as Running<unknown>);
    this.wake();
    return {
      result,
      cancel: (reason) => {
        if (this.remove(running as Running<unknown>)) running.reject(reason);
      },
    };
  }

  /** Rejects all jobs. */
  stop(reason: unknown): void {
    for (const job of this.jobs.splice(0)) job.reject(reason);
    this.sleep();
  }

  private remove(job: Running<unknown>): boolean {
    const at = this.jobs.indexOf(job);
    if (at >= 0) this.jobs.splice(at, 1);
    return at >= 0;
  }

  /** Schedules a slice after the thread's other tasks. A message arrives sooner than a timer. */
  private wake(): void {
    if (this.waiting) return;
    this.waiting = true;
    if (!this.channel) {
      this.channel = new MessageChannel();
      this.channel.port1.onmessage = () => {
        this.waiting = false;
        this.run();
      };
    }
    this.channel.port2.postMessage(0);
  }

  /** Closes the channel: an open one would keep the process alive. */
  private sleep(): void {
    this.channel?.port1.close();
    this.channel = undefined;
    this.waiting = false;
  }

  private run(): void {
    const end = performance.now() + this.slice;
    do {
      const job = this.next();
      if (!job) break;
      try {
        job.steps ??= job.work();
        const step = job.steps.next();
        if (step.done) {
          this.remove(job);
          job.resolve(step.value);
        } else job.onProgress?.(step.value);
      } catch (error) {
        this.remove(job);
        job.reject(error);
      }
    } while (performance.now() < end);
    if (this.jobs.length > 0) this.wake();
    else this.sleep();
  }

  /** The most urgent job; of equals, the oldest. */
  private next(): Running<unknown> | undefined {
    let [best, least] = [undefined as Running<unknown> | undefined, Infinity];
    for (const job of this.jobs) {
      const urgency = job.urgency();
      if (best === undefined || urgency < least) [best, least] = [job, urgency];
    }
    return best;
  }
}

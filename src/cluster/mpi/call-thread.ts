/**
 * A worker thread that answers numbered calls. It starts with the first call, and keeps the process alive only while a call is
 * pending.
 */

/** Called when a call has ended: an error or null, and the code that the C function returned. */
export type CallEnd = (error: unknown, code: number) => void;

/** What a worker sends when the call `id` has ended. */
interface Answer {
  readonly id: number;
  readonly code?: number;
  readonly error?: string;
}

/** The part of a worker that is used. */
interface Thread {
  on(event: string, listener: (value: never) => void): void;
  postMessage(value: unknown): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<number>;
}

/** Calls of type C to one worker. */
export class CallThread<C extends { readonly id: number }> {
  readonly #url: URL;
  readonly #workerData: unknown;
  readonly #pending = new Map<number, CallEnd>();
  #thread: Thread | undefined;
  #count = 0;

  /** @param url the worker's file. It must not be written inside `new Worker(…)`: bundlers would bundle a worker for Node. */
  constructor(url: URL, workerData: unknown) {
    this.#url = url;
    this.#workerData = workerData;
  }

  /** Sends a call; `done` gets its result. */
  call(message: Omit<C, "id">, done: CallEnd): void {
    this.#thread ??= this.#start();
    const id = this.#count++;
    this.#pending.set(id, done);
    this.#thread.ref();
    this.#thread.postMessage({ ...message, id });
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #start(): Thread {
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const thread = new Worker(this.#url, {
      workerData: this.#workerData,
      execArgv: process.execArgv.filter((flag) => /ffi/.test(flag)),
    }) as unknown as Thread;
    thread.on("message", (({ id, code = 0, error }: Answer) =>
      this.#settle(id, error === undefined ? null : new Error(error), code)) as (value: never) => void);
    thread.on("error", ((error: unknown) => {
      for (const id of [...this.#pending.keys()]) this.#settle(id, error, 0);
    }) as (value: never) => void);
    return thread;
  }

  #settle(id: number, error: unknown, code: number): void {
    const done = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#thread?.unref();
    done?.(error, code);
  }
}

/**
 * Large exchanges of an MPI rank, moved by a thread of their own (`transfer-worker.js`), which is started with the first one.
 * This thread sends it addresses; the caller keeps the arrays reachable until the transfer has ended.
 */
import type { MpiBinding } from "./binding.ts";
import type { Parameter } from "./foreign.ts";

/** What the thread needs to call MPI. */
export interface TransferSetup {
  readonly ffi: string;
  readonly path: string;
  readonly handle: Parameter;
  readonly world: number | bigint;
  readonly byte: number | bigint;
  readonly requestBytes: number;
}

/** One direction of a transfer: bytes at an address, from or to a rank. */
interface Direction {
  readonly at: bigint;
  readonly length: number;
  readonly peer: number;
}

/** A transfer in both directions. */
export interface Transfer {
  readonly id: number;
  readonly tag: number;
  readonly sending: Direction;
  readonly receiving: Direction;
  /** Where the receive's MPI_Status goes, in shared memory. */
  readonly status: Uint8Array;
}

/** What the thread answers: the first MPI code that is not 0, or what it threw. */
interface Answer {
  readonly id: number;
  readonly code: number;
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

/** Called when a transfer has ended, as a foreign function's `async` does. */
type Done = (error: unknown, code: number) => void;

/** The thread that moves large messages. */
export class Transfers {
  readonly #binding: MpiBinding;
  readonly #waiting = new Map<number, Done>();
  #thread: Thread | undefined;
  #count = 0;

  constructor(binding: MpiBinding) {
    this.#binding = binding;
  }

  /** Sends `out` to one rank while `into` is filled by another; `status` is in shared memory. */
  start(
    out: Uint8Array,
    to: number,
    into: Uint8Array,
    from: number,
    tag: number,
    status: Uint8Array,
    done: Done,
  ): void {
    this.#thread ??= this.#open();
    const id = this.#count++;
    this.#waiting.set(id, done);
    // The thread keeps the process alive only while a transfer runs.
    this.#thread.ref();
    const { addressOf } = this.#binding;
    this.#thread.postMessage({
      id,
      tag,
      status,
      sending: { at: addressOf(out), length: out.length, peer: to },
      receiving: { at: addressOf(into), length: into.length, peer: from },
    } satisfies Transfer);
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #open(): Thread {
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const { ffi, library, handle, constants, requestBytes } = this.#binding;
    const { world, byte } = constants;
    // Not written inside `new Worker(…)`: bundlers would bundle a worker that only Node runs.
    const url = new URL("./transfer-worker.js", import.meta.url);
    const thread = new Worker(url, {
      workerData: { ffi, path: library, handle, world, byte, requestBytes } satisfies TransferSetup,
      execArgv: process.execArgv.filter((flag) => /ffi/.test(flag)),
    }) as unknown as Thread;
    thread.on("message", (({ id, code, error }: Answer) =>
      this.#settle(id, error === undefined ? null : new Error(error), code)) as (value: never) => void);
    thread.on("error", ((error: unknown) => {
      for (const id of [...this.#waiting.keys()]) this.#settle(id, error, 0);
    }) as (value: never) => void);
    return thread;
  }

  #settle(id: number, error: unknown, code: number): void {
    const done = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#thread?.unref();
    done?.(error, code);
  }
}

/**
 * Large exchanges of an MPI rank, on a transfer thread (`transfer-worker.js`) that starts with the first exchange. This thread
 * sends it addresses; the caller keeps the arrays reachable until the transfer has ended.
 */
import type { MpiBinding } from "./binding.ts";
import { type CallEnd, CallThread } from "./call-thread.ts";
import type { Parameter } from "./foreign.ts";

/** The data with which the thread starts. */
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
export interface Exchange {
  readonly id: number;
  readonly tag: number;
  readonly sending: Direction;
  readonly receiving: Direction;
  /** Where the receive's MPI_Status goes, in shared memory. */
  readonly status: Uint8Array;
}

/** The thread that transfers large messages. */
export class Transfers {
  readonly #addressOf: MpiBinding["addressOf"];
  readonly #thread: CallThread<Exchange>;

  constructor({ addressOf, ffi, library, handle, constants, requestBytes }: MpiBinding) {
    const { world, byte } = constants;
    const setup: TransferSetup = { ffi, path: library, handle, world, byte, requestBytes };
    this.#addressOf = addressOf;
    this.#thread = new CallThread(new URL("./transfer-worker.js", import.meta.url), setup);
  }

  /** Sends `out` to one rank while `into` is filled by another; `status` is in shared memory. */
  start(
    out: Uint8Array,
    to: number,
    into: Uint8Array,
    from: number,
    tag: number,
    status: Uint8Array,
    done: CallEnd,
  ): void {
    const sending = { at: this.#addressOf(out), length: out.length, peer: to };
    const receiving = { at: this.#addressOf(into), length: into.length, peer: from };
    this.#thread.call({ tag, status, sending, receiving }, done);
  }

  /** Ends the thread. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

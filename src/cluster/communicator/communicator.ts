/**
 * The contract of a cluster engine: seven operations over ranks. Two implementations: `mpi.ts` (processes, over MPI) and
 * `local.ts` (ranks inside one process, for tests and for learning); `group.ts` has the groups that `split` makes of either. The rest of this folder uses only these operations.
 */

import { checkInteger, checkMethods, OptionError, refuseGot, refuseValue } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";

/**
 * A group of ranks that compute together. Every rank calls the same operations in the same order; an operation ends when
 * its data has arrived. Those of a rank run one after the other, in the order of their calls: it need not await one before the next,
 * except `split`. Arrays are used in place until the promise settles: do not write to `send` or read `into` before.
 * Arrays must not be views of a WebAssembly memory that may grow.
 * @beta
 */
export interface Communicator {
  /** Number of this rank, 0 … size − 1. */
  readonly rank: number;
  /** Number of ranks. */
  readonly size: number;
  /** The transport: `mpi` or `local`, and the library. */
  readonly engine: string;
  /** Messages and bytes that this rank has sent. */
  readonly sent: Traffic;
  /**
   * Sends `send` to rank `to` while receiving `into` from rank `from`; `undefined` for either means none. The two arrays
   * may differ in length, but `into` must be exactly as long as what `from` sends. Starts at once, so that computing and
   * then awaiting overlaps the two.
   */
  exchange(
    to: number | undefined,
    send: ArrayBufferView,
    from: number | undefined,
    into: ArrayBufferView,
  ): Promise<void>;
  /**
   * Collects every rank's `mine` in `into`, rank after rank. `bytes` gives the length of each rank's part where they differ;
   * by default all are as long as `mine`.
   */
  allGather(mine: ArrayBufferView, into: ArrayBufferView, bytes?: readonly number[]): Promise<void>;
  /**
   * Replaces `sum` on every rank with the sum over ranks. `"fixed"` (default) adds in the order of a binary tree over ranks,
   * the same on every run; `"fast"` leaves the order to the engine.
   */
  reduce(sum: Float32Array | Float64Array, order?: "fixed" | "fast"): Promise<void>;
  /** Ends when every rank has called it. */
  barrier(): Promise<void>;
  /**
   * A communicator of all ranks with the same `color`, an integer ≥ 0, numbered in the order of their keys (default: of their ranks
   * here). Every rank calls it. Await an operation of a group before the next one of this communicator, and the reverse. In a group
   * `"fast"` is `"fixed"`, as with `check`, and `close()` is a barrier.
   *
   * @example
   * // 4 ranks, 2 for each sequence: rows of the grid share a sequence, columns their gradients
   * const context = await comm.split(Math.floor(comm.rank / 2));
   * const data = await comm.split(comm.rank % 2);
   * @throws on every rank where a color or a key is not an integer
   */
  split(color: number, key?: number): Promise<Communicator>;
  /** Ends the job on every rank with this exit status. Does not return. */
  abort(code: number): never;
  /** Leaves the cluster; every rank calls it as its last operation. */
  close(): Promise<void>;
}

/** The messages of a rank: of these the other operations can consist. */
export type Messages = Pick<Communicator, "rank" | "size" | "exchange">;

/** The calls of a communicator refuse arguments beyond these numbers. */
export function checkCounts(comm: Communicator): void {
  const maxima = { exchange: 4, allGather: 3, reduce: 2, barrier: 0, split: 2, abort: 1, close: 0 };
  checkMethods("Communicator", comm, maxima);
}

/** The traffic that a rank has sent. @beta */
export interface Traffic {
  messages: number;
  bytes: number;
}

/** The bytes of a view, no copy. */
export const bytesOf = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** Nothing to send or to receive. */
export const NOTHING: Uint8Array = new Uint8Array(0);

/** Refuses an argument that is not a communicator, before any message. */
export function checkCommunicator(what: string, comm: unknown): void {
  const { rank, size, exchange, allGather, reduce } = (comm ?? {}) as Partial<Communicator>;
  const isInteger = Number.isInteger(rank) && Number.isInteger(size);
  if (isInteger && [exchange, allGather, reduce].every((f) => typeof f === "function")) return;
  refuseValue(what, "comm", "what joinCluster or localCluster gives", comm);
}

/** Refuses what is not a view of bytes: an engine would send nothing. */
function checkViews(operation: string, rank: number, views: Readonly<Record<string, unknown>>): void {
  for (const [name, view] of Object.entries(views))
    if (!ArrayBuffer.isView(view))
      refuseGot("array", `${operation}: ${name} must be a typed array or a DataView`, view, {
        rank,
        got: view,
      });
}

/** Refuses a status of `abort` that is no integer. */
export const checkStatus = (code: unknown): void =>
  checkInteger("Communicator.abort", "code", code, -(2 ** 31), 2 ** 31 - 1);

/** Refuses a `check` that is not a boolean. */
export function checkFlag(what: string, check: unknown): void {
  if (check !== undefined && typeof check !== "boolean") refuseValue(what, "check", "true or false", check);
}

/** Checks the arguments of a sum over ranks. */
export function checkReduce(rank: number, sum: unknown, order: unknown): void {
  if (!(sum instanceof Float32Array || sum instanceof Float64Array))
    refuseGot("array", "reduce: sum must be a Float32Array or a Float64Array", sum, { rank, got: sum });
  if (order !== "fixed" && order !== "fast")
    refuseGot("order", 'reduce: order must be "fixed" or "fast"', order, { rank, got: order });
}

/** Checks the arguments of an exchange. */
export function checkExchange(
  comm: { readonly rank: number; readonly size: number },
  to: number | undefined,
  send: ArrayBufferView,
  from: number | undefined,
  into: ArrayBufferView,
): void {
  checkViews("exchange", comm.rank, { send, into });
  for (const [name, peer] of [
    ["to", to],
    ["from", from],
  ] as const)
    if (peer !== undefined && !(Number.isInteger(peer) && peer >= 0 && peer < comm.size))
      refuseGot("rank", `exchange: ${name} must be a rank from 0 to ${comm.size - 1}`, peer, {
        rank: comm.rank,
        got: peer,
      });
}

/** `allGather` as a ring of exchanges: each step passes on the part that arrived in the step before. */
export async function gatherInRing(
  { rank, size, exchange }: Messages,
  mine: ArrayBufferView,
  into: ArrayBufferView,
  bytes: readonly number[],
): Promise<void> {
  const target = bytesOf(into);
  const starts = startsOf(bytes);
  const part = (r: number) => target.subarray(starts[r], starts[r] + bytes[r]);
  part(rank).set(bytesOf(mine));
  for (let step = 0; step < size - 1; step++)
    await exchange(
      (rank + 1) % size,
      part((rank - step + size) % size),
      (rank - 1 + size) % size,
      part((rank - step - 1 + size) % size),
    );
}

/** The first byte of each part of a gather. */
export function startsOf(bytes: readonly number[]): number[] {
  let end = 0;
  return bytes.map((n) => (end += n) - n);
}

/** The length of each rank's part of a gather, checked against the arrays. */
export function partBytes(
  comm: { readonly rank: number; readonly size: number },
  mine: ArrayBufferView,
  into: ArrayBufferView,
  bytes: readonly number[] | undefined,
): readonly number[] {
  checkViews("allGather", comm.rank, { mine, into });
  if (bytes !== undefined) checkKind("allGather", "bytes", "a list of integers ≥ 0", bytes);
  const parts = bytes ?? new Array<number>(comm.size).fill(mine.byteLength);
  const total = parts.reduce((sum, n) => sum + n, 0);
  if (parts.length !== comm.size || parts[comm.rank] !== mine.byteLength || total !== into.byteLength)
    throw new OptionError(
      "gather-bytes",
      `allGather: rank ${comm.rank} of ${comm.size} has ${mine.byteLength} bytes and a buffer of ${into.byteLength}, but the parts are ${parts.join(" + ")} = ${total} bytes`,
      { rank: comm.rank, bytes: parts },
    );
  return parts;
}

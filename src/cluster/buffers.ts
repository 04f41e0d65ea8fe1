/**
 * Buffers of messages that a communicator keeps for its next call: without them, a backward pass over 8192 positions leaves
 * some 20 MB to the garbage collector, which then takes about 5 % of the pass (measured).
 */
import type { Communicator } from "./communicator.ts";

/** Free buffers of each communicator. */
const FREE = new WeakMap<Communicator, Uint8Array<ArrayBuffer>[]>();
/** Bytes of the largest buffer that is kept: beside a larger message its allocation counts for nothing. */
const LARGEST = 2 ** 25;
/** Buffers that are kept. */
const COUNT = 6;

/** A buffer for a message. Its bytes are undefined: they are those of an earlier message. */
export function takeBuffer(comm: Communicator, bytes: number): Uint8Array<ArrayBuffer> {
  const free = FREE.get(comm) ?? [];
  // The smallest that is large enough, and not more than twice as large.
  const at = free.findIndex(({ length }) => length >= bytes && length <= 2 * bytes);
  return at < 0 ? new Uint8Array(bytes) : free.splice(at, 1)[0].subarray(0, bytes);
}

/** Returns a buffer that nothing reads any more. */
export function giveBuffer(comm: Communicator, { buffer }: Uint8Array<ArrayBuffer>): void {
  if (buffer.byteLength === 0 || buffer.byteLength > LARGEST) return;
  const free = FREE.get(comm) ?? [];
  FREE.set(comm, free);
  free.push(new Uint8Array(buffer));
  free.sort((a, b) => a.length - b.length);
  if (free.length > COUNT) free.shift();
}

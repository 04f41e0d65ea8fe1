/**
 * The thread that transfers large messages of a rank while the main thread computes. A blocking MPI call waits by polling, which
 * takes a core from the compute threads. This thread starts a transfer and polls it (MPI_Test) itself: continuously while a message
 * arrives, and with sleeps in between while it waits for another rank. How long a poll takes does not tell these apart: Open MPI's idle
 * polls take 2 µs on a free machine and 5 on a full one.
 *
 * A message is received once its length is known (MPI_Improbe): Open MPI 4.1 may write all of a message that is longer than its
 * buffer, past the end (measured). One of another length goes to an array of its own; the caller sees the length in the status.
 */
import { parentPort, workerData } from "node:worker_threads";
import { loadForeign } from "./koffi.ts";

/** Milliseconds without an arriving message after which the thread sleeps between polls. */
const IDLE = 0.1;
/** Milliseconds of sleep. A link of 10 Gbit/s transfers 125 kB in that time, and a socket buffer holds more. */
const SLEEP = 0.1;

/** @type {import("./transfers.ts").TransferSetup} */
const { ffi, path, handle, world, byte, requestBytes } = workerData;
const library = (await loadForeign(ffi)).load(path);
const send = library.func("MPI_Isend", ["address", "int", handle, "int", "int", handle, "pointer"]);
const probe = library.func("MPI_Improbe", ["int", "int", handle, "int-out", "pointer", "pointer"]);
const count = library.func("MPI_Get_count", ["pointer", handle, "int-out"]);
const receive = library.func("MPI_Imrecv", ["pointer", "int", handle, "pointer", "pointer"]);
const test = library.func("MPI_Test", ["pointer", "int-out", "pointer"]);
const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * One direction of a transfer: a function that polls it, and returns MPI's code, or undefined while it runs.
 * @param {Uint8Array} request
 */
function polled(request) {
  const status = new Uint8Array(64);
  /** @type {[number]} */
  const ended = [0];
  return () => {
    const code = test(request, ended, status);
    return code !== 0 || ended[0] !== 0 ? code : undefined;
  };
}

/** @param {import("./transfers.ts").Exchange} transfer */
function sendOf({ sending: { at, length, peer }, tag }) {
  const request = new Uint8Array(requestBytes);
  const code = send(at, length, byte, peer, tag, world, request);
  return code === 0 ? polled(request) : () => code;
}

/** @param {import("./transfers.ts").Exchange} transfer @param {{ arrives: boolean }} now whether a message arrives */
function receiptOf({ receiving: { at, length, peer }, tag, status }, now) {
  const [message, request] = [new Uint8Array(requestBytes), new Uint8Array(requestBytes)];
  /** @type {[number]} */
  const isThere = [0];
  /** @type {[number]} */
  const bytes = [0];
  /** @type {(() => number | undefined) | undefined} */
  let rest;
  /** @type {Uint8Array | undefined} */
  let other;
  return () => {
    if (!rest) {
      const failed =
        probe(peer, tag, world, isThere, message, status) || (isThere[0] && count(status, byte, bytes));
      if (failed || isThere[0] === 0) return failed || undefined;
      if (bytes[0] !== length) other = new Uint8Array(bytes[0]);
      const code = receive(other ?? at, bytes[0], byte, message, request);
      rest = code === 0 ? polled(request) : () => code;
    }
    const ended = rest();
    now.arrives = ended === undefined;
    return ended;
  };
}

parentPort?.on("message", (/** @type {import("./transfers.ts").Exchange} */ transfer) => {
  const { id } = transfer;
  try {
    const now = { arrives: false };
    const polls = [sendOf(transfer), receiptOf(transfer, now)];
    let code = 0;
    const began = performance.now();
    while (polls.length > 0) {
      // The receipt and the send in turn: each may wait for the other one's peer.
      const poll = /** @type {() => number | undefined} */ (polls.shift());
      const result = poll();
      if (result === undefined) polls.push(poll);
      else code ||= result;
      if (!now.arrives && performance.now() - began > IDLE) Atomics.wait(never, 0, 0, SLEEP);
    }
    parentPort?.postMessage({ id, code });
  } catch (error) {
    parentPort?.postMessage({ id, code: 0, error: String(error) });
  }
});

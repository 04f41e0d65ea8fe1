/**
 * A thread that moves the large messages of a rank while the main thread computes. A blocking MPI call does that too, but MPI
 * waits by polling, so it takes a core from the threads that compute. This thread starts a transfer (MPI_Irecv and MPI_Isend)
 * and polls it (MPI_Test) itself: without a break while data moves, and sleeping in between while nothing moves.
 */
import { parentPort, workerData } from "node:worker_threads";
import { loadForeign } from "./foreign.ts";

/**
 * A poll that takes between these, in milliseconds, has moved data. One that has nothing to do takes 1 to 2 µs, and one that
 * gave its core to another process (`mpi_yield_when_idle` of Open MPI) comes back after that process's turn of some ms.
 */
const [MOVED, YIELDED] = [0.005, 0.5];
/** Milliseconds of polls that move nothing, after which the thread sleeps between two polls. */
const IDLE = 0.1;
/** Milliseconds of sleep. A link of 10 Gbit/s fills 125 kB in that time, and a socket holds more. */
const SLEEP = 0.1;

/** @type {import("./transfers.ts").TransferSetup} */
const { ffi, path, handle, world, byte, requestBytes } = workerData;
const library = (await loadForeign(ffi)).load(path);
const start = /** @type {const} */ (["address", "int", handle, "int", "int", handle, "pointer"]);
const [receive, send] = [library.func("MPI_Irecv", start), library.func("MPI_Isend", start)];
const test = library.func("MPI_Test", ["pointer", "int-out", "pointer"]);
const never = new Int32Array(new SharedArrayBuffer(4));

parentPort?.on("message", (/** @type {import("./transfers.ts").Transfer} */ transfer) => {
  const { id, tag, sending, receiving } = transfer;
  try {
    /** Requests that have not ended. */
    const running = [];
    let code = 0;
    for (const [call, { at, length, peer }, status] of [
      /** @type {const} */ ([receive, receiving, transfer.status]),
      /** @type {const} */ ([send, sending, new Uint8Array(transfer.status.length)]),
    ]) {
      const request = new Uint8Array(requestBytes);
      const failed = call(at, length, byte, peer, tag, world, request);
      if (failed === 0) running.push({ request, status });
      code ||= failed;
    }
    let moved = performance.now();
    /** @type {[number]} */
    const ended = [0];
    while (running.length > 0) {
      const { request, status } = running[0];
      const began = performance.now();
      const failed = test(request, ended, status);
      const now = performance.now();
      code ||= failed;
      if (failed !== 0 || ended[0] !== 0) running.shift();
      else if (now - began > MOVED && now - began < YIELDED) moved = now;
      else if (now - moved > IDLE) Atomics.wait(never, 0, 0, SLEEP);
    }
    parentPort?.postMessage({ id, code });
  } catch (error) {
    parentPort?.postMessage({ id, code: 0, error: String(error) });
  }
});

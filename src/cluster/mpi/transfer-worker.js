/**
 * The thread that transfers large messages of a rank while the main thread computes. A blocking MPI call waits by polling, which
 * takes a core from the compute threads. This thread starts a transfer (MPI_Irecv and MPI_Isend) and polls it (MPI_Test) itself:
 * continuously while data moves, and with sleeps in between while nothing moves.
 */
import { parentPort, workerData } from "node:worker_threads";
import { loadForeign } from "./koffi.ts";

/**
 * A poll whose duration in milliseconds is between these has moved data. An idle poll takes 1 to 2 µs. A poll that yielded its
 * core to another process (`mpi_yield_when_idle` of Open MPI) returns after some ms.
 */
const [MOVED, YIELDED] = [0.005, 0.5];
/** Milliseconds without data after which the thread sleeps between polls. */
const IDLE = 0.1;
/** Milliseconds of sleep. A link of 10 Gbit/s transfers 125 kB in that time, and a socket buffer holds more. */
const SLEEP = 0.1;

/** @type {import("./transfers.ts").TransferSetup} */
const { ffi, path, handle, world, byte, requestBytes } = workerData;
const library = (await loadForeign(ffi)).load(path);
const start = /** @type {const} */ (["address", "int", handle, "int", "int", handle, "pointer"]);
const [receive, send] = [library.func("MPI_Irecv", start), library.func("MPI_Isend", start)];
const test = library.func("MPI_Test", ["pointer", "int-out", "pointer"]);
const never = new Int32Array(new SharedArrayBuffer(4));

parentPort?.on("message", (/** @type {import("./transfers.ts").Exchange} */ transfer) => {
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

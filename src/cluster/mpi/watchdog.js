/**
 * A thread that ends this process if the main thread stays in one C call for too long: it starts with a timeout in seconds and
 * a message, and mpi.ts terminates it when the call returns. The main thread cannot answer during the call.
 */
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";

setTimeout(() => {
  writeSync(2, workerData.message);
  // Not process.exit, which waits for the main thread.
  process.kill(process.pid, "SIGKILL");
}, 1000 * workerData.seconds);

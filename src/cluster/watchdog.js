/**
 * A thread that ends this process where the main thread stays in one C call for too long: started with the seconds and the
 * message, terminated by mpi.ts when the call returns. It needs nothing of the main thread, which cannot answer.
 */
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";

setTimeout(() => {
  writeSync(2, workerData.message);
  // Not process.exit, which waits for the main thread.
  process.kill(process.pid, "SIGKILL");
}, 1000 * workerData.seconds);

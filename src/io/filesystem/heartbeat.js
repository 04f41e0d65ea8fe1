/**
 * A thread that renews the modification time of a lock file while it holds the same text, also while the main thread computes.
 * lock.ts starts it.
 */
import { readFileSync, utimesSync } from "node:fs";
import { workerData } from "node:worker_threads";

const { path, text, interval } = workerData;
const timer = setInterval(() => {
  try {
    if (readFileSync(path, "utf8") !== text) return clearInterval(timer);
    utimesSync(path, new Date(), new Date());
  } catch {
    // The file cannot be reached now; the next turn tries again.
  }
}, interval);

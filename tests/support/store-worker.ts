/** A worker thread that serves a store: the script of `src/store/compute/remote.test.ts`. */
import { parentPort } from "node:worker_threads";
import { serveStore } from "../../src/store/compute/serve.ts";

// A page's worker is its own port; here one end of a channel comes as the first message.
parentPort?.once("message", (port: MessagePort) => serveStore(port));

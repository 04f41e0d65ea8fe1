/** A worker thread that serves a store: the script of `src/store/compute/remote.test.ts`. */
import { parentPort } from "node:worker_threads";
import { serveStore } from "../../../../src/store/compute/serve.ts";

// A page's worker is a port itself; here the first message has one end of a channel.
parentPort?.once("message", (port: MessagePort) => serveStore(port));

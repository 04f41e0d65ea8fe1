/** A worker of the explorer: computes for a store. */
import type { Port } from "../../src/store/compute/messages.ts";
import { serveStore } from "../../src/store/compute/serve.ts";

serveStore(globalThis as unknown as Port);

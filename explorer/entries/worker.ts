/** A worker of the explorer: serves a store with what is computed about its heads. */
import type { Port } from "../../src/store/compute/messages.ts";
import { serveStore } from "../../src/store/compute/serve.ts";

serveStore(globalThis as unknown as Port);

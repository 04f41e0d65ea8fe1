/** A worker of the explorer: serves a store with what is computed about its heads. */
import type { Port } from "../src/view/store/messages.ts";
import { serveStore } from "../src/view/store/serve.ts";

serveStore(globalThis as unknown as Port);

/** A worker of the explorer: computes for a store, on the GPU where the page asks for it. */
import type { Port } from "../../src/store/compute/messages.ts";
import { serveStore } from "../../src/store/compute/serve.ts";

serveStore(globalThis as unknown as Port, { device: async (tell) => (await import("./gpu.ts")).gpuOf(tell) });

/**
 * The module of <attention-view> for packages and bundlers. It defines the elements; their parts are separate files in
 * dist/attention-view/ and are loaded when they are needed. single-file.ts is the same in one file.
 */
import type { Port } from "../../src/store/compute/messages.ts";
import { provide } from "../app/workers.ts";

provide({
  worker: () => {
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    worker.postMessage({ type: "gpu-module", address: new URL("./gpu.js", import.meta.url).href });
    return worker as unknown as Port;
  },
  module: async () => (await fetch(new URL("../attention-view.js", import.meta.url))).text(),
});

export { AttentionRow, AttentionView } from "./define.ts";

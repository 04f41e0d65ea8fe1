/**
 * The module of <attention-view> for packages and bundlers. It defines the elements; their parts are separate files in
 * dist/attention-view/ and are loaded when they are needed. single-file.ts is the same in one file.
 */
import type { Port } from "../../src/store/compute/messages.ts";
import { provide } from "../app/workers.ts";

provide({
  worker: () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }) as unknown as Port,
  module: async () => (await fetch(new URL("../attention-view.js", import.meta.url))).text(),
});

export { AttentionRow, AttentionView } from "./define.ts";

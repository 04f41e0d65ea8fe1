/**
 * The module of <attention-view> as packages and bundlers have it: defines the element, and loads what it shows when it is
 * shown. Its parts are in the folder beside it (dist/attention-view/); whole.ts is the same in one file.
 */
import type { Port } from "../../src/store/compute/messages.ts";
import { provide } from "../app/workers.ts";

provide({
  worker: () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }) as unknown as Port,
  module: async () => (await fetch(new URL("../attention-view.js", import.meta.url))).text(),
});

export { AttentionRow, AttentionView } from "./define.ts";

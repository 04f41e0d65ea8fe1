/** The worker: replies with the numbers of a page. The code of a page is loaded with its first request. */
import { messageOf } from "../../../src/core/errors.ts";
import { configure } from "../../../src/index.ts";
import { COMPUTATIONS } from "../../computations.ts";
import type { ComputeReply, ComputeRequest } from "./messages.ts";

/** A message port: a worker's global scope, or one end of a channel. */
export interface Port {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
}

/** What browsers say of a script that import() could not load. */
const UNLOADED = /imported module|Importing a module/;

/** Answers every request on `port`. */
export function serveComputations(port: Port): void {
  // One thread: more threads need a looser content policy, and these problems are small.
  configure({ threads: 1, onWarning: () => {} });
  port.addEventListener("message", async ({ data }) => {
    const { id, page, state } = data as ComputeRequest;
    const reply = (message: Omit<ComputeReply, "id">) => port.postMessage({ id, ...message });
    try {
      const { compute } = await COMPUTATIONS[page]();
      reply({ numbers: await compute(state, (numbers, progress) => reply({ numbers, progress })) });
    } catch (error) {
      const message = messageOf(error);
      reply({ error: message, unloaded: UNLOADED.test(message) });
    }
  });
}

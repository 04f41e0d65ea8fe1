/** The worker: replies with the numbers of a page. The code of a page is loaded with its first request. */
import { messageOf } from "../../../src/core/errors.ts";
import { configure } from "../../../src/index.ts";
import type { Port } from "../../../src/store/compute/messages.ts";
import type { ComputeReply, ComputeRequest, PageComputation } from "./messages.ts";

/** What browsers say of a script that import() could not load. */
const UNLOADED = /imported module|Importing a module/;

/** Answers every request on `port`. */
export function serveComputations(port: Port): void {
  // One thread: more threads need a looser content policy, and these problems are small.
  configure({ threads: 1, onWarning: () => {} });
  let lastId = 0;
  port.addEventListener("message", async ({ data }) => {
    const { id, page, state } = data as ComputeRequest;
    lastId = id;
    const reply = (message: Omit<ComputeReply, "id">) => port.postMessage({ id, ...message });
    try {
      const { compute, prepare }: PageComputation = await import(`../../${page}/compute.ts`);
      reply({ numbers: await compute(state, (numbers, progress) => reply({ numbers, progress })) });
      for (const _ of prepare?.(state) ?? []) {
        // A request that has arrived is answered between two steps.
        await new Promise((resolve) => setTimeout(resolve));
        if (lastId !== id) break;
      }
    } catch (error) {
      const message = messageOf(error);
      reply({ error: message, unloaded: UNLOADED.test(message) });
    }
  });
}

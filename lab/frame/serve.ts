/** The worker's side: answers with a page's numbers. What a page computes is loaded when it is first asked for. */
import { configure } from "../../src/index.ts";
import { COMPUTATIONS } from "../computations.ts";
import type { Answer, Ask } from "./messages.ts";

/** A place to speak: a worker's global scope, or one end of a channel. */
export interface Port {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
}

/** Answers every request on `port`. */
export function serveComputations(port: Port): void {
  // Threads of their own would cost more than they save at these sizes, and need another policy.
  configure({ threads: 1, onWarning: () => {} });
  port.addEventListener("message", async ({ data }) => {
    const { id, page, state } = data as Ask;
    const say = (answer: Omit<Answer, "id">) => port.postMessage({ id, ...answer });
    try {
      const { compute } = await COMPUTATIONS[page]();
      say({ numbers: await compute(state, (numbers, progress) => say({ numbers, progress })) });
    } catch (error) {
      say({ error: error instanceof Error ? error.message : String(error) });
    }
  });
}

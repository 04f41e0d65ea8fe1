import { expect, test } from "vitest";
import type { ComputeReply } from "./messages.ts";
import { serveComputations } from "./serve.ts";

test("while the next states are prepared, a request is answered", async () => {
  const port = new EventTarget() as EventTarget & { postMessage(message: ComputeReply): void };
  const replies: ComputeReply[] = [];
  let arrived = () => {};
  port.postMessage = (reply) => {
    replies.push(reply);
    arrived();
  };
  serveComputations(port as never);
  const ask = (id: number, power: number) =>
    new Promise<void>((resolve) => {
      arrived = resolve;
      const state = { power, divisor: "1", visited: [], data: "random", show: "plot", line: true, seed: 5 };
      port.dispatchEvent(new MessageEvent("message", { data: { id, page: "scale", state } }));
    });
  await ask(1, 2);
  await ask(2, 3);
  expect(replies.map(({ id, error, numbers }) => [id, error, numbers !== undefined])).toEqual([
    [1, undefined, true],
    [2, undefined, true],
  ]);
  // The last request's preparation goes on between other work, until another request ends it.
  await ask(3, 0);
  expect(replies).toHaveLength(3);
});

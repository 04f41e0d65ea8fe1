/**
 * The worker's end of `remote.ts`: it receives heads and answers requests, the most urgent first, in time slices so that it
 * receives cancellations and changed urgencies in between. A worker's script only calls `serveStore(self)`.
 */
import { argumentError, HeedError } from "../../core/errors.ts";
import { paced } from "./compute.ts";
import { buffersOf, type FromWorker, failureOf, type Port, type ToWorker } from "./messages.ts";
import { type Kernel, plainKernel } from "./row-source.ts";
import { Runner } from "./scheduler.ts";
import { Subject } from "./subject.ts";
import { workOn } from "./work.ts";

/** Milliseconds of a time slice. A worker draws no frames, so it stops only to receive messages. */
const SLICE = 16;

/** Answers the requests that arrive through `port`. `kernel` defaults to the plain kernel. */
export function serveStore(port: Port, { kernel = plainKernel }: { readonly kernel?: Kernel } = {}): void {
  if (typeof (port as Partial<Port> | undefined)?.addEventListener !== "function")
    throw argumentError("serveStore", "a port, such as self in a worker", port);
  const runner = new Runner(SLICE);
  const subjects = new Map<string, Subject>();
  const urgencies = new Map<number, number>();
  const cancels = new Map<number, (reason: unknown) => void>();
  const post = (message: FromWorker, transfer: Transferable[] = []) => port.postMessage(message, transfer);

  const answer = async (message: Extract<ToWorker, { type: "request" }>): Promise<void> => {
    const { id, key, request, urgency, progress } = message;
    try {
      const subject = subjects.get(key);
      if (!subject) throw new HeedError("head", `serveStore: head ${key} was requested before it was sent`);
      urgencies.set(id, urgency);
      const { result, cancel } = runner.add({
        work: () => workOn(subject, request, kernel),
        urgency: () => urgencies.get(id) ?? 0,
        onProgress: progress
          ? paced((done, overview) =>
              post({ type: "progress", id, done, overview }, overview ? buffersOf(overview) : []),
            )
          : undefined,
      });
      cancels.set(id, cancel);
      const value = await result;
      post({ type: "answer", id, answer: value }, buffersOf(value));
    } catch (error) {
      post({ type: "error", id, error: failureOf(error) });
    } finally {
      urgencies.delete(id);
      cancels.delete(id);
    }
  };

  port.addEventListener("message", ({ data }) => {
    const message = data as ToWorker;
    switch (message.type) {
      case "head":
        subjects.set(message.key, new Subject(message.data, message.places));
        break;
      case "drop":
        subjects.delete(message.key);
        break;
      case "request":
        void answer(message);
        break;
      case "urgency":
        for (const [id, urgency] of message.urgencies) if (urgencies.has(id)) urgencies.set(id, urgency);
        break;
      case "cancel":
        cancels.get(message.id)?.(new HeedError("cancelled", "the request was canceled"));
        break;
    }
  });
  port.start?.();
}

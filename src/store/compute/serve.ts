/**
 * The worker's end of `remote.ts`: it receives heads and answers requests, the most urgent first, in time slices so that it
 * receives cancellations and changed urgencies in between. A worker's script only calls `serveStore(self)`.
 */
import { argumentError, HeedError } from "../../core/errors.ts";
import { paced } from "./compute.ts";
import type { PassRequest, WorkerDevice } from "./device.ts";
import {
  buffersOf,
  type DeviceState,
  type DeviceUse,
  type FromWorker,
  failureOf,
  type Port,
  type ToWorker,
} from "./messages.ts";
import { type Kernel, plainKernel } from "./row-source.ts";
import { Runner } from "./scheduler.ts";
import { Subject } from "./subject.ts";
import { workOn } from "./work.ts";

/** Milliseconds of a time slice. A worker draws no frames, so it stops only to receive messages. */
const SLICE = 16;

/** Weights of a head from which on a GPU is faster: of smaller ones, its answer takes longer than the numbers. */
const WORTH = 512 ** 2;

/** What a worker computes with. */
interface ServeOptions {
  /** Default: the plain kernel. */
  readonly kernel?: Kernel;
  /** Loads what computes on another device, with the first pass on it. Default: the page has no code for one. */
  readonly device?: (tell: (state: DeviceState) => void) => Promise<WorkerDevice>;
}

/** Answers the requests that arrive through `port`. */
export function serveStore(port: Port, { kernel = plainKernel, device: load }: ServeOptions = {}): void {
  if (typeof (port as Partial<Port> | undefined)?.addEventListener !== "function")
    throw argumentError("serveStore", "a port, such as self in a worker", port);
  const runner = new Runner(SLICE);
  const subjects = new Map<string, Subject>();
  const urgencies = new Map<number, number>();
  const cancels = new Map<number, (reason: unknown) => void>();
  const post = (message: FromWorker, transfer: Transferable[] = []) => port.postMessage(message, transfer);
  const tell = (state: DeviceState) => post({ type: "device", ...state });
  let use: DeviceUse = "cpu";
  let loading: Promise<WorkerDevice | undefined> | undefined;
  /** What computes on the device that is chosen; undefined where nothing can: then the page gets the reason. */
  const deviceNow = (): Promise<WorkerDevice | undefined> =>
    (loading ??= (load?.(tell) ?? Promise.reject(new Error("this page has no code for a GPU"))).then(
      (device) => {
        device.choose(use);
        return device;
      },
      (error) => {
        tell({ text: `CPU: ${failureOf(error).message}`, failed: load !== undefined });
        return undefined;
      },
    ));
  const choose = (wanted: DeviceUse) => {
    use = wanted;
    if (loading || use === "gpu") void deviceNow().then((device) => device?.choose(use));
  };

  const answer = async (message: Extract<ToWorker, { type: "request" }>): Promise<void> => {
    const { id, key, request, urgency, progress } = message;
    try {
      const subject = subjects.get(key);
      if (!subject) throw new HeedError("head", `serveStore: head ${key} was requested before it was sent`);
      urgencies.set(id, urgency);
      cancels.set(id, () => urgencies.delete(id));
      const isWanted = () => urgencies.has(id);
      const onProgress = progress
        ? paced((done, overview) =>
            post({ type: "progress", id, done, overview }, overview ? buffersOf(overview) : []),
          )
        : undefined;
      const { Nq, Nk } = subject.head.data;
      const isLarge = use === "gpu" || (use === "auto" && Nq * Nk >= WORTH);
      const device = request.what === "pass" && isLarge ? await deviceNow() : undefined;
      const byDevice = await device?.pass(subject, request as PassRequest, onProgress, isWanted);
      if (!isWanted()) return;
      if (byDevice && "measures" in byDevice) {
        post({ type: "answer", id, answer: byDevice }, buffersOf(byDevice));
        return;
      }
      const { result, cancel } = runner.add({
        work: () => workOn(subject, request, kernel, byDevice),
        urgency: () => urgencies.get(id) ?? 0,
        onProgress,
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
      case "device":
        choose(message.use);
        break;
      case "cancel":
        cancels.get(message.id)?.(new HeedError("cancelled", "the request was canceled"));
        break;
    }
  });
  port.start?.();
}

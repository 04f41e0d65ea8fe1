/**
 * The page's end of `serve.ts`. A request goes to the worker that has the head, or to the one with the fewest requests. A head
 * is sent with its first request; if a worker has more bytes of heads than its capacity, the least recently used heads are
 * dropped. If a worker fails (a policy forbids it, its script is missing, it dies), its requests are sent to the other workers,
 * or to this thread if none is left.
 */

import { gone, localCompute, stopping } from "./compute.ts";
import { bytesOf, errorOf, type FromWorker, type Port, packed, type ToWorker } from "./messages.ts";
import type { Compute, PendingRequest, RequestAnswer, RequestOptions } from "./request.ts";

/** Default capacity of a worker: bytes of heads. */
const CAPACITY = 96 * 2 ** 20;

/** A request, and what settles its promise. */
interface Flight {
  readonly request: PendingRequest;
  readonly onProgress: RequestOptions["onProgress"];
  readonly resolve: (answer: RequestAnswer) => void;
  readonly reject: (error: unknown) => void;
}

interface HeadWorker {
  readonly port: Port;
  readonly pending: Map<number, Flight>;
  /** Bytes of each head that was sent to the worker, the least recently used first. */
  readonly heads: Map<string, number>;
  alive: boolean;
}

/** Options of `remoteCompute`. */
interface RemoteOptions {
  /** Makes what computes if no worker is left. Default: `localCompute`, on this thread. */
  readonly fallback?: () => Compute;
  /** Bytes of heads that a worker keeps. Default 96 MiB. */
  readonly capacity?: number;
}

const post = ({ port }: HeadWorker, message: ToWorker, transfer: Transferable[] = []): void =>
  port.postMessage(message, transfer);

/** The worker that has the head or waits for it, else the one with the fewest requests. */
function chooseWorker(workers: readonly HeadWorker[], key: string): HeadWorker | undefined {
  const alive = workers.filter((worker) => worker.alive);
  const waitsFor = ({ pending }: HeadWorker) =>
    [...pending.values()].some(({ request }) => request.key === key);
  return (
    alive.find(({ heads }) => heads.has(key)) ??
    alive.find(waitsFor) ??
    alive.sort((a, b) => a.pending.size - b.pending.size)[0]
  );
}

/** Frees memory of a worker: drops heads without pending requests, the least recently used first. */
function trim(worker: HeadWorker, capacity: number): void {
  let bytes = 0;
  for (const size of worker.heads.values()) bytes += size;
  const busy = new Set([...worker.pending.values()].map(({ request }) => request.key));
  for (const [key, size] of worker.heads) {
    if (bytes <= capacity) return;
    if (busy.has(key)) continue;
    worker.heads.delete(key);
    post(worker, { type: "drop", key });
    bytes -= size;
  }
}

/** Sends a head to a worker that does not have it. `isWanted` is false if its request has left the worker while it was loaded. */
async function sendHead(
  worker: HeadWorker,
  { key, data, places }: PendingRequest,
  isWanted: () => boolean,
): Promise<void> {
  const bytes = worker.heads.get(key);
  if (bytes !== undefined) {
    // The most recently used head is the last.
    worker.heads.delete(key);
    worker.heads.set(key, bytes);
    return;
  }
  const loaded = await data();
  // A copy of a long head, and its places, block this thread: the page shows the first row before them, within 50 ms.
  if (loaded.Nk > 2 ** 17) await new Promise((resolve) => setTimeout(resolve, 50));
  if (!isWanted() || worker.heads.has(key)) return;
  const copy = packed(loaded);
  // Measured before the transfer, which leaves these arrays empty.
  worker.heads.set(key, bytesOf(copy.data));
  post(worker, { type: "head", key, data: copy.data, places: places() }, copy.transfer);
}

/** Computes in the workers at the other ends of `ports`. Each worker runs `serveStore`. */
export function remoteCompute(ports: readonly Port[], options: RemoteOptions = {}): Compute {
  const { capacity = CAPACITY } = options;
  let nextId = 1;
  let disposed = false;
  let local: Compute | undefined;
  const onThisThread = () => (local ??= (options.fallback ?? localCompute)());
  const workers: HeadWorker[] = ports.map((port) => ({
    port,
    pending: new Map(),
    heads: new Map(),
    alive: true,
  }));

  /** Ends a worker that failed, and sends its requests again. */
  const fail = (worker: HeadWorker) => {
    if (!worker.alive || disposed) return;
    worker.alive = false;
    end(worker.port);
    const unanswered = [...worker.pending.values()];
    worker.pending.clear();
    for (const flight of unanswered) void send(flight);
  };

  const receive = (worker: HeadWorker, message: FromWorker) => {
    // For the page, which chooses the device.
    if (message.type === "device") return;
    const flight = worker.pending.get(message.id);
    if (!flight) return;
    if (message.type === "progress") {
      flight.onProgress?.(message.done, message.overview);
      return;
    }
    worker.pending.delete(message.id);
    if (message.type === "answer") flight.resolve(message.answer);
    else flight.reject(errorOf(message.error));
  };

  const send = async (flight: Flight): Promise<void> => {
    const { request, onProgress } = flight;
    const worker = chooseWorker(workers, request.key);
    if (!worker) {
      onThisThread().answer(request, { onProgress }).then(flight.resolve, flight.reject);
      return;
    }
    const id = nextId++;
    // Counted before the head is loaded, so that the next request goes to another worker.
    worker.pending.set(id, flight);
    try {
      const isWanted = () => worker.pending.has(id);
      await sendHead(worker, request, isWanted);
      if (!isWanted()) return; // Canceled or sent to another worker while it was loading.
      post(worker, {
        type: "request",
        id,
        key: request.key,
        request: request.request,
        urgency: request.urgency(),
        progress: onProgress !== undefined,
      });
      trim(worker, capacity);
    } catch (error) {
      worker.pending.delete(id);
      flight.reject(error);
    }
  };

  for (const worker of workers) {
    worker.port.addEventListener("message", ({ data }) => receive(worker, data as FromWorker));
    worker.port.addEventListener("error", () => fail(worker));
    worker.port.addEventListener("messageerror", () => fail(worker));
    worker.port.start?.();
  }

  return {
    answer(request, { signal, onProgress } = {}) {
      if (disposed) return Promise.reject(gone());
      if (signal?.aborted) return Promise.reject(signal.reason);
      let flight!: Flight;
      const result = new Promise<RequestAnswer>((resolve, reject) => {
        flight = { request, onProgress, resolve, reject };
      });
      void send(flight);
      const cancel = (reason: unknown) => {
        for (const worker of workers)
          for (const [id, other] of worker.pending)
            if (other === flight) {
              worker.pending.delete(id);
              post(worker, { type: "cancel", id });
            }
        flight.reject(reason);
      };
      return stopping(result, cancel, signal);
    },
    reorder() {
      for (const worker of workers)
        if (worker.alive && worker.pending.size > 0)
          post(worker, {
            type: "urgency",
            urgencies: [...worker.pending].map(([id, { request }]) => [id, request.urgency()] as const),
          });
    },
    dispose() {
      disposed = true;
      for (const worker of workers) {
        for (const { reject } of worker.pending.values()) reject(gone());
        worker.pending.clear();
        if (worker.alive) end(worker.port);
      }
      local?.dispose();
    },
  };
}

function end(port: Port): void {
  if (port.terminate) port.terminate();
  else port.close?.();
}

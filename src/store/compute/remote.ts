/**
 * The page's end of `serve.ts`. A request goes to the worker that has the head, or to the one with the fewest requests. A head
 * is sent with its first request; if a worker has more bytes of heads than its capacity, the least recently used heads are
 * dropped. If a worker fails (a policy forbids it, its script is missing, it dies), its requests are sent to the other workers,
 * or to this thread if none is left.
 */

import type { Asking } from "../types.ts";
import { type Asked, type Compute, gone, localCompute, stopping } from "./compute.ts";
import { bytesOf, errorOf, type FromWorker, type Port, packed, type ToWorker } from "./messages.ts";
import type { Answer, Ask } from "./work.ts";

/** Default capacity of a worker: bytes of heads. */
const CAPACITY = 96 * 2 ** 20;

interface Pending {
  readonly head: Asked;
  readonly ask: Ask;
  readonly onProgress: Asking["onProgress"];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Worker {
  readonly port: Port;
  readonly pending: Map<number, Pending>;
  /** Bytes of each head that was sent to the worker, the least recently used first. */
  readonly heads: Map<string, number>;
  alive: boolean;
}

/** Options of `remoteCompute`. */
export interface RemoteOptions {
  /** Makes what computes if no worker is left. Default: `localCompute`, on this thread. */
  readonly fallback?: () => Compute;
  /** Bytes of heads that a worker keeps. Default 96 MiB. */
  readonly capacity?: number;
}

/** Computes in the workers at the other ends of `ports`. Each worker runs `serveStore`. */
export function remoteCompute(ports: readonly Port[], options: RemoteOptions = {}): Compute {
  const { capacity = CAPACITY } = options;
  let nextId = 1;
  let disposed = false;
  let local: Compute | undefined;
  const onThisThread = () => (local ??= (options.fallback ?? localCompute)());
  const workers: Worker[] = ports.map((port) => ({
    port,
    pending: new Map(),
    heads: new Map(),
    alive: true,
  }));
  const post = (worker: Worker, message: ToWorker, transfer: Transferable[] = []) =>
    worker.port.postMessage(message, transfer);

  /** Ends a worker that failed, and sends its requests again. */
  const fail = (worker: Worker) => {
    if (!worker.alive || disposed) return;
    worker.alive = false;
    end(worker.port);
    const unanswered = [...worker.pending.values()];
    worker.pending.clear();
    for (const pending of unanswered) void send(pending);
  };

  for (const worker of workers) {
    worker.port.addEventListener("message", ({ data }) => {
      const message = data as FromWorker;
      const pending = worker.pending.get(message.id);
      if (!pending) return;
      if (message.type === "progress") {
        pending.onProgress?.(message.done, message.overview);
        return;
      }
      worker.pending.delete(message.id);
      if (message.type === "answer") pending.resolve(message.answer);
      else pending.reject(errorOf(message.error));
    });
    worker.port.addEventListener("error", () => fail(worker));
    worker.port.addEventListener("messageerror", () => fail(worker));
    worker.port.start?.();
  }

  /** The worker that has the head or waits for it, else the one with the fewest requests. */
  const choose = (key: string): Worker | undefined => {
    const alive = workers.filter((worker) => worker.alive);
    const waitsFor = ({ pending }: Worker) => [...pending.values()].some(({ head }) => head.key === key);
    const known = alive.find((worker) => worker.heads.has(key)) ?? alive.find(waitsFor);
    return known ?? alive.sort((a, b) => a.pending.size - b.pending.size)[0];
  };

  /** Frees memory of a worker: drops heads without pending requests, the least recently used first. */
  const trim = (worker: Worker) => {
    let bytes = 0;
    for (const size of worker.heads.values()) bytes += size;
    const busy = new Set([...worker.pending.values()].map(({ head }) => head.key));
    for (const [key, size] of worker.heads) {
      if (bytes <= capacity) return;
      if (busy.has(key)) continue;
      worker.heads.delete(key);
      post(worker, { type: "drop", key });
      bytes -= size;
    }
  };

  const send = async (pending: Pending): Promise<void> => {
    const { head, ask, onProgress } = pending;
    const worker = choose(head.key);
    if (!worker) {
      onThisThread().ask(head, ask, { onProgress }).then(pending.resolve, pending.reject);
      return;
    }
    const id = nextId++;
    // Counted before the head is loaded, so that the next request goes to another worker.
    worker.pending.set(id, pending);
    try {
      const bytes = worker.heads.get(head.key);
      if (bytes === undefined) {
        const data = await head.data();
        if (!worker.pending.has(id)) return; // Canceled or sent to another worker while it was loading.
        if (!worker.heads.has(head.key)) {
          const copy = packed(data);
          // Measured before the transfer, which leaves these arrays empty.
          worker.heads.set(head.key, bytesOf(copy.data));
          post(worker, { type: "head", key: head.key, data: copy.data, places: head.places }, copy.transfer);
        }
      } else {
        worker.heads.delete(head.key);
        worker.heads.set(head.key, bytes);
      }
      post(worker, {
        type: "ask",
        id,
        key: head.key,
        ask,
        urgency: head.urgency(),
        progress: onProgress !== undefined,
      });
      trim(worker);
    } catch (error) {
      worker.pending.delete(id);
      pending.reject(error);
    }
  };

  return {
    ask(head, ask, asking = {}) {
      if (disposed) return Promise.reject(gone());
      const { signal, onProgress } = asking;
      if (signal?.aborted) return Promise.reject(signal.reason);
      let pending!: Pending;
      const result = new Promise<Answer>((resolve, reject) => {
        pending = { head, ask, onProgress, resolve, reject };
      });
      void send(pending);
      const cancel = (reason: unknown) => {
        for (const worker of workers)
          for (const [id, one] of worker.pending)
            if (one === pending) {
              worker.pending.delete(id);
              post(worker, { type: "cancel", id });
            }
        pending.reject(reason);
      };
      return stopping(result, cancel, signal);
    },
    reorder() {
      for (const worker of workers)
        if (worker.alive && worker.pending.size > 0)
          post(worker, {
            type: "urgency",
            urgencies: [...worker.pending].map(([id, { head }]) => [id, head.urgency()] as const),
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

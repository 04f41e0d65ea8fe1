/**
 * The page's side: questions go to the worker that has the head, or to the one with least to do; heads go along when
 * they are first asked about and are dropped again, the oldest first, when a worker holds too many. Where a worker
 * fails (a policy forbids it, its script is missing, it dies), its questions are asked again elsewhere, in the end on
 * this thread.
 */

import type { Asking } from "../types.ts";
import { type Asked, type Compute, gone, localCompute, stopping } from "./compute.ts";
import { bytesOf, errorOf, type FromWorker, type Port, packed, type ToWorker } from "./messages.ts";
import type { Answer, Ask } from "./work.ts";

/** Bytes of heads a worker may hold, where nothing else is said. */
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
  /** Bytes of each head it holds, the latest used last. */
  readonly heads: Map<string, number>;
  alive: boolean;
}

/** How to compute in workers. */
export interface RemoteOptions {
  /** Computes where no worker is left; on this thread by default. */
  readonly fallback?: () => Compute;
  /** Bytes of heads that a worker keeps; 96 MiB by default. */
  readonly capacity?: number;
}

/** Computes in the workers at the other ends of `ports`, each of which runs `serveStore`. */
export function remoteCompute(ports: readonly Port[], options: RemoteOptions = {}): Compute {
  const { capacity = CAPACITY } = options;
  let nextId = 1;
  let disposed = false;
  let local: Compute | undefined;
  const here = () => (local ??= (options.fallback ?? localCompute)());
  const workers: Worker[] = ports.map((port) => ({
    port,
    pending: new Map(),
    heads: new Map(),
    alive: true,
  }));
  const tell = (worker: Worker, message: ToWorker, transfer: Transferable[] = []) =>
    worker.port.postMessage(message, transfer);

  /** Gives the questions of a worker that failed to the others. */
  const lose = (worker: Worker) => {
    if (!worker.alive || disposed) return;
    worker.alive = false;
    end(worker.port);
    const orphans = [...worker.pending.values()];
    worker.pending.clear();
    for (const orphan of orphans) void send(orphan);
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
    worker.port.addEventListener("error", () => lose(worker));
    worker.port.addEventListener("messageerror", () => lose(worker));
    worker.port.start?.();
  }

  /** The worker that has the head, or soon will; else the one with least to do. */
  const choose = (key: string): Worker | undefined => {
    const alive = workers.filter((worker) => worker.alive);
    const awaits = ({ pending }: Worker) => [...pending.values()].some(({ head }) => head.key === key);
    const holder = alive.find((worker) => worker.heads.has(key)) ?? alive.find(awaits);
    return holder ?? alive.sort((a, b) => a.pending.size - b.pending.size)[0];
  };

  /** Frees memory of a worker: drops heads without open requests, the oldest first. */
  const trim = (worker: Worker) => {
    let bytes = 0;
    for (const size of worker.heads.values()) bytes += size;
    const busy = new Set([...worker.pending.values()].map(({ head }) => head.key));
    for (const [key, size] of worker.heads) {
      if (bytes <= capacity) return;
      if (busy.has(key)) continue;
      worker.heads.delete(key);
      tell(worker, { type: "drop", key });
      bytes -= size;
    }
  };

  const send = async (pending: Pending): Promise<number> => {
    const { head, ask, onProgress } = pending;
    const worker = choose(head.key);
    if (!worker) {
      here().ask(head, ask, { onProgress }).then(pending.resolve, pending.reject);
      return 0;
    }
    const id = nextId++;
    // Counted as its work before the head is there, so that the next question goes to another worker.
    worker.pending.set(id, pending);
    try {
      const bytes = worker.heads.get(head.key);
      if (bytes === undefined) {
        const data = await head.data();
        if (!worker.pending.has(id)) return id; // Given up, or given to another worker, meanwhile.
        if (!worker.heads.has(head.key)) {
          const copy = packed(data);
          // Counted before they are handed over: then this side's arrays are empty.
          worker.heads.set(head.key, bytesOf(copy.data));
          tell(worker, { type: "head", key: head.key, data: copy.data, places: head.places }, copy.transfer);
        }
      } else {
        worker.heads.delete(head.key);
        worker.heads.set(head.key, bytes);
      }
      tell(worker, {
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
    return id;
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
              tell(worker, { type: "cancel", id });
            }
        pending.reject(reason);
      };
      return stopping(result, cancel, signal);
    },
    reorder() {
      for (const worker of workers)
        if (worker.alive && worker.pending.size > 0)
          tell(worker, {
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

/**
 * Requests in flight are shared: an equal request joins the one in flight, every caller receives its progress, and it is
 * aborted only when all its callers have canceled.
 */
import type { RequestOptions } from "./request.ts";

interface Flight<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  readonly listeners: Set<NonNullable<RequestOptions["onProgress"]>>;
  waiting: number;
}

/** Requests in flight, by name. */
export class SingleFlight<T> {
  private readonly entries = new Map<string, Flight<T>>();

  /** The name of a request in flight that begins with `prefix` and a space. */
  any(prefix: string): string | undefined {
    for (const name of this.entries.keys()) if (name.startsWith(`${prefix} `)) return name;
    return undefined;
  }

  /** The result of the request `name`; `begin` starts it if it is not in flight. */
  async ask(
    name: string,
    { signal, onProgress }: RequestOptions,
    begin: (shared: RequestOptions) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    let entry = this.entries.get(name);
    if (!entry) {
      const stop = new AbortController();
      const listeners: Flight<T>["listeners"] = new Set();
      const begun = begin({
        signal: stop.signal,
        onProgress: (done, overview) => {
          for (const listener of listeners) listener(done, overview);
        },
      });
      const result = begun.finally(() => {
        if (this.entries.get(name)?.stop === stop) this.entries.delete(name);
      });
      entry = { result, stop, listeners, waiting: 0 };
      this.entries.set(name, entry);
    }
    const { result, stop, listeners } = entry;
    // A function for each call: two callers may pass the same one.
    const listener = onProgress && ((...progress: Parameters<typeof onProgress>) => onProgress(...progress));
    if (listener) listeners.add(listener);
    entry.waiting++;
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      if (listener) listeners.delete(listener);
      if (--entry.waiting > 0) return;
      // The next call starts the request again.
      if (this.entries.get(name) === entry) this.entries.delete(name);
      stop.abort(signal?.reason);
    };
    let abort!: () => void;
    const aborted = new Promise<never>((_, reject) => {
      abort = () => {
        leave();
        reject(signal?.reason);
      };
    });
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([result, aborted]);
    } finally {
      signal?.removeEventListener("abort", abort);
      leave();
    }
  }
}

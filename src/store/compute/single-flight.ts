/**
 * Requests in flight are shared: an equal request joins the one in flight, every caller receives its progress, and it is
 * aborted only when all its callers have canceled.
 */
import type { Asking } from "../types.ts";

interface Entry<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  readonly listeners: Set<NonNullable<Asking["onProgress"]>>;
  waiting: number;
}

/** Requests in flight, by name. */
export class Shared<T> {
  private readonly entries = new Map<string, Entry<T>>();

  /** The name of a request in flight that begins with `prefix` and a space. */
  any(prefix: string): string | undefined {
    for (const name of this.entries.keys()) if (name.startsWith(`${prefix} `)) return name;
    return undefined;
  }

  /** The result of the request `name`; `begin` starts it if it is not in flight. */
  async ask(name: string, { signal, onProgress }: Asking, begin: (whole: Asking) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    let entry = this.entries.get(name);
    if (!entry) {
      const stop = new AbortController();
      const listeners: Entry<T>["listeners"] = new Set();
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
    const own = onProgress && ((...progress: Parameters<typeof onProgress>) => onProgress(...progress));
    if (own) listeners.add(own);
    entry.waiting++;
    const leave = () => {
      if (own) listeners.delete(own);
      if (--entry.waiting === 0) {
        // The next call starts the request again.
        if (this.entries.get(name) === entry) this.entries.delete(name);
        stop.abort(signal?.reason);
      }
    };
    if (!signal) {
      try {
        return await result;
      } finally {
        leave();
      }
    }
    return new Promise<T>((resolve, reject) => {
      const aborted = () => {
        leave();
        reject(signal.reason);
      };
      signal.addEventListener("abort", aborted, { once: true });
      const settled = () => {
        signal.removeEventListener("abort", aborted);
        if (!signal.aborted) leave();
      };
      result.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error) => {
          settled();
          reject(error);
        },
      );
    });
  }
}

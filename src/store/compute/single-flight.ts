/**
 * One answer for many askers: a question that is under way is not asked again, everybody hears its progress, and it is
 * given up only when nobody waits for it any more.
 */
import type { Asking } from "../types.ts";

interface Entry<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  readonly listeners: Set<NonNullable<Asking["onProgress"]>>;
  waiting: number;
}

/** Questions under way, by name. */
export class Shared<T> {
  private readonly entries = new Map<string, Entry<T>>();

  /** The name of a question under way that begins with `prefix` and a space. */
  any(prefix: string): string | undefined {
    for (const name of this.entries.keys()) if (name.startsWith(`${prefix} `)) return name;
    return undefined;
  }

  /** The answer to `name`, asked by `begin` if nobody has. */
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
    const own = onProgress && ((...news: Parameters<typeof onProgress>) => onProgress(...news));
    if (own) listeners.add(own);
    entry.waiting++;
    const leave = () => {
      if (own) listeners.delete(own);
      if (--entry.waiting === 0) {
        // The next one who asks begins anew.
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
      const given = () => {
        signal.removeEventListener("abort", given);
        leave();
        reject(signal.reason);
      };
      signal.addEventListener("abort", given, { once: true });
      const settled = () => {
        signal.removeEventListener("abort", given);
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

/** A cache that holds at most so many bytes and lets go of what was not asked for the longest. */
export class Lru<V> {
  readonly #kept = new Map<string, { readonly value: V; readonly bytes: number }>();
  readonly #most: number;
  #bytes = 0;

  /** @param most maximum bytes */
  constructor(most: number) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): V | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found.value;
  }

  set(key: string, value: V, bytes: number): void {
    this.#bytes += bytes - (this.#kept.get(key)?.bytes ?? 0);
    this.#kept.delete(key);
    this.#kept.set(key, { value, bytes });
    for (const [oldest, { bytes: freed }] of this.#kept) {
      if (this.#bytes <= this.#most || oldest === key) break;
      this.#kept.delete(oldest);
      this.#bytes -= freed;
    }
  }

  clear(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }
}

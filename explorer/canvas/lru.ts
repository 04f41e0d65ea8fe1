/** A cache with a maximum size in bytes; it evicts the least recently used entries. */
export class Lru<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly bytes: number }>();
  readonly #capacity: number;
  #bytes = 0;

  /** @param capacity maximum bytes */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a key is cached; unlike `get`, this is not a use of it. */
  has(key: string): boolean {
    return this.#entries.has(key);
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: V, bytes: number): void {
    this.#bytes += bytes - (this.#entries.get(key)?.bytes ?? 0);
    this.#entries.delete(key);
    this.#entries.set(key, { value, bytes });
    for (const [oldest, { bytes: freed }] of this.#entries) {
      if (this.#bytes <= this.#capacity || oldest === key) break;
      this.#entries.delete(oldest);
      this.#bytes -= freed;
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}

/**
 * The files (or texts) that an explorer can show, one at a time. Opened stores are cached, so that switching back is immediate
 * and two can be compared; the least recently used ones are disposed of.
 */
import type { HeadStore } from "../../src/store/head-store.ts";
import type { SourceModel } from "../../src/view/element.ts";

/** Opens a source; reports its progress from 0 to 1, and stops when the signal aborts. */
export type Opening = (signal: AbortSignal, progress: (done: number) => void) => Promise<HeadStore>;

export interface OpenSource {
  readonly name: string;
  readonly open: Opening;
  readonly model?: SourceModel;
}

/** The maximum number of open stores. */
const MAX_OPEN = 8;

export class Sources {
  #list: readonly OpenSource[] = [];
  readonly #open = new Map<OpenSource, HeadStore>();

  get list(): readonly OpenSource[] {
    return this.#list;
  }

  /** Replaces the list. Open stores of other sources are disposed of, except `keep`. */
  replace(list: readonly OpenSource[], keep?: HeadStore): void {
    for (const [source, store] of this.#open)
      if (!list.includes(source)) {
        this.#open.delete(source);
        if (store !== keep) store.dispose();
      }
    this.#list = list;
  }

  /** Appends sources. */
  add(more: readonly OpenSource[]): void {
    this.#list = [...this.#list, ...more];
  }

  /** Registers the open store of a source. */
  opened(source: OpenSource, store: HeadStore): void {
    this.#open.set(source, store);
  }

  /** Opens a source, or returns its open store. `shown` is never disposed of. */
  async store(
    source: OpenSource,
    signal: AbortSignal,
    progress: (done: number) => void,
    shown?: HeadStore,
  ): Promise<HeadStore> {
    const store = this.#open.get(source) ?? (await source.open(signal, progress));
    if (signal.aborted) {
      if (!this.#open.has(source)) store.dispose();
      return store;
    }
    this.#open.delete(source);
    this.#open.set(source, store);
    for (const [other, otherStore] of this.#open) {
      if (this.#open.size <= MAX_OPEN) break;
      if (otherStore === store || otherStore === shown) continue;
      this.#open.delete(other);
      otherStore.dispose();
    }
    return store;
  }
}

/**
 * The files (or texts) an explorer can show, one at a time: a name and how to open it. A store that has been opened is kept,
 * so that switching back is immediate and two can be compared; the least recently used ones are disposed of.
 */
import type { HeadStore } from "../../src/store/types.ts";
import type { SourceModel } from "../../src/view/element.ts";

/** Reads a source: how far it is, 0 to 1, and when to stop. */
export type Opening = (signal: AbortSignal, progress: (done: number) => void) => Promise<HeadStore>;

export interface Source {
  readonly name: string;
  readonly open: Opening;
  readonly model?: SourceModel;
}

/** Stores that are kept open. */
const MAX_OPEN = 8;

export class Sources {
  #list: readonly Source[] = [];
  readonly #open = new Map<Source, HeadStore>();

  get list(): readonly Source[] {
    return this.#list;
  }

  /** Other sources; what was open is disposed of, except a store that is among the new ones. */
  replace(list: readonly Source[], keep?: HeadStore): void {
    for (const [source, store] of this.#open)
      if (!list.includes(source)) {
        this.#open.delete(source);
        if (store !== keep) store.dispose();
      }
    this.#list = list;
  }

  /** More sources, after those there are. */
  add(more: readonly Source[]): void {
    this.#list = [...this.#list, ...more];
  }

  /** Says that a source's store is open already. */
  opened(source: Source, store: HeadStore): void {
    this.#open.set(source, store);
  }

  /** The store of a source, where it is open. */
  storeOf(source: Source | undefined): HeadStore | undefined {
    return source && this.#open.get(source);
  }

  /** Opens a source, or gives its open store. `shown` stays open whatever is opened besides. */
  async store(
    source: Source,
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
    for (const [other, kept] of this.#open) {
      if (this.#open.size <= MAX_OPEN) break;
      if (kept === store || kept === shown) continue;
      this.#open.delete(other);
      kept.dispose();
    }
    return store;
  }
}

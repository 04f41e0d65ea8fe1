/**
 * Opens sources for an element and shows them: one that replaces all others, several that are added, or the one that the state names.
 * Progress and errors go to the element. Opened stores are cached (sources.ts).
 */
import { messageOf } from "../../src/core/errors.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
import type { AttentionSource, AttentionViewEvents, SourceModel } from "../../src/view/element.ts";
import type { State } from "../state/state.ts";
import type { Notice, Session } from "./session.ts";
import { type Opening, type OpenSource, Sources } from "./sources.ts";
import { startAhead } from "./workers.ts";

/** Whether a source of the page has what it must. */
export const isSource = (
  one: { name?: unknown; src?: unknown; data?: unknown; model?: SourceModel } | null,
) =>
  typeof one?.name === "string" &&
  one.name.trim() !== "" &&
  ("src" in one ? typeof one.src === "string" && !one.data : !!one.data) &&
  typeof (one.model ?? { ablate: isSource }).ablate === "function" &&
  Object.keys(one).every((field) => ["name", "src", "data", "model"].includes(field));

/** The internal form of a source that the page gives. */
export function sourceOf(one: AttentionSource): OpenSource {
  return {
    name: one.name,
    ...(one.model && { model: one.model }),
    open: async (signal, progress) => {
      const { openAddress, openAny } = await import("./open.ts");
      return "src" in one ? openAddress(one.src, signal, progress, one.name) : openAny(one.data, one.name);
    },
  };
}

/** The cursor in an opened source: as the state names it, on the same tokens, or on the most telling link. */
export type OpensAt = "as named" | "carried" | "new";

/** A message with a period, unless it ends with a mark. */
const sentence = (text: string): string => text.replace(/(?<![.!?])$/, ".");

/** The message of an error, without the name of the function that threw it. */
export const shortMessage = (error: unknown): string => sentence(messageOf(error).replace(/^[\w-]+: /, ""));
export const failure = (title: string, error: unknown): Notice => ({
  kind: "error",
  text: `${title}. ${shortMessage(error)}`,
});

/** The warnings of the report: they say why the picture may be wrong. */
function noticesOf({ report }: HeadStore): readonly Notice[] {
  return report.problems
    .filter(({ severity }) => severity !== "note")
    .slice(0, 2)
    .map(({ text }) => ({ kind: "problem", text: sentence(text) }));
}

/** What opening needs of its element. */
export interface OpenerHost {
  readonly session: Session;
  /** Whether the page names the head by attributes. */
  readonly namesHead: () => boolean;
  readonly progressed: (detail: AttentionViewEvents["progress"]["detail"]) => void;
  /** A store is shown. */
  readonly opened: (store: HeadStore) => void;
  readonly failed: (title: string, error: unknown) => void;
}

export class Opener {
  readonly #host: OpenerHost;
  readonly #session: Session;
  readonly #sources = new Sources();
  #opening: AbortController | undefined;

  constructor(host: OpenerHost) {
    this.#host = host;
    this.#session = host.session;
  }

  /** How many sources there are. */
  get count(): number {
    return this.#sources.list.length;
  }

  /** The store of another source; the one that is shown stays open. */
  store(index: number): Promise<HeadStore> {
    return this.#store(this.#sources.list[index]);
  }

  /** Shows a store of the page, or none; the caller notifies the session. */
  replace(store: HeadStore | undefined): void {
    this.#opening?.abort();
    if (store === undefined) this.#sources.replace([]);
    else {
      const source: OpenSource = { name: store.report.name, open: () => Promise.resolve(store) };
      this.#sources.replace([source], store);
      this.#sources.opened(source, store);
    }
    this.#list(0);
  }

  /** Replaces the list by the page's, and shows the source that the state names. */
  list(sources: readonly AttentionSource[]): void {
    const before = this.#session.store;
    this.#sources.replace(sources.map(sourceOf), before);
    const { text } = this.#session.state;
    this.#list(Math.min(text, Math.max(0, sources.length - 1)));
    if (sources.length > 0)
      void this.show("as named", before).then(
        () => this.#session.check({ text }),
        () => {},
      );
  }

  /** Opens one source, which replaces all others. */
  async only(name: string, open: Opening): Promise<void> {
    const source = { name, open };
    await this.#open(source, "as named", () => {
      const shown = this.#session.store;
      this.#sources.replace([source], shown);
      this.#list(0);
      return shown;
    });
  }

  /** Shows a source in place of the one that is shown; the cursor stays. */
  swap(source: OpenSource): Promise<void> {
    return this.#open(source, "as named", () => {
      const { store, state } = this.#session;
      this.#sources.replace(this.#sources.list.with(state.text, source), store);
      this.#list(state.text);
      return store;
    });
  }

  /** Adds the sources that open, and shows the first of them. Those that do not are reported and left out. */
  async add(more: readonly OpenSource[]): Promise<void> {
    const failed: (() => void)[] = [];
    let [added, first]: [number, unknown] = [0, undefined];
    for (const source of more)
      try {
        if (added === 0)
          await this.#open(source, "new", () => {
            const at = this.#sources.list.length;
            this.#sources.add([source]);
            this.#list(at);
            return undefined;
          });
        else {
          await this.#store(source);
          this.#sources.add([source]);
          this.#list(this.#session.state.text);
        }
        added++;
      } catch (error) {
        const title = `${source.name} could not be opened`;
        first ??= error;
        // `#open` has reported it, but the next file removes the message.
        const isReported = added === 0;
        failed.push(() =>
          isReported ? this.#session.notify(failure(title, error)) : this.#host.failed(title, error),
        );
      }
    if (added === 0) throw first;
    for (const report of failed) report();
    this.#session.changed("push");
  }

  /** Shows the source that the state names. */
  show(at: OpensAt, old?: HeadStore): Promise<void> {
    const { list } = this.#sources;
    const source = list[Math.min(this.#session.state.text, list.length - 1)];
    return this.#open(source, at, () => old);
  }

  /** Publishes the list of sources and the index of the one shown. */
  #list(text: number): void {
    const session = this.#session;
    session.sources = this.#sources.list;
    session.state = { ...session.state, text };
  }

  /**
   * Opens a source and shows it.
   *
   * @param at where the cursor moves
   * @param before called once the source is open; returns the store to dispose of
   */
  async #open(source: OpenSource, at: OpensAt, before: () => HeadStore | undefined): Promise<void> {
    const what = source.name;
    this.#opening?.abort();
    const control = new AbortController();
    this.#opening = control;
    const session = this.#session;
    const progress = (done: number) => {
      if (control.signal.aborted) return;
      session.status = { kind: "loading", what, done };
      session.changed();
      this.#host.progressed({ what, done });
    };
    progress(0);
    startAhead();
    try {
      const store = await this.#sources.store(source, control.signal, progress, session.store);
      const patch = at === "as named" ? {} : await this.#carried(store, at);
      if (control.signal.aborted) return;
      const old = before();
      // What is wrong with the page stays so with another file.
      session.notices = [...session.notices.filter(({ stays }) => stays), ...noticesOf(store)];
      session.open(store, patch, source.model);
      if (old !== store) old?.dispose();
      this.#host.opened(store);
    } catch (error) {
      if (control.signal.aborted) return;
      this.#host.failed(`Could not open ${what}`, error);
      throw error;
    }
  }

  /** Where a text opens: at the cursor's tokens, or at a telling link. */
  async #carried(store: HeadStore, at: "carried" | "new"): Promise<Partial<State>> {
    const { state, block } = this.#session;
    // A page that names a head, and an address that names one for its first text, are shown that head.
    const isNamed =
      this.#host.namesHead() ||
      (block === undefined && state.layer + state.head + state.query + state.key > 0);
    const { carried } = await import("../state/carried.ts");
    const isSameModel = this.#session.store?.report.model === store.report.model;
    return carried(state, block, store, { isNew: at === "new" && !isNamed, isSameModel });
  }

  #store(source: OpenSource): Promise<HeadStore> {
    return this.#sources.store(source, new AbortController().signal, () => {}, this.#session.store);
  }
}

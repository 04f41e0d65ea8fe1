/** The state of a mounted page: the newest one, and the last one whose numbers have arrived, which is what the page shows. */
import { decodeState, encodeState, type LabState } from "../fields.ts";
import { type Change, changeOf, type LabView, type NamedPage } from "../page.ts";

export class PageState<S extends LabState, N> {
  readonly page: NamedPage<S, N>;
  /** The newest state. */
  newest: S;
  /** The last state whose numbers have arrived. */
  computed: { readonly state: S; readonly numbers: N } | undefined;
  /** Whether the reader has changed something. */
  changed: boolean;
  /** Whether the reader has pointed at something, which counts for tasks. */
  pointed = false;
  /** Earlier states, for Undo: one for each change of the reader, and one where the text replaced the reader's state. */
  readonly #history: S[] = [];
  #lastPush = Number.NEGATIVE_INFINITY;
  /** Whether the newest state is the reader's and not that of a step. */
  #isReaders = false;
  /** Whether the address had a state: the picture stays in it until a second step is reached. */
  readonly fromAddress: boolean;

  /** `hash` is the fragment of the address, "" where the page does not own the address. */
  constructor(page: NamedPage<S, N>, hash: string) {
    this.page = page;
    this.newest = page.check(decodeState(page.fields, hash));
    this.fromAddress = this.address !== "";
    this.changed = this.fromAddress;
  }

  /** The fragment of the newest state's address. */
  get address(): string {
    return encodeState(this.page.fields, this.newest);
  }

  /** Whether there is something to undo. */
  get canUndo(): boolean {
    return this.#history.length > 0;
  }

  /** A change by the reader begins; a drag is one change. */
  beforeReader(now: number): void {
    if (now - this.#lastPush > 700) this.#push();
    this.#lastPush = now;
    this.#isReaders = true;
  }

  /** The text is about to set the state. Returns whether the state that it replaces was the reader's. */
  beforeText(): boolean {
    const isReaders = this.#isReaders;
    if (isReaders) this.#push();
    this.#isReaders = false;
    return isReaders;
  }

  /** Goes back to the state before the last change. */
  undo(): void {
    this.newest = this.#history.pop() ?? this.newest;
    this.#lastPush = Number.NEGATIVE_INFINITY;
    this.#isReaders = true;
  }

  #push(): void {
    this.#history.push(this.newest);
    if (this.#history.length > 100) this.#history.shift();
  }

  /** Changes the newest state. */
  set(change: Partial<S>): void {
    this.newest = this.page.check({ ...this.newest, ...change });
  }

  /** Goes to the state of an address. */
  open(hash: string): void {
    this.newest = this.page.check(decodeState(this.page.fields, hash));
  }

  /** Goes to the state of a step of the text. */
  reset(step: Change<S> | undefined): void {
    const { initial } = this.page;
    this.newest = this.page.check({ ...initial, ...changeOf(step, initial) });
  }

  /** What is shown; undefined before the first numbers. */
  view(wide: boolean): LabView<S, N> | undefined {
    return this.computed && { ...this.computed, wide, changed: this.changed };
  }

  /** The newest state with the latest numbers: a change starts from the state that was requested last. */
  latest(wide: boolean): LabView<S, N> | undefined {
    const view = this.view(wide);
    return view && { ...view, state: this.newest };
  }
}

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

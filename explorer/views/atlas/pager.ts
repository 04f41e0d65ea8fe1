/** Pages of the overview in the left column: which rows are shown, and two buttons that turn to the page before and after. */
import type { Session } from "../../app/session.ts";
import { make } from "../../canvas/dom.ts";
import type { HeadGrid } from "../../state/metrics.ts";
import { sameHead } from "../../state/state.ts";

/** Rows of a page, at most, and the rows from which on there are pages. */
const PAGED = 24;
const UNPAGED = 32;

export class Pager {
  readonly root = make("p", "pager", { hidden: "" });
  readonly #back: HTMLButtonElement;
  readonly #label = make("span");
  readonly #forward: HTMLButtonElement;
  #page = 0;
  /** The head and the order for which the page was chosen. */
  #chosenFor = "";

  /** @param turned called when the user turns a page */
  constructor(turned: () => void) {
    const button = (text: string, label: string, by: number) => {
      const attributes = { type: "button", "aria-label": label };
      const one = make("button", "bordered", attributes, new Text(text));
      one.addEventListener("click", () => {
        this.#page += by;
        turned();
      });
      return one;
    };
    this.#back = button("‹", "Heads before", -1);
    this.#forward = button("›", "Heads after", 1);
    this.root.append(this.#back, this.#label, this.#forward);
  }

  /** The rows that are shown; undefined: all. The page has the cursor's head, until another is turned to. */
  rowsOf(
    { state, block }: Session,
    { rows, placed }: HeadGrid,
  ): { readonly first: number; readonly rows: number } | undefined {
    this.root.hidden = rows <= UNPAGED;
    if (this.root.hidden) return undefined;
    const inOrder = state.sort === "";
    // A page of layers ends with one.
    const perLayer = inOrder ? rows / (block?.layers.length ?? rows) : 1;
    const size = Math.max(1, Math.floor(PAGED / perLayer)) * perLayer;
    const count = Math.ceil(rows / size);
    const key = JSON.stringify([state.block, state.layer, state.head, state.sort, state.flipped]);
    if (key !== this.#chosenFor) {
      this.#chosenFor = key;
      this.#page = Math.floor((placed.find((head) => sameHead(head, state))?.row ?? 0) / size);
    }
    this.#page = Math.max(0, Math.min(count - 1, this.#page));
    const first = this.#page * size;
    this.#back.disabled = this.#page === 0;
    this.#forward.disabled = this.#page === count - 1;
    const layers = placed.filter(({ row }) => row >= first && row < first + size).map(({ layer }) => layer);
    this.#label.textContent = inOrder
      ? `layers ${Math.min(...layers)}–${Math.max(...layers)} of ${rows / perLayer}`
      : `page ${this.#page + 1} of ${count}`;
    return { first, rows: Math.min(size, rows - first) };
  }
}

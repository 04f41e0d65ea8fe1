/**
 * One column of tokens for keyboards and screen readers: a list box after the ARIA pattern, with the full number of options and
 * elements for the eight options around the cursor, one of which is focusable. The focused option covers its token in the
 * picture, so that screen magnifiers follow it.
 */
import { make, nth, put } from "../../canvas/dom.ts";
import { setLang } from "../../canvas/labels.ts";
import type { PixelBox } from "../matrix/frame.ts";

/** How many options have elements. */
const SIDE = 8;
/** The width of the focus ring in pixels. */
const RING = 2;

/** The content of a list. Places are those of the picture. */
export interface Listed {
  readonly label: string;
  readonly count: number;
  /** The cursor's place. */
  readonly place: number;
  /** Whether this column has the keyboard focus. */
  readonly active: boolean;
  readonly name: (place: number) => string;
  /** The language of the names. */
  readonly lang: string | undefined;
  /** The text of the cursor's option. */
  readonly text: string;
  readonly selected: (place: number) => boolean;
  /** The box of the cursor's token, relative to the list. */
  readonly box: PixelBox | undefined;
}

export class TokenList {
  readonly root = make("div", "list", { role: "listbox", "aria-multiselectable": "true" });
  readonly #options: HTMLElement[] = [];
  #current: HTMLElement | undefined;

  get focused(): boolean {
    return this.root.contains((this.root.getRootNode() as ShadowRoot).activeElement);
  }

  focus(): void {
    this.#current?.focus({ preventScroll: true });
  }

  update(listed: Listed): void {
    const { count, place, active, name, lang, text, selected, box } = listed;
    this.root.setAttribute("aria-label", listed.label);
    this.root.hidden = count === 0;
    const first = Math.floor(place / SIDE) * SIDE;
    const focused = this.focused;
    for (let n = 0; n < SIDE; n++) {
      const at = first + n;
      const option = nth(this.#options, n, this.root, () => make("div", "", { role: "option" }));
      option.hidden = at >= count;
      if (at >= count) continue;
      const current = at === place;
      option.setAttribute("aria-posinset", String(at + 1));
      option.setAttribute("aria-setsize", String(count));
      option.setAttribute("aria-selected", String(selected(at)));
      option.tabIndex = current && active ? 0 : -1;
      const label = current ? text : name(at);
      if (option.textContent !== label) option.textContent = label;
      // The cursor's option has a sentence in the language of the page.
      setLang(option, label === name(at) ? lang : undefined);
      if (!current) continue;
      this.#current = option;
      if (box === undefined) continue;
      // The ring is outside, 2 pixels wide: it covers no letter, and the stage does not cut it off.
      const start = box.x < RING ? RING : 0;
      const { x, y, width, height } = box;
      put(option, { left: x + start, top: y + RING, width: width - RING, height: height - 2 * RING });
    }
    if (focused && active) this.focus();
  }
}

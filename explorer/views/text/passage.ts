/**
 * One running text on the page: only visible lines have elements. It is a list box after the ARIA pattern: its tokens are the
 * options, with their full number, and one of them is focusable.
 */
import { make, put } from "../../canvas/dom.ts";
import { setLang } from "../../canvas/labels.ts";
import { flow, GAP, lineOf, paddingOf, type TextLine, type Unit } from "./flow.ts";
import type { Tint } from "./ink.ts";

/** The height of a line as a multiple of the font size. */
export const LEADING = 2;
/** How many lines are rendered beyond each edge of the viewport. */
const OVERSCAN = 3;

/** The appearance of a unit, and its label if it differs from its text. */
export interface Look {
  /** Its colors; undefined if it has no value. */
  readonly tint: Tint | undefined;
  /** Its value as a share of full color, 0 to 1; 0 without one. */
  readonly strength: number;
  /** Classes: masked, hidden, non-finite, outside, chosen, pointed. */
  readonly kind: string;
  readonly selected: boolean;
  readonly label: string | undefined;
}

/** The arguments of a layout. */
export interface Passed {
  readonly units: readonly Unit[];
  readonly direction: "ltr" | "rtl";
  /** The language of the text, if the file names it. */
  readonly lang: string | undefined;
  readonly width: number;
  /** The font size in pixels. */
  readonly size: number;
  readonly label: string;
  /** Changes when the same units get other widths. */
  readonly key: string;
  readonly measure: (text: string) => number;
}

const LISTBOX = { role: "listbox", "aria-multiselectable": "true", "aria-orientation": "horizontal" };

export class Passage {
  readonly root = make("div", "passage", LISTBOX);
  lines: readonly TextLine[] = [];
  #units: readonly Unit[] = [];
  #key = "";
  /** The height of a line in pixels. */
  #line = 30;
  #lang: string | undefined;
  #measure: (text: string) => number = () => 0;
  readonly #shown = new Map<number, HTMLElement>();
  readonly #looks = new WeakMap<HTMLElement, string>();

  get focused(): boolean {
    return this.root.contains((this.root.getRootNode() as ShadowRoot).activeElement);
  }

  /** Breaks the text into lines if anything about it has changed. */
  lay({ units, direction, lang, width, size, label, key, measure }: Passed): void {
    this.root.setAttribute("aria-label", label);
    const look = `${key} ${width} ${size} ${direction} ${lang}`;
    this.#line = LEADING * size;
    if (look === this.#key && units === this.#units) return;
    this.#key = look;
    this.#units = units;
    this.#lang = lang;
    this.#measure = measure;
    this.lines = flow(units, width, measure);
    this.#shown.clear();
    this.root.replaceChildren();
    this.root.dir = direction;
    this.root.style.setProperty("height", `${this.lines.length * this.#line}px`);
  }

  /** Renders the lines between two heights and the line of `active`, and styles their units. */
  show(top: number, bottom: number, active: number, roving: boolean, lookOf: (unit: number) => Look): void {
    const first = Math.max(0, Math.floor(top / this.#line) - OVERSCAN);
    const end = Math.min(this.lines.length, Math.ceil(bottom / this.#line) + OVERSCAN);
    const activeLine = lineOf(this.lines, active);
    for (const [n, element] of this.#shown)
      if ((n < first || n >= end) && n !== activeLine) {
        element.remove();
        this.#shown.delete(n);
      }
    const wanted = Array.from({ length: Math.max(0, end - first) }, (_, n) => first + n);
    if (this.lines.length > 0 && !wanted.includes(activeLine)) wanted.push(activeLine);
    for (const n of wanted) if (!this.#shown.has(n)) this.#make(n);
    for (const [n, element] of this.#shown) {
      const { first: from } = this.lines[n];
      for (let c = 0; c < element.children.length; c++) {
        const unit = from + c;
        this.dress(element.children[c] as HTMLElement, lookOf(unit), roving && unit === active);
      }
    }
  }

  /** Creates the element of a line, and inserts it in reading order. */
  #make(n: number): void {
    const { first, end } = this.lines[n];
    const line = make("div", "line-of-text", { role: "none" });
    put(line, { top: n * this.#line });
    for (let unit = first; unit < end; unit++) {
      const { apart } = this.#units[unit];
      const element = optionOf(unit, this.#units, this.#lang);
      element.dataset.apart = String(apart && unit > first);
      // Pieces of a word are adjacent.
      element.dataset.joins = `${apart || unit === 0 ? "" : "before "}${this.#units[unit + 1]?.apart === false ? "after" : ""}`;
      line.append(element);
    }
    const after = [...this.#shown.keys()].filter((other) => other > n).sort((a, b) => a - b)[0];
    this.root.insertBefore(line, after === undefined ? null : (this.#shown.get(after) ?? null));
    this.#shown.set(n, line);
  }

  /** Styles an option, if its look has changed. */
  protected dress(element: HTMLElement, { tint, kind, selected, label }: Look, active: boolean): void {
    const look = `${tint?.ground} ${kind} ${selected} ${label} ${active}`;
    if (this.#looks.get(element) === look) return;
    this.#looks.set(element, look);
    element.className = `unit ${kind}${tint ? " tinted" : ""}`;
    for (const [name, value] of [
      ["background-color", tint?.ground],
      ["color", tint?.ink],
    ] as const)
      if (value === undefined) element.style.removeProperty(name);
      else element.style.setProperty(name, value);
    element.setAttribute("aria-selected", String(selected));
    element.tabIndex = active ? 0 : -1;
    if (label === undefined) element.removeAttribute("aria-label");
    else element.setAttribute("aria-label", label);
  }

  /** The element of a unit if its line is rendered. */
  element(unit: number): HTMLElement | undefined {
    const n = lineOf(this.lines, unit);
    return this.#shown.get(n)?.children[unit - (this.lines[n]?.first ?? 0)] as HTMLElement | undefined;
  }

  /** The unit at the target of an event. */
  unitAt(event: Event): number | undefined {
    const target = event.target as HTMLElement;
    const hit = target.closest<HTMLElement>("[data-unit]");
    return hit && this.root.contains(hit) ? Number(hit.dataset.unit) : undefined;
  }

  /** The horizontally nearest unit `by` lines below (or above, if negative). */
  across(unit: number, by: number): number {
    const n = lineOf(this.lines, unit);
    const to = Math.max(0, Math.min(this.lines.length - 1, n + by));
    if (to === n) return by < 0 ? this.lines[n].first : this.lines[n].end - 1;
    const middle = (line: TextLine, wanted: number) => {
      let x = 0;
      for (let u = line.first; u < wanted; u++)
        x += this.#measure(this.#units[u].text) + paddingOf(this.#units, u) + GAP;
      return x + this.#measure(this.#units[wanted].text) / 2;
    };
    const x = middle(this.lines[n], unit);
    let best = this.lines[to].first;
    for (let u = best; u < this.lines[to].end; u++)
      if (Math.abs(middle(this.lines[to], u) - x) < Math.abs(middle(this.lines[to], best) - x)) best = u;
    return best;
  }

  /** The first and last unit of a unit's line. */
  ends(unit: number): readonly [number, number] {
    const { first, end } = this.lines[lineOf(this.lines, unit)];
    return [first, end - 1];
  }
}

/** The element of a unit: an option of the list box with its text. */
export function optionOf(unit: number, units: readonly Unit[], lang: string | undefined): HTMLElement {
  const [place, size] = [String(unit + 1), String(units.length)];
  const attributes = { role: "option", "aria-posinset": place, "aria-setsize": size, dir: "auto" };
  const element = make("span", "", { ...attributes, "data-unit": String(unit) });
  // The language applies to the text of a unit, not to its label.
  const inner = lang === undefined ? element : element.appendChild(make("span"));
  inner.textContent = units[unit].text;
  setLang(inner, lang);
  return element;
}

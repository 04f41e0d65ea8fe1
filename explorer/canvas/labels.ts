/**
 * Token labels along a picture: elements that are used again as the picture moves, thinned out where they would touch,
 * with the cursor's and the pointer's always there. Text only, never markup; each in its own direction of writing.
 */
import { widthOf } from "../../src/store/text/label.ts";
import { type Axis, indexAt, placeOf } from "./axis.ts";

/** Pixels a label takes along its edge, at least. */
const PITCH = 15;
/** Width of one column of the 12-px monospaced font. */
export const EM = 7.25;

/** Says an element's language, or takes it away where none is named. */
export function speak(element: HTMLElement, lang: string | undefined): void {
  if (lang === undefined) element.removeAttribute("lang");
  else if (element.lang !== lang) element.lang = lang;
}

/** Every n-th label is shown: 1, 2, 5, 10, 20 … */
export function thinning(pixels: number): number {
  for (let ten = 1; ; ten *= 10)
    for (const n of [1, 2, 5]) if (n * ten * pixels >= PITCH || n * ten > 1e7) return n * ten;
}

const widest = new WeakMap<readonly string[], number>();

/** Pixels the longest of these labels takes, at most so many. Long lists are looked at in part, and each once. */
export function roomFor(labels: readonly string[], most: number): number {
  let columns = widest.get(labels);
  if (columns === undefined) {
    columns = 1;
    const step = Math.max(1, Math.floor(labels.length / 512));
    for (let i = 0; i < labels.length; i += step)
      columns = Math.max(columns, widthOf(labels[i].slice(0, 24)));
    widest.set(labels, columns);
  }
  return Math.min(most, Math.ceil(columns * EM) + 2);
}

/** Where a strip of labels is looked at: pixels a place, the first place seen, and the pixels seen. */
export interface Sight {
  readonly pixels: number;
  readonly from: number;
  readonly length: number;
}

/** What is marked among the labels. */
export interface Marks {
  readonly cursor: number;
  readonly pointed: number | undefined;
  readonly chosen: ReadonlySet<number>;
  readonly faded: ReadonlySet<number>;
  /** Named too where there is room, the first ones first. */
  readonly named?: readonly number[];
}

export class Labels {
  readonly root: HTMLElement;
  readonly #side: "rows" | "columns";
  readonly #used: HTMLElement[] = [];

  constructor(side: "rows" | "columns") {
    this.#side = side;
    this.root = document.createElement("div");
    this.root.className = `labels ${side}`;
    this.root.setAttribute("aria-hidden", "true");
  }

  update(
    axis: Axis,
    labels: readonly string[],
    { pixels, from, length }: Sight,
    marks: Marks,
    lang?: string,
  ): void {
    speak(this.root, lang);
    const step = thinning(pixels);
    const places = new Map<number, boolean>();
    const first = Math.max(0, Math.ceil(Math.floor(from) / step) * step);
    for (let place = first; place < Math.min(axis.count, from + length / pixels); place += step)
      places.set(place, false);
    // What is pointed at is always named; labels that overlap it are hidden.
    for (const index of [marks.cursor, marks.pointed]) {
      const place = index === undefined ? undefined : placeOf(axis, index);
      if (place === undefined || place < Math.floor(from) || place > from + length / pixels) continue;
      for (const other of places.keys())
        if (other !== place && !places.get(other) && Math.abs(other - place) * pixels < PITCH)
          places.delete(other);
      places.set(place, true);
    }
    for (const index of marks.named ?? []) {
      const place = placeOf(axis, index);
      if (place === undefined || place < Math.floor(from) || place > from + length / pixels) continue;
      const near = [...places].filter(([other]) => Math.abs(other - place) * pixels < PITCH);
      if (near.some(([other, strong]) => strong && other !== place)) continue;
      for (const [other] of near) if (other !== place) places.delete(other);
      places.set(place, true);
    }
    let used = 0;
    for (const [place, strong] of places) {
      const index = indexAt(axis, place);
      if (index === undefined) continue;
      const element = this.#element(used++);
      const text = labels[index] ?? "";
      if (element.textContent !== text) element.textContent = text;
      const kind = `token${strong ? " strong" : ""}${marks.chosen.has(index) ? " chosen" : ""}${marks.faded.has(index) ? " faded" : ""}`;
      if (element.className !== kind) element.className = kind;
      const middle = (place + 0.5 - from) * pixels;
      element.style.setProperty(
        "transform",
        this.#side === "rows"
          ? `translateY(${middle.toFixed(2)}px) translateY(-50%)`
          : `translateX(${middle.toFixed(2)}px) rotate(-60deg)`,
      );
      element.hidden = false;
    }
    for (let i = used; i < this.#used.length; i++) this.#used[i].hidden = true;
  }

  #element(i: number): HTMLElement {
    let element = this.#used[i];
    if (element === undefined) {
      element = document.createElement("span");
      element.dir = "auto";
      this.#used.push(element);
      this.root.append(element);
    }
    return element;
  }
}

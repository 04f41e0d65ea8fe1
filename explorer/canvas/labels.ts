/**
 * Token labels along a picture. Elements are reused as the picture moves. Labels that would overlap are skipped, but those of
 * the cursor and the pointer are always shown. Labels are text, never markup, each with its own text direction.
 */
import { widthOf } from "../../src/store/text/label.ts";
import { type Axis, indexAt, placeOf } from "./axis.ts";

/** The minimum distance of two labels in pixels. The font gets smaller where they are near. */
const PITCH = 11;
/** Width of one column of the 12-px monospaced font. */
const EM = 7.25;

/** Sets an element's language, or removes it if undefined. */
export function setLang(element: HTMLElement, lang: string | undefined): void {
  if (lang === undefined) element.removeAttribute("lang");
  else if (element.lang !== lang) element.lang = lang;
}

/** The n of "every n-th label is shown": 1, 2, 5, 10, 20 … */
function thinning(pixels: number): number {
  for (let ten = 1; ; ten *= 10)
    for (const n of [1, 2, 5]) if (n * ten * pixels >= PITCH || n * ten > 1e7) return n * ten;
}

const widest = new WeakMap<readonly string[], number>();

/** The width of the longest label in pixels, at most `max`. Measures at most about 512 labels, and caches the result. */
export function labelWidth(labels: readonly string[], max: number): number {
  let columns = widest.get(labels);
  if (columns === undefined) {
    columns = 1;
    const step = Math.max(1, Math.floor(labels.length / 512));
    for (let i = 0; i < labels.length; i += step)
      columns = Math.max(columns, widthOf(labels[i].slice(0, 24)));
    widest.set(labels, columns);
  }
  return Math.min(max, Math.ceil(columns * EM) + 2);
}

/** The visible part of a strip of labels: pixels per place, the first visible place, and the visible length in pixels. */
export interface Sight {
  readonly pixels: number;
  readonly from: number;
  readonly length: number;
}

/** The labels that look different, or are always shown. */
export interface Marks {
  readonly cursor: number;
  readonly pointed: number | undefined;
  readonly chosen: ReadonlySet<number>;
  readonly faded: ReadonlySet<number>;
  /** Indices that are labeled too if they do not overlap, in order of priority. */
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
    setLang(this.root, lang);
    const step = thinning(pixels);
    // Names of columns are slanted by 60 degrees, so they are nearer to each other than their columns.
    const apart = step * pixels * (this.#side === "rows" ? 1 : 0.87);
    this.root.style.fontSize = `clamp(10px,${apart - 1}px,12px)`;
    const places = new Map<number, boolean>();
    const first = Math.max(0, Math.ceil(Math.floor(from) / step) * step);
    for (let place = first; place < Math.min(axis.count, from + length / pixels); place += step)
      places.set(place, false);
    // The cursor and the pointer are always labeled; labels that overlap them are hidden.
    for (const [order, index] of [marks.cursor, marks.pointed, ...(marks.named ?? [])].entries()) {
      const place = index === undefined ? undefined : placeOf(axis, index);
      if (place === undefined || place < Math.floor(from) || place > from + length / pixels) continue;
      const near = [...places].filter(
        ([other]) => other !== place && Math.abs(other - place) * pixels < PITCH,
      );
      if (order > 1 && near.some(([, strong]) => strong)) continue;
      for (const [other, strong] of near) if (!strong) places.delete(other);
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

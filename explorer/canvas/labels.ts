/**
 * Token labels along a picture. Elements are reused as the picture moves. Labels that would overlap are skipped, but those of
 * the cursor and the pointer are always shown. Labels are text, never markup, each with its own text direction.
 */
import { widthOf } from "../../src/store/text/label.ts";
import { keepApart } from "../../src/view/plot/labels.ts";
import { niceStep } from "../../src/view/plot/scale.ts";
import { type Axis, indexAt, placeOf } from "./axis.ts";
import { HIDDEN, make, nth } from "./dom.ts";

/** The minimum distance of two labels in pixels. The font gets smaller where they are near. */
const PITCH = 11;
/** Width of one column of the 12-px monospaced font. */
const EM = 7.25;

/** Sets an element's language, or removes it if undefined. */
export function setLang(element: HTMLElement, lang: string | undefined): void {
  if (lang === undefined) element.removeAttribute("lang");
  else if (element.lang !== lang) element.lang = lang;
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
export interface LabelMarks {
  readonly cursor: number;
  readonly pointed: number | undefined;
  readonly chosen: ReadonlySet<number>;
  readonly faded: ReadonlySet<number>;
  /** Indices that are labeled too if they do not overlap, in order of priority. */
  readonly named?: readonly number[];
}

/** Every how many tokens have a label: 1, 2, 5, 10, 20 … */
const labelStep = (pixels: number): number => Math.max(1, niceStep(PITCH / pixels));

/** The places with a label. Those of the cursor and the pointer are always drawn; then named ones, then every n-th, where no other is near. */
export function visibleLabels(
  axis: Axis,
  { pixels, from, length }: Sight,
  { cursor, pointed, named = [] }: Pick<LabelMarks, "cursor" | "pointed" | "named">,
): readonly { readonly place: number; readonly strong: boolean }[] {
  const [first, end] = [Math.floor(from), from + length / pixels];
  const at = (place: number) => ({ place, at: place * pixels });
  const strong = [cursor, pointed, ...named].flatMap((index, order) => {
    const place = index === undefined ? undefined : placeOf(axis, index);
    if (place === undefined || place < first || place > end) return [];
    return [{ ...at(place), strong: true, always: order < 2 }];
  });
  const regular = [];
  const step = labelStep(pixels);
  for (
    let place = Math.max(0, Math.ceil(first / step) * step);
    place < Math.min(axis.count, end);
    place += step
  )
    regular.push({ ...at(place), strong: false, always: false });
  // A step is never dropped for a rounding error.
  return keepApart([...strong, ...regular], PITCH - 0.01);
}

export class Labels {
  readonly root: HTMLElement;
  readonly #edge: "rows" | "columns";
  readonly #elements: HTMLElement[] = [];

  constructor(edge: "rows" | "columns") {
    this.#edge = edge;
    this.root = make("div", `labels ${edge}`, HIDDEN);
  }

  update(axis: Axis, labels: readonly string[], sight: Sight, marks: LabelMarks, lang?: string): void {
    setLang(this.root, lang);
    const isRow = this.#edge === "rows";
    // Names of columns are slanted by 60 degrees, so they are nearer to each other than their columns.
    const apart = labelStep(sight.pixels) * sight.pixels * (isRow ? 1 : 0.87);
    this.root.style.fontSize = `clamp(10px,${apart - 1}px,12px)`;
    let count = 0;
    for (const { place, strong } of visibleLabels(axis, sight, marks)) {
      const index = indexAt(axis, place);
      if (index === undefined) continue;
      const element = nth(this.#elements, count++, this.root, () => make("span", "", { dir: "auto" }));
      const text = labels[index] ?? "";
      if (element.textContent !== text) element.textContent = text;
      const kind = `token${strong ? " strong" : ""}${marks.chosen.has(index) ? " chosen" : ""}${marks.faded.has(index) ? " faded" : ""}`;
      if (element.className !== kind) element.className = kind;
      const middle = ((place + 0.5 - sight.from) * sight.pixels).toFixed(2);
      element.style.setProperty(
        "transform",
        isRow ? `translateY(${middle}px) translateY(-50%)` : `translateX(${middle}px) rotate(-60deg)`,
      );
      element.hidden = false;
    }
    for (let i = count; i < this.#elements.length; i++) this.#elements[i].hidden = true;
  }
}

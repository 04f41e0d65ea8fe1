/**
 * Marks of the Lab's pictures. Colors are classes of the style sheet, so that one markup serves light and dark pages;
 * elements and escaping are those of the explorer's figures.
 */
import { levelOf, placeOf } from "../../src/view/color.ts";
import { type Attributes, element, escapeXml } from "../../src/view/figure/sheet.ts";

/** Steps of the weight scale as classes: w0 to w32. */
export const LEVELS = 32;

/** An element; `inside` is markup. */
export const mark = element;

/** A text; size and color by class. */
export function label(x: number, y: number, text: string, attributes: Attributes = {}): string {
  return element("text", { x, y, ...attributes }, escapeXml(text));
}

/** The class of a weight's color: the explorer's scale, square root. */
export function weightClass(weight: number): string {
  return `w${Math.round((levelOf(placeOf(weight)) * LEVELS) / 255)}`;
}

/** The class of a text on a weight's color: ink or paper, whichever is easier to read there. */
export function textClass(weight: number): string {
  return weightClass(weight).replace("w", "t");
}

/** A group that code can point at by its name. */
export function named(name: string, inside: string): string {
  return element("g", { "data-name": name }, inside);
}

/** Marks that can be dragged and moved by keys: a slider for screen readers. */
export function draggable(
  name: string,
  description: string,
  value: { readonly now: number; readonly min: number; readonly max: number; readonly text: string },
  inside: string,
): string {
  return element(
    "g",
    {
      "data-drag": name,
      "data-key": name,
      tabindex: "0",
      role: "slider",
      class: "drag",
      "aria-label": description,
      "aria-valuemin": String(value.min),
      "aria-valuemax": String(value.max),
      "aria-valuenow": String(value.now),
      "aria-valuetext": value.text,
    },
    inside,
  );
}

/** Marks that act when pressed, with a name for screen readers. */
export function pressable(act: string, description: string, pressed: boolean, inside: string): string {
  return element(
    "g",
    {
      "data-act": act,
      "data-key": act,
      tabindex: "0",
      role: "button",
      class: "press",
      "aria-label": description,
      "aria-pressed": String(pressed),
    },
    inside,
  );
}

/** A straight line. */
export function line(x1: number, y1: number, x2: number, y2: number, name: string): string {
  return element("line", { x1, y1, x2, y2, class: name });
}

/** The reader's guess on an axis: a line, and its label with the middle at (x, y). */
export const guessLine = (x1: number, y1: number, x2: number, y2: number, x: number, y: number): string =>
  line(x1, y1, x2, y2, "lk") + label(x, y, "your guess", { class: "mid tk bold s11 halo" });

/** The reader's guess as text, where the picture has no axis for it. */
export const guessText = (x: number, y: number, guess: string, name = ""): string =>
  label(x, y, `your guess: ${guess}`, { class: `tk bold s11 halo ${name}` });

/** An arrow from a point to a point, with its head at the end. */
export function arrow(x1: number, y1: number, x2: number, y2: number, name: string, head = 6): string {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 0.5) return element("circle", { cx: x1, cy: y1, r: 1.5, class: `${name} solid` });
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const h = Math.min(head, length);
  const [bx, by] = [x2 - ux * h, y2 - uy * h];
  const points = [
    [x2, y2],
    [bx - uy * h * 0.5, by + ux * h * 0.5],
    [bx + uy * h * 0.5, by - ux * h * 0.5],
  ];
  return (
    line(x1, y1, bx, by, name) +
    element("polygon", {
      points: points.map((p) => p.map((c) => c.toFixed(1)).join(",")).join(" "),
      class: `${name} solid`,
    })
  );
}

/**
 * Marks of the Lab's pictures. Colors are classes of the style sheet, so that one markup serves light and dark pages;
 * axes, scales and elements are those of the plot kit (src/view/plot).
 */
import { levelOf, placeOf } from "../../src/view/level.ts";
import { type AxisOptions, axis } from "../../src/view/plot/axis.ts";
import { type Attributes, element, text } from "../../src/view/plot/svg.ts";

/** Steps of the weight scale as classes: w0 to w32. */
export const LEVELS = 32;

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

/** Marks that can be dragged and moved by keys: a slider for screen readers. `kind` is another class: "free" or "across". */
export function draggable(
  name: string,
  description: string,
  value: { readonly now: number; readonly min: number; readonly max: number; readonly text: string },
  inside: string,
  kind = "",
): string {
  return element(
    "g",
    {
      "data-drag": name,
      "data-key": name,
      tabindex: "0",
      role: "slider",
      class: `drag ${kind}`.trim(),
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
export function pressable(
  act: string,
  description: string,
  pressed: boolean,
  inside: string,
  more: Attributes = {},
): string {
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
      ...more,
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
  line(x1, y1, x2, y2, "link") + text(x, y, "your guess", { class: "mid bold s11 halo" });

/** The reader's guess as text, where the picture has no axis for it. */
export const guessText = (x: number, y: number, guess: string, name = ""): string =>
  text(x, y, `your guess: ${guess}`, { class: `bold s11 halo ${name}` });

/** An axis whose labels and lines have the Lab's classes: below the plot with a line along it, or on its left or right. */
export const axisOf = (
  anchor: AxisOptions["anchor"],
  scale: AxisOptions["scale"],
  at: number,
  ticks: readonly number[],
  options: Partial<AxisOptions> = {},
): string => axis({ anchor, scale, at, ticks, style: AXIS, line: anchor === "bottom", ...options });

const AXIS = {
  label: { class: "third s11" },
  title: { class: "second s12" },
  line: { class: "lthird" },
  grid: { class: "lline" },
};

/** A number with a true minus sign. */
export const signed = (value: number, digits = 0): string => value.toFixed(digits).replace("-", "−");

/** A rectangle between two corners, in any order. */
export const rect = (x0: number, y0: number, x1: number, y1: number, attributes: Attributes): string =>
  element("rect", {
    ...{ x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) },
    ...attributes,
  });

/** A table of weights: where it is, the size of a cell, and from which weight on a cell has its percentage. */
export interface WeightGrid {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly labelFrom: number;
  /** The class of a cell; by default the color of its weight. */
  readonly color?: (weight: number) => string;
  /** Class of the percentages. */
  readonly label?: string;
}

/** Cells in the colors of weights, row by row, with the percentages of the larger ones. */
export const weightCells = (
  rows: readonly (readonly number[])[],
  { x, y, width, height, labelFrom, color = weightClass, label = "s11" }: WeightGrid,
): string =>
  rows
    .flatMap((row, i) =>
      row.map((weight, j) => {
        const [left, top] = [x + j * width, y + i * height];
        const inside = text(left + width / 2, top + height / 2 + 4, (100 * weight).toFixed(0), {
          class: `mid mono ${label} ${textClass(weight)}`,
        });
        return (
          rect(left + 0.5, top + 0.5, left + width - 0.5, top + height - 0.5, {
            class: color(weight),
          }) + (weight >= labelFrom ? inside : "")
        );
      }),
    )
    .join("");

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

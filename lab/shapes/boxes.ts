/** What both pictures draw: boxes, edges that can be pulled, numbers that can be dragged, and heed's message. */
import { element, text } from "../../src/view/plot/svg.ts";
import { wrapped } from "../frame/fit.ts";
import { draggable, line, named } from "../frame/marks.ts";
import { type PictureBox, RANGE, type ShapesView, type Size } from "./sizes.ts";

/** A box, as the first of a stack of cards; `color` is q, k, v, w, third or b: third is what words and their mixture have, b is what does not fit. */
export function stacked(box: PictureBox, color: string, cards: number): string {
  const extra = Math.min(4, cards - 1);
  const parts: string[] = [];
  for (let i = extra; i > 0; i--)
    parts.push(
      element("rect", { ...box, x: box.x + 3 * i, y: box.y - 3 * i, class: `fpaper l${color} thin`, rx: 1 }),
    );
  parts.push(element("rect", { ...box, class: "fpaper", rx: 1 }));
  const style = color === "b" ? "none lb dash" : `f${color} soft l${color} thin`;
  parts.push(element("rect", { ...box, class: style, rx: 1 }));
  return parts.join("");
}

/**
 * An edge that can be pulled. `name` is "size:edge"; the first of a size can be reached by keys. `across` is true for edges
 * that move to the left and right.
 */
export function edge(
  { state }: ShapesView,
  name: string,
  at: { readonly x: number; readonly y: number; readonly length: number; readonly across: boolean },
  color: string,
  description?: string,
): string {
  const size = name.slice(0, name.indexOf(":")) as Size;
  const { x, y, length, across } = at;
  const [w, h] = across ? [20, Math.max(20, length)] : [Math.max(20, length), 20];
  const grip = across ? [5, Math.min(26, Math.max(12, length))] : [Math.min(26, Math.max(12, length)), 5];
  const centered = ([width, height]: readonly number[], style: string) => {
    const [left, top] = across
      ? [x - width / 2, y + (length - height) / 2]
      : [x + (length - width) / 2, y - height / 2];
    return element("rect", { x: left, y: top, width, height, rx: 2.5, class: style });
  };
  return element(
    "g",
    {
      "data-drag": name,
      class: across ? "drag across" : "drag",
      ...(description !== undefined && {
        "data-key": name,
        tabindex: "0",
        role: "slider",
        "aria-label": description,
        "aria-valuemin": String(RANGE[size][0]),
        "aria-valuemax": String(RANGE[size][1]),
        "aria-valuenow": String(state[size]),
      }),
    },
    centered([w, h], "hit") + centered(grip, `f${color} grip`),
  );
}

/** A number in a sentence that can be dragged to the left and right. */
export function dragNumber(
  { state }: ShapesView,
  size: "b" | "h",
  x: number,
  y: number,
  label: string,
  description: string,
): string {
  const width = label.length * 7 + 16;
  return draggable(
    `${size}:count`,
    description,
    { now: state[size], min: RANGE[size][0], max: RANGE[size][1], text: label },
    element("rect", { x, y: y - 16, width, height: 24, rx: 6, class: "fhover grip" }) +
      text(x + width / 2, y + 1, label, { class: "mid bold" }) +
      line(x + 8, y + 5, x + width - 8, y + 5, "lsecond dash"),
    "across",
  );
}

/** What heed says, on a card. */
export function message(error: string, wide: boolean): string {
  const lines = wrapped(error, wide ? 106 : 58);
  const [x, step] = wide ? [24, 19] : [6, 13];
  const height = lines.length * step + (wide ? 34 : 18);
  const y = (wide ? 538 : 299) - height;
  return named(
    "error",
    element("rect", { x, y, width: wide ? 812 : 363, height, rx: 6, class: "none lb" }) +
      text(x + 12, y + (wide ? 22 : 13), "heed refuses:", { class: `tb bold ${wide ? "" : "s11"}` }) +
      lines
        .map((content, i) =>
          text(x + 12, y + (wide ? 42 : 25) + i * step, content, { class: wide ? "s12 mono" : "s11" }),
        )
        .join(""),
  );
}

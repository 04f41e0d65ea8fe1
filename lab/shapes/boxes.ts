/** What both pictures draw: boxes, edges that can be pulled, numbers that can be dragged, and heed's message. */
import { label, line, mark, named } from "../frame/svg.ts";
import { type Box, type PageView, RANGE, type Size } from "./sizes.ts";

/** A box, as the first of a stack of cards; `color` is q, k, v, w or b, and b is what does not fit. */
export function stacked(box: Box, color: string, cards: number): string {
  const extra = Math.min(4, cards - 1);
  const parts: string[] = [];
  for (let i = extra; i > 0; i--)
    parts.push(
      mark("rect", { ...box, x: box.x + 3 * i, y: box.y - 3 * i, class: `fpaper l${color} thin`, rx: 1 }),
    );
  parts.push(mark("rect", { ...box, class: "fpaper", rx: 1 }));
  parts.push(
    mark("rect", {
      ...box,
      class: color === "b" ? "none lb dash" : `f${color} soft l${color} thin`,
      rx: 1,
    }),
  );
  return parts.join("");
}

/**
 * An edge that can be pulled. `name` is "size:edge"; the first of a size can be reached by keys. `across` is true for edges
 * that move to the left and right.
 */
export function edge(
  { state }: PageView,
  name: string,
  at: { readonly x: number; readonly y: number; readonly length: number; readonly across: boolean },
  color: string,
  description?: string,
): string {
  const size = name.slice(0, name.indexOf(":")) as Size;
  const { x, y, length, across } = at;
  const [w, h] = across ? [20, Math.max(20, length)] : [Math.max(20, length), 20];
  const grip = across ? [5, Math.min(26, Math.max(12, length))] : [Math.min(26, Math.max(12, length)), 5];
  return mark(
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
    mark("rect", {
      x: x - (across ? 10 : (w - length) / 2),
      y: y - (across ? (h - length) / 2 : 10),
      width: w,
      height: h,
      class: "hit",
    }) +
      mark("rect", {
        x: across ? x - 2.5 : x + length / 2 - grip[0] / 2,
        y: across ? y + length / 2 - grip[1] / 2 : y - 2.5,
        width: grip[0],
        height: grip[1],
        rx: 2.5,
        class: `f${color} grip`,
      }),
  );
}

/** A number in a sentence that can be dragged to the left and right. */
export function dragNumber(
  { state }: PageView,
  size: "b" | "h",
  x: number,
  y: number,
  unit: string,
  description: string,
): string {
  const text = `${state[size]} ${state[size] === 1 ? unit : `${unit}s`}`;
  const width = text.length * 7 + 16;
  return mark(
    "g",
    {
      "data-drag": `${size}:count`,
      "data-key": `${size}:count`,
      class: "drag across",
      tabindex: "0",
      role: "slider",
      "aria-label": description,
      "aria-valuemin": String(RANGE[size][0]),
      "aria-valuemax": String(RANGE[size][1]),
      "aria-valuenow": String(state[size]),
    },
    mark("rect", { x, y: y - 16, width, height: 24, rx: 6, class: "fhover grip" }) +
      label(x + width / 2, y + 1, text, { class: "mid bold" }) +
      line(x + 8, y + 5, x + width - 8, y + 5, "lsecond dash"),
  );
}

/** Text in lines of at most `most` letters. */
function wrapped(text: string, most: number): string[] {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== "" && last.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}

/** What heed says, on a card. */
export function message(error: string, wide: boolean): string {
  const lines = wrapped(error, wide ? 106 : 58);
  const [x, step] = wide ? [24, 19] : [6, 13];
  const height = lines.length * step + (wide ? 34 : 18);
  const y = (wide ? 538 : 299) - height;
  return named(
    "error",
    mark("rect", {
      x,
      y,
      width: wide ? 812 : 363,
      height,
      rx: 6,
      class: "none lb",
    }) +
      label(x + 12, y + (wide ? 22 : 13), "heed refuses:", { class: `tb bold ${wide ? "" : "s11"}` }) +
      lines
        .map((text, i) =>
          label(x + 12, y + (wide ? 42 : 25) + i * step, text, { class: wide ? "s12 mono" : "s11" }),
        )
        .join(""),
  );
}

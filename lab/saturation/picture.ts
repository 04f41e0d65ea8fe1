/** The pictures of the page on saturation: eight numbers with their shares and gradients, and the gradients of 2,000 rows. */

import { bandScale, dotMarks, element, powerLabel, scaleOf, text } from "../../src/view/plot/index.ts";
import { clamp } from "../frame/fields.ts";
import { axisOf, draggable, line, named, rect, signed } from "../frame/marks.ts";
import { guessOf, type LabView } from "../frame/page.ts";
import { indexOfLargest, number, percent } from "../frame/words.ts";
import type { Saturation, SaturationNumbers } from "./compute.ts";

/** What the drawing functions get. */
export type SaturationView = LabView<Saturation, SaturationNumbers>;

/** The largest of the eight numbers. */
export const REACH = 2;
/** Number 8 in the answer to the prediction. */
export const ANSWER = 1.13;

/** The columns of the eight numbers, and the heights of their parts. */
export function barsAt(wide: boolean) {
  const [left, step, width, top, height, base, middle] = wide
    ? [44, 62, 38, 40, 150, 262, 500]
    : [34, 42, 26, 22, 84, 134, 272];
  return {
    ...{ left, width, top, base, middle, right: left + step * 8 },
    column: (i: number) => left + i * step,
    band: bandScale(8, [left - (step - width) / 2, left + step * 8 - (step - width) / 2]),
    number: scaleOf({ domain: [-REACH, REACH], range: [top + height, top] }),
    share: scaleOf({ domain: [0, 1], range: [base + height, base] }),
  };
}

/** The eight numbers, which are dragged. */
function inputs({ state, wide }: SaturationView): string {
  const { column, band, width, number: y, left, right, top } = barsAt(wide);
  const marks = state.numbers.map((value, i) => {
    const [x, at] = [column(i), y(value)];
    return draggable(
      `bar:${i}`,
      `Number ${i + 1}`,
      { now: value, min: -REACH, max: REACH, text: number(value) },
      rect(band.start(i), y(REACH) - 6, band.start(i) + band.step, y(-REACH) + 6, { class: "hit" }) +
        rect(x, y(0), x + width, Math.abs(at - y(0)) < 1 ? y(0) + 1 : at, { class: "fk" }) +
        rect(x - 1, at - 4, x + width + 1, at + 4, { rx: 3, class: "fk grip" }) +
        text(band.middle(i), value >= 0 ? at - 9 : at + 18, signed(value, 2), { class: "mid s12 mono" }),
    );
  });
  const title = wide ? "eight numbers: drag them" : "eight numbers: drag";
  return [
    text(left - 8, top - 12, title, { class: "second s12" }),
    line(left - 8, y(0), right, y(0), "lthird"),
    axisOf("left", y, left - 8, [-2, 0, 2], { format: signed }),
    named("numbers", marks.join("")),
  ].join("");
}

/** Their shares, with those at × 1 as outlines. */
function shares({ state, numbers: n, wide }: SaturationView): string {
  const { column, band, width, share: y, left, right, base } = barsAt(wide);
  const top = indexOfLargest(n.shares);
  const guess = y(guessOf(state, 1) / 100);
  const marks = n.shares.map((share, i) => {
    const above = y(Math.max(share, n.plain[i])) - 5;
    // The reader's guess is marked at the last bar; a percentage in its way is moved above it.
    const covers = above > guess - (wide ? 4 : 18) && above < guess + (wide ? 14 : 12);
    const isMoved = i === 7 && guessOf(state, 1) >= 0 && state.numbers[i] === ANSWER && covers;
    return (
      rect(column(i), y(0), column(i) + width, y(share), { class: "fw" }) +
      rect(column(i) + 0.5, y(0), column(i) + width - 0.5, y(n.plain[i]), { class: "none lsecond dash" }) +
      text(band.middle(i), isMoved ? guess - (wide ? 5 : 18) : above, percent(share), {
        class: `mid mono ${wide ? "s12" : "s11"}${i === top ? " bold" : ""}`,
      })
    );
  });
  const title = wide
    ? `their shares of attention at × ${number(state.times)}, and at × 1 (outline)`
    : `shares at × ${number(state.times)} (outline: × 1)`;
  return [
    text(left - 8, base - 12, title, { class: "second s12" }),
    line(left - 8, y(0), right, y(0), "lthird"),
    axisOf("left", y, left - 8, [0, 1]),
    named("shares", marks.join("")),
  ].join("");
}

/** The gradient of the largest share. */
function gradients({ numbers: n, wide }: SaturationView): string {
  const { band, left, right, middle } = barsAt(wide);
  const reach = wide ? 40 : 18;
  const marks = n.gradient.map((gradient, i) => {
    const x = band.middle(i);
    // A quarter is the largest gradient there is.
    const length = clamp(gradient / 0.25, -1, 1) * reach;
    const isDot = Math.abs(length) < 1;
    const label = text(x, isDot || length > 0 ? middle + 20 : middle - 8, small(gradient), {
      class: "mid s11 second",
    });
    return (
      (isDot
        ? dotMarks([[x, middle]], 2, { class: "fthird" })
        : rect(x - 3, middle, x + 3, middle - length, { class: "fb" })) + label
    );
  });
  const title = /* text */ wide
    ? "how much the largest share changes when each score changes (gradient)"
    : "gradient";
  return [
    text(left - 8, middle - (wide ? 52 : 22), title, { class: "second s12" }),
    line(left - 8, middle, right, middle, "lthird"),
    named("gradient", marks.join("")),
  ].join("");
}

/** A number as a power of ten where it is very small. */
export const small = (value: number) =>
  value === 0 || Math.abs(value) >= 0.001
    ? number(value, 2)
    : powerLabel(Math.round(Math.log10(Math.abs(value))));

/** What a very small number is below: the next power of ten. */
export const bound = (value: number) =>
  value === 0 || value >= 0.001 ? number(value) : powerLabel(Math.ceil(Math.log10(value)));

/** Bottom of the fixed axis of gradients, as a power of ten. */
const DEEPEST = -40;

function rows({ state, numbers: { rows: n }, wide }: SaturationView): string {
  const [x0, x1, y0, y1] = wide ? [630, 752, 72, 500] : [52, 262, 46, 268];
  const y = scaleOf({ domain: [DEEPEST, 0], range: [y1, y0], clamp: true });
  // The rows are independent, so the dots of a column can be in any order: sorted, and without dots that cover each other, they pack
  // well. A narrow picture has no space for more than every second row.
  const columns = Array.from({ length: (x1 - x0) / 2 }, () => new Set<number>());
  for (const [i, log] of n.logs.entries())
    if (wide || i % 2 === 0)
      columns[Math.floor((i * columns.length) / n.logs.length)].add(2 * Math.round(y(log) / 2));
  const path = columns.map((column, i) =>
    [...column]
      .sort((a, b) => a - b)
      .map((at, k, all) => (k === 0 ? `M${x0 + 2 * i + 1} ${at}h0` : `m0 ${at - all[k - 1]}h0`))
      .join(""),
  );
  // Two lines across the dots, with their labels on the right: of the upper one above it, of the lower one below it.
  const [zeros, middle] = [y(Math.log10(2 ** -25)), y(Math.log10(n.quartiles[1]))];
  const beside = (at: number, below: boolean, texts: readonly string[], name: string) =>
    texts.map((content, i) =>
      text(x1 + 10, at + (below ? 12 : -17) + 13 * i, content, { class: `s11 ${name}` }),
    );
  const title = wide
    ? "2,000 rows: how much each can still learn"
    : "2,000 rows, every second drawn: size of gradient";
  const median = bound(n.quartiles[1]);
  return [
    text(x0 - 46, wide ? 24 : 14, title, { class: "second s12" }),
    wide
      ? text(x0 - 46, 40, `gradient of each row’s softmax, ${state.keys} keys`, { class: "third s11" })
      : "",
    axisOf("left", y, x0, [0, -10, -20, -30, DEEPEST], {
      grid: x1,
      format: (power) => `${power === DEEPEST ? "≤ " : ""}${powerLabel(power)}`,
    }),
    text(x0 - 46, wide ? 56 : 30, `mean entropy ${number(n.entropy)} of ${number(Math.log(state.keys))}`, {
      class: `s11 ${wide ? "bold" : "second"}`,
    }),
    named("rows", element("path", { d: path.join(""), class: "dots" })),
    line(x0, zeros, x1 + 6, zeros, state.half ? "lb" : "lthird dash"),
    line(x0, middle, x1 + 6, middle, "link"),
    ...beside(zeros, middle < zeros, ["below the line:", "0 in float16"], state.half ? "tb" : "second"),
    ...beside(middle, middle >= zeros, ["half of the rows", `are below ${median}`], "bold"),
  ].join("");
}

/** The inside of the SVG. */
export function picture(view: SaturationView): string {
  const bars = () => inputs(view) + shares(view) + gradients(view);
  if (view.wide) return bars() + rows(view);
  return view.state.show === "rows" ? rows(view) : bars();
}

/** A head as a matrix: rows are queries, columns are keys, with their tokens along the edges; and the scale of its colors. */

import { LOG_DECADES } from "../../store/measures/transfer.ts";
import { truncate } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { colorTable, hex } from "../color.ts";
import { drawCells, hatchOf, rampOf } from "./cells.ts";
import type { Figure } from "./options.ts";
import {
  coordinate,
  element,
  MONO,
  MONO_EM,
  type Part,
  SANS_EM,
  type Theme,
  text,
  textWidth,
} from "./sheet.ts";
import { MARK, type Shown } from "./shown.ts";

/** Points: the largest cell, the size of labels, and the longest label. */
const LARGEST = 48;
const FONT = 6.5;
const LABEL = 62;

/** The titles of the two axes. */
export interface AxisTitles {
  readonly query: string;
  readonly key: string;
}

/** Draws the matrix at the top of a sheet `width` points wide; `seen` collects the marks that were drawn. */
export function drawMatrix(
  figure: Figure,
  shown: Shown,
  theme: Theme,
  width: number,
  seen: Set<number>,
  axes: AxisTitles = { query: "query", key: "key: what is attended to" },
): Part {
  const { queries, keys } = shown;
  const longest = (names: readonly string[], which: readonly number[]) =>
    Math.min(
      LABEL,
      which.reduce((most, i) => Math.max(most, textWidth(names[i], FONT)), 0),
    );
  const axis = FONT + 5;
  const labelled = longest(shown.queryLabels, queries) + 6;
  const margin = axis + labelled;
  const lean = longest(shown.keyLabels, keys);
  // The leaning labels of the last columns reach over the edge.
  const over = Math.min(lean / 2, width / 4);
  const cell = Math.min(LARGEST, (width - margin - over) / Math.max(1, keys.length));
  const top = axis + lean * Math.sin(Math.PI / 3) + FONT + 4;
  // A small matrix is centered on its sheet.
  const left = margin + Math.max(0, (width - margin - over - keys.length * cell) / 2);
  const [across, down] = [keys.length * cell, queries.length * cell];
  const title = { "font-size": FONT, fill: theme.second, "text-anchor": "middle" };
  const [middleX, middleY] = [left + across / 2, top + down / 2];
  const side = left - labelled;
  const lines = [
    `<g transform="translate(${coordinate(left)} ${coordinate(top)})">`,
    drawCells(figure, shown, theme, cell, seen),
    element("rect", { width: across, height: down, fill: "none", stroke: theme.line, "stroke-width": 0.5 }),
    ...labels(shown, theme, cell),
  ];
  const [i, j] = [queries.indexOf(figure.query), keys.indexOf(figure.key)];
  if (figure.marked && i >= 0 && j >= 0) {
    const size = Math.max(cell, 2);
    const box = { x: j * cell, y: i * cell, width: size, height: size, fill: "none" };
    // Two tones: one alone would be lost on some color of the scale.
    lines.push(element("rect", { ...box, stroke: theme.paper, "stroke-width": 2.2 }));
    lines.push(element("rect", { ...box, stroke: theme.query, "stroke-width": 1.1 }));
  }
  lines.push(
    "</g>",
    text(middleX, FONT, axes.key, title),
    text(side, middleY, axes.query, {
      ...title,
      transform: `rotate(-90 ${coordinate(side)} ${coordinate(middleY)})`,
    }),
  );
  return { svg: lines.filter((line) => line !== "").join("\n"), height: top + down + 4 };
}

/** Tokens along both edges, thinned out where they would overlap, with ticks where they are. */
function labels(shown: Shown, theme: Theme, cell: number): string[] {
  const lines: string[] = [];
  const step = tickStep((FONT + 1) / cell);
  // Leaning labels are nearer to each other than their columns.
  const columnStep = tickStep((FONT + 1) / (cell * Math.sin(Math.PI / 3)));
  const most = Math.floor(LABEL / (MONO_EM * FONT));
  const font = { "font-family": MONO, "font-size": FONT, fill: theme.second };
  const middle = cell / 2 + FONT * 0.35;
  const [side, gap] = [step > 1 ? -4.5 : -3, columnStep > 1 ? -4 : -3];
  let ticks = "";
  for (let n = 0; n < shown.keys.length; n += columnStep) {
    const at = n * cell + middle;
    const label = truncate(shown.keyLabels[shown.keys[n]], most);
    lines.push(text(at, gap, label, { ...font, transform: `rotate(-60 ${coordinate(at)} ${gap})` }));
    if (columnStep > 1) ticks += `M${coordinate((n + 0.5) * cell)} 0v-2.5`;
  }
  for (let n = 0; n < shown.queries.length; n += step) {
    const label = truncate(shown.queryLabels[shown.queries[n]], most);
    lines.push(text(side, n * cell + middle, label, { ...font, "text-anchor": "end" }));
    if (step > 1) ticks += `M0 ${coordinate((n + 0.5) * cell)}h-2.5`;
  }
  if (ticks !== "")
    lines.push(element("path", { d: ticks, stroke: theme.third, "stroke-width": 0.4, fill: "none" }));
  return lines;
}

/** The least of 1, 2, 5, 10, 20, 50 … that is at least `least`. */
function tickStep(least: number): number {
  if (least <= 1) return 1;
  const decade = 10 ** Math.floor(Math.log10(least) + 1e-9);
  return decade * ([1, 2, 5, 10].find((part) => part * decade >= least - 1e-9) ?? 10);
}

/** The scale of the colors with its ticks, and the meaning of the marks that were drawn. */
export function drawScale(
  figure: Figure,
  shown: Pick<Shown, "signed" | "domain">,
  theme: Theme,
  seen: ReadonlySet<number>,
): Part {
  const [width, steps] = [120, 64];
  const table = colorTable(rampOf(figure, shown.signed));
  const lines: string[] = [];
  for (let n = 0; n < steps; n++) {
    const fill = hex(table[Math.round((255 * n) / (steps - 1))]);
    const more = n + 1 < steps ? 0.3 : 0;
    lines.push(element("rect", { x: (n * width) / steps, width: width / steps + more, height: 5, fill }));
  }
  lines.push(element("rect", { width, height: 5, fill: "none", stroke: theme.line, "stroke-width": 0.5 }));
  const font = { "font-family": MONO, "font-size": 5.5, fill: theme.second };
  for (const { place, said } of ticksOf(figure, shown)) {
    const anchor = place === 0 ? "start" : place === 1 ? "end" : "middle";
    lines.push(text(place * width, 11.5, said, { ...font, "text-anchor": anchor }));
  }
  const hatch = hatchOf(theme, 1);
  let x = width + 14;
  for (const [mark, name, fill] of [
    [MARK.masked, "masked", hatch.fill],
    [MARK.hidden, "hidden", theme.line],
    [MARK.notNumber, "not a number", theme.badge],
  ] as const) {
    if (!seen.has(mark)) continue;
    if (mark === MARK.masked) lines.push(hatch.defs);
    lines.push(element("rect", { x, width: 9, height: 5, fill }));
    lines.push(text(x + 11.5, 4.6, name, { "font-size": 5.5, fill: theme.second }));
    x += 20 + textWidth(name, 5.5, SANS_EM);
  }
  return { svg: lines.join("\n"), height: 14 };
}

/** Where the scale has numbers. */
function ticksOf(
  { transfer }: Figure,
  { signed, domain }: Pick<Shown, "signed" | "domain">,
): { place: number; said: string }[] {
  if (domain === undefined)
    return ["0", "row’s largest"].map((said, n) => ({ place: signed ? 0.5 + n / 2 : n, said }));
  const said = (value: number) =>
    formatNumber(value, { digits: 2 })
      .replace(/^(−?)0(?=\.)/, "$1")
      .replace(/(\.\d*?)0+$/, "$1");
  if (signed) return [-1, 0, 1].map((part) => ({ place: (part + 1) / 2, said: said(part * domain) }));
  if (transfer === "log")
    return [-6, -4, -2, 0].map((power) => ({
      place: 1 + power / LOG_DECADES,
      said: said(domain * 10 ** power),
    }));
  const parts = transfer === "sqrt" ? [0, 0.01, 0.1, 0.25, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  return parts.map((part) => ({
    place: transfer === "sqrt" ? Math.sqrt(part) : part,
    said: said(part * domain),
  }));
}

/** A head as a matrix: rows are queries, columns are keys, with their tokens along the edges; and the scale of its colors. */

import { LOG_DECADES } from "../../store/measures/transfer.ts";
import { truncate } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { colorTable, hex } from "../color.ts";
import { axis } from "../plot/axis.ts";
import { legend } from "../plot/marks.ts";
import { niceStep, type ScaleOptions, scaleOf } from "../plot/scale.ts";
import { coordinate, element, text } from "../plot/svg.ts";
import { drawCells, hatchOf, rampOf } from "./cells.ts";
import type { Figure } from "./options.ts";
import type { FigurePart, Theme } from "./sheet.ts";
import { LABEL, labelWidth, MONO, MONO_EM, SANS_EM, textWidth } from "./sheet.ts";
import { MARK, type Shown } from "./shown.ts";

/** Points: the largest cell, and the size of labels. */
const LARGEST = 48;
const FONT = 6.5;
/** Labels of columns lean by 60 degrees: their height as a share of their length. */
const LEAN = Math.sin(Math.PI / 3);

/** The titles of the two axes. */
export interface AxisTitles {
  readonly query: string;
  readonly key: string;
}

/** Draws the matrix on a sheet `width` points wide; `marks` collects those that were drawn. */
export function drawMatrix(
  figure: Figure,
  shown: Shown,
  theme: Theme,
  width: number,
  marks: Set<number>,
  titles: AxisTitles = { query: "query", key: "key: what is attended to" },
): FigurePart {
  const { queries, keys } = shown;
  // The labels, their ticks, and the descenders of the title beside them.
  const rowLabels = labelWidth(shown.queryLabels, queries, FONT) + 4.5 + 0.6 * FONT;
  const columnLabels = labelWidth(shown.keyLabels, keys, FONT);
  const margin = FONT + 5 + rowLabels;
  // The leaning labels of the last columns reach over the edge.
  const over = Math.min(columnLabels / 2, width / 4);
  const cell = Math.min(LARGEST, (width - margin - over) / Math.max(1, keys.length));
  const top = FONT + 5 + columnLabels * LEAN + FONT + 4;
  const [across, down] = [keys.length * cell, queries.length * cell];
  // A small matrix is centered on its sheet.
  const left = margin + Math.max(0, (width - margin - over - across) / 2);
  const title = { "font-size": FONT, fill: theme.second, "text-anchor": "middle" };
  const [titleX, titleY] = [left - rowLabels, top + down / 2];
  const lines = [
    `<g transform="translate(${coordinate(left)} ${coordinate(top)})">`,
    drawCells(figure, shown, theme, cell, marks),
    element("rect", { width: across, height: down, fill: "none", stroke: theme.line, "stroke-width": 0.5 }),
    ...labels(shown, theme, cell),
    ...outline(figure, shown, theme, cell),
    "</g>",
    text(left + across / 2, FONT, titles.key, title),
    text(titleX, titleY, titles.query, {
      ...title,
      transform: `rotate(-90 ${coordinate(titleX)} ${coordinate(titleY)})`,
    }),
  ];
  return { svg: lines.filter((line) => line !== "").join("\n"), height: top + down + 4 };
}

/** The chosen cell in two tones: one alone would be lost on some color of the scale. */
function outline(figure: Figure, { queries, keys }: Shown, theme: Theme, cell: number): string[] {
  const [i, j] = [queries.indexOf(figure.query), keys.indexOf(figure.key)];
  if (!figure.marked || i < 0 || j < 0) return [];
  const size = Math.max(cell, 2);
  const box = { x: j * cell, y: i * cell, width: size, height: size, fill: "none" };
  return [
    element("rect", { ...box, stroke: theme.paper, "stroke-width": 2.2 }),
    element("rect", { ...box, stroke: theme.query, "stroke-width": 1.1 }),
  ];
}

/** Tokens along both edges, every n-th where they would overlap, with ticks where they are. */
function labels(shown: Shown, theme: Theme, cell: number): string[] {
  const lines: string[] = [];
  const rowStep = Math.max(1, niceStep((FONT + 1) / cell));
  // Leaning labels are nearer to each other than their columns.
  const columnStep = Math.max(1, niceStep((FONT + 1) / (cell * LEAN)));
  const [x, y] = [rowStep > 1 ? -4.5 : -3, columnStep > 1 ? -4 : -3];
  const font = { "font-family": MONO, "font-size": FONT, fill: theme.second };
  const short = (label: string) => truncate(label, Math.floor(LABEL / (MONO_EM * FONT)));
  const baseline = cell / 2 + FONT * 0.35;
  let ticks = "";
  for (let n = 0; n < shown.keys.length; n += columnStep) {
    const at = n * cell + baseline;
    const transform = `rotate(-60 ${coordinate(at)} ${y})`;
    lines.push(text(at, y, short(shown.keyLabels[shown.keys[n]]), { ...font, transform }));
    if (columnStep > 1) ticks += `M${coordinate((n + 0.5) * cell)} 0v-2.5`;
  }
  for (let n = 0; n < shown.queries.length; n += rowStep) {
    const label = short(shown.queryLabels[shown.queries[n]]);
    lines.push(text(x, n * cell + baseline, label, { ...font, "text-anchor": "end" }));
    if (rowStep > 1) ticks += `M0 ${coordinate((n + 0.5) * cell)}h-2.5`;
  }
  if (ticks !== "")
    lines.push(element("path", { d: ticks, stroke: theme.third, "stroke-width": 0.4, fill: "none" }));
  return lines;
}

/** The scale of weights' colors by transfer, as shares of the value of full color, and where it has numbers. */
const COLOR_SCALES: Readonly<Record<Figure["transfer"] | "signed", ColorScale>> = {
  sqrt: { type: "sqrt", domain: [0, 1], ticks: [0, 0.01, 0.1, 0.25, 0.5, 1] },
  linear: { domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1] },
  log: { type: "log", domain: [10 ** -LOG_DECADES, 1], ticks: [1e-6, 1e-4, 1e-2, 1] },
  signed: { domain: [-1, 1], ticks: [-1, 0, 1] },
};
interface ColorScale extends Pick<ScaleOptions, "type" | "domain"> {
  readonly ticks: readonly number[];
}

/** The scale of the colors with its ticks, and the meaning of the marks that were drawn. */
export function drawScale(
  figure: Figure,
  { signed, domain }: Pick<Shown, "signed" | "domain">,
  theme: Theme,
  marks: ReadonlySet<number>,
): FigurePart {
  const [width, height, steps] = [120, 5, 64];
  const table = colorTable(rampOf(figure, signed));
  const small = { "font-size": 5.5, fill: theme.second };
  const colors = Array.from({ length: steps }, (_, n) => {
    const fill = hex(table[Math.round((255 * n) / (steps - 1))]);
    // Strips overlap, so that no seam shows between them.
    const overlap = n + 1 < steps ? 0.3 : 0;
    return element("rect", { x: (n * width) / steps, width: width / steps + overlap, height, fill });
  });
  const scale = COLOR_SCALES[signed ? "signed" : figure.transfer];
  const hatch = hatchOf(theme, 1);
  const swatch = (fill: string) => (x: number, y: number) =>
    element("rect", { x, y: y - height / 2, width: 9, height, fill });
  const entries = [
    { mark: MARK.masked, name: "masked", swatch: swatch(hatch.fill) },
    { mark: MARK.hidden, name: "hidden", swatch: swatch(theme.line) },
    { mark: MARK.notNumber, name: "not a number", swatch: swatch(theme.badge) },
  ].filter(({ mark }) => marks.has(mark));
  return {
    svg: [
      ...colors,
      element("rect", { width, height, fill: "none", stroke: theme.line, "stroke-width": 0.5 }),
      axis({
        ...{
          anchor: "bottom",
          scale: scaleOf({ ...scale, range: [0, width] }),
          at: 0,
          gap: 11.5,
          inside: true,
        },
        // Each row has its own value of full color: only 0 and the end of the scale have labels.
        ticks: domain === undefined ? [signed ? 0 : scale.domain[0], 1] : scale.ticks,
        format: (share) =>
          domain !== undefined ? shortNumber(share * domain) : share === 1 ? "row’s largest" : "0",
        style: { label: { "font-family": MONO, ...small }, size: 5.5 },
      }),
      marks.has(MARK.masked) ? hatch.defs : "",
      legend(entries, width + 14, height / 2, {
        ...{ swatch: 9, gap: 9, baseline: 2.1, label: small },
        widthOf: (name) => textWidth(name, 5.5, SANS_EM),
      }).svg,
    ]
      .filter((line) => line !== "")
      .join("\n"),
    height: 14,
  };
}

/** Two digits, without the 0 before the point and zeros at the end: ".25". */
function shortNumber(value: number): string {
  return formatNumber(value, { digits: 2 })
    .replace(/^(−?)0(?=\.)/, "$1")
    .replace(/(\.\d*?)0+$/, "$1");
}

/**
 * Paints lines on a canvas. Width and opacity of a line are both proportional to the position of its weight on the color scale.
 * With a square-root scale, width × opacity is therefore proportional to the weight; with a linear scale, each of the two is.
 */
import { codeOf } from "../../../src/store/measures/transfer.ts";
import { num } from "../../../src/store/text/number.ts";
import type { Paints } from "../../canvas/colors.ts";
import type { TransferName } from "../../state/state.ts";
import type { Keep, Links, WeightedLink } from "./edges.ts";
import { heightOf, type LinesLayout, outside, type TokenColumn, trace } from "./layout.ts";

/** The maximum number of lines of a picture: the strongest are drawn, the rest are counted. 2,000 take 70 ms on a slow core. */
export const MAX_LINES = 4000;
/** The maximum number of highlighted lines. */
export const MAX_OVER = 32;

/** The mapping of weights to widths and opacities. */
export interface Stroke {
  readonly transfer: TransferName;
  /** The weight of the widest line, or a function that returns it for each row. */
  readonly domain: number | ((row: number) => number);
  /** Its width in pixels. */
  readonly widest: number;
}

/** The maximum width of a line in pixels. */
export const MAX_STROKE = 5;

/** The width of the widest line: half the height of a token, so that neighbors can be distinguished. */
export const widestOf = (pitch: number): number => Math.max(1, Math.min(MAX_STROKE, pitch / 2));

/** The width in pixels and the opacity of a link; both have a minimum, so that every line is visible. */
export function strokeOf(
  { row, weight }: WeightedLink,
  { transfer, domain, widest }: Stroke,
): { width: number; opacity: number } {
  const share = codeOf(weight, transfer, typeof domain === "number" ? domain : domain(row)) / 255;
  return { width: Math.max(0.6, widest * share), opacity: Math.max(0.1, share) };
}

/** The number of links from a visible token to tokens above and below the viewport. */
export interface Tail {
  readonly place: number;
  readonly above: number;
  readonly below: number;
}

/** The visible links. */
export interface LinksInView {
  /** Links with both ends visible, the weakest first. */
  readonly links: readonly WeightedLink[];
  /** The number of visible links beyond the maximum, which are not drawn, and their total weight. */
  readonly dropped: number;
  readonly droppedMass: number;
  readonly rows: readonly Tail[];
  readonly columns: readonly Tail[];
}

const span = (layout: LinesLayout, { from, count }: TokenColumn): readonly [number, number] => [
  Math.max(0, Math.ceil(from - 0.5)),
  Math.min(count, Math.floor(from + layout.height / layout.pitch - 0.5) + 1),
];

/** The visible links of the rows read so far. */
export function linksInView(layout: LinesLayout, links: Links, keep: Keep): LinksInView {
  const drawn: WeightedLink[] = [];
  const rows: Tail[] = [];
  const columns: Tail[] = [];
  const count = (list: Tail[], place: number, ends: Iterable<-1 | 0 | 1>) => {
    let [above, below] = [0, 0];
    for (const end of ends)
      if (end < 0) above++;
      else if (end > 0) below++;
    if (above + below > 0) list.push({ place, above, below });
  };
  const [first, last] = span(layout, layout.rows);
  for (let place = first; place < last; place++) {
    if (links.peek(place) === undefined) continue;
    const outgoing = links.outgoing(place, keep);
    if (!layout.scrolls) {
      drawn.push(...outgoing);
      continue;
    }
    for (const link of outgoing) if (outside(layout, layout.columns, link.column) === 0) drawn.push(link);
    count(
      rows,
      place,
      outgoing.map(({ column }) => outside(layout, layout.columns, column)),
    );
  }
  if (layout.scrolls) {
    const [from, to] = span(layout, layout.columns);
    for (let place = from; place < to; place++)
      count(
        columns,
        place,
        links.incoming(place, keep).map(({ row }) => outside(layout, layout.rows, row)),
      );
  }
  drawn.sort((a, b) => a.weight - b.weight);
  const dropped = Math.max(0, drawn.length - MAX_LINES);
  const droppedMass = drawn.slice(0, dropped).reduce((sum, { weight }) => sum + weight, 0);
  return { links: dropped > 0 ? drawn.slice(dropped) : drawn, dropped, droppedMass, rows, columns };
}

/** The settings of a painting. */
export interface Brush {
  readonly layout: LinesLayout;
  readonly stroke: Stroke;
  readonly paints: Paints;
  readonly ratio: number;
}

type Context = CanvasRenderingContext2D;

/** Clears the canvas and scales it to CSS pixels. */
export function begin(context: Context, { ratio }: Brush): void {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** Draws with a clip to the area of the lines. */
export function inside(context: Context, { x, width, top, height }: LinesLayout, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(x - 4, top, width + 8, height);
  context.clip();
  draw();
  context.restore();
}

/** Draws links in the given order. */
export function drawLinks(context: Context, brush: Brush, links: Iterable<WeightedLink>): void {
  inside(context, brush.layout, () => {
    context.strokeStyle = brush.paints.weight;
    for (const link of links) drawLink(context, brush, link);
  });
}

/** Draws one link in the current color. */
export function drawLink(
  context: Context,
  { layout, stroke }: Pick<Brush, "layout" | "stroke">,
  link: WeightedLink,
): void {
  const { width, opacity } = strokeOf(link, stroke);
  context.globalAlpha = opacity;
  context.lineWidth = width;
  context.beginPath();
  trace(context, layout, link);
  context.stroke();
}

/** The line of the cursor or the pinned cell, in two colors to be visible on any background; dashed if its weight is 0. */
export function drawCursor(
  context: Context,
  { layout, stroke, paints }: Brush,
  link: WeightedLink,
  pinnedCell: boolean,
): void {
  inside(context, layout, () => {
    const { width } = strokeOf(link, stroke);
    const core = Math.max(pinnedCell ? 2.5 : 1.5, width);
    for (const [color, line] of [
      [paints.paper, core + 3],
      [paints.query, core],
    ] as const) {
      context.strokeStyle = color;
      context.lineWidth = line;
      if (color === paints.query && !(link.weight > 0)) context.setLineDash([3, 4]);
      context.beginPath();
      trace(context, layout, link);
      context.stroke();
    }
  });
}

/** The length of a tail in pixels; its number is at its end. */
const TAIL = 16;

/** Draws short tails for the links that leave the viewport, with their number. */
export function drawTails(
  context: Context,
  brush: Brush,
  { rows, columns }: Pick<LinksInView, "rows" | "columns">,
): void {
  const { layout, paints } = brush;
  inside(context, layout, () => {
    context.lineWidth = 1.25;
    context.font = `10px ${paints.mono}`;
    context.textBaseline = "middle";
    const drawColumn = (tails: readonly Tail[], column: TokenColumn, x: number, way: 1 | -1) => {
      context.textAlign = way > 0 ? "left" : "right";
      for (const { place, above, below } of tails) {
        const y = heightOf(layout, column, place);
        for (const [count, up] of [
          [above, -1],
          [below, 1],
        ] as const) {
          if (count === 0) continue;
          context.strokeStyle = paints.second;
          context.beginPath();
          context.moveTo(x, y);
          context.bezierCurveTo(x + way * TAIL * 0.6, y, x + way * TAIL, y + up, x + way * TAIL, y + up * 6);
          context.stroke();
        }
        if (layout.pitch < 12) continue;
        const count = (arrow: string, n: number) => (n > 0 ? `${arrow}${num(n, "lines outside").text}` : "");
        const text = [count("↑", above), count("↓", below)].filter((part) => part !== "").join(" ");
        context.strokeStyle = paints.paper;
        context.lineWidth = 3;
        context.strokeText(text, x + way * (TAIL + 3), y);
        context.fillStyle = paints.second;
        context.fillText(text, x + way * (TAIL + 3), y);
        context.lineWidth = 1.25;
      }
    };
    drawColumn(rows, layout.rows, layout.arcs ? layout.right : layout.left, 1);
    drawColumn(columns, layout.columns, layout.arcs ? layout.left : layout.right, -1);
  });
}

/** Draws the missing weight of hidden keys as a gray bar at each query, and a mark for rows with NaN or infinite values. */
export function drawGaps(
  context: Context,
  { layout, stroke, paints }: Brush,
  links: Links,
  hiding: boolean,
): void {
  inside(context, layout, () => {
    const [first, last] = span(layout, layout.rows);
    const x = layout.arcs ? layout.right : layout.left;
    for (let place = first; place < last; place++) {
      const row = links.peek(place);
      const y = heightOf(layout, layout.rows, place);
      if (hiding && row !== undefined && row.hidden > 0) {
        const { width, opacity } = strokeOf({ row: place, column: 0, weight: row.hidden }, stroke);
        context.globalAlpha = Math.max(0.4, opacity);
        context.fillStyle = paints.hatch;
        context.fillRect(x, y - width / 2, 12, width);
      }
      if (row !== undefined && row.nonFinite > 0) {
        context.globalAlpha = 1;
        context.fillStyle = paints.badge;
        context.fillRect(x, y - 3, 6, 6);
      }
    }
  });
}

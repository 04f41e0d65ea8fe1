/**
 * Painting lines on a canvas: all that are kept (once), and over them the few of whatever is pointed at. Width and opacity
 * both follow the place of a weight on the scale; a square-root scale therefore makes a line's ink, width × opacity,
 * proportional to its weight, and a linear one each of the two.
 */

import { codeOf } from "../../../src/store/measures/transfer.ts";
import { num } from "../../../src/store/text/number.ts";
import type { Paints } from "../../canvas/colors.ts";
import type { TransferName } from "../../state/state.ts";
import type { Keep, Link, Links } from "./edges.ts";
import { type Column, heightOf, type Layout, outside, trace } from "./layout.ts";

/** Lines of one picture, at most; the strongest are drawn, and the rest counted. 2,000 take 70 ms on a slow core. */
export const MOST_LINES = 4000;
/** Lines drawn over the others for what is pointed at, at most. */
export const MOST_OVER = 32;

/** How a weight becomes a width and an opacity. */
export interface Stroke {
  readonly transfer: TransferName;
  /** The weight of the widest line; by default the strongest of the link's own row. */
  readonly domain: number | ((row: number) => number);
  /** Its width in pixels. */
  readonly widest: number;
}

/** The widest line: half of what a token takes, so that neighbors can be distinguished. */
export const widestOf = (pitch: number): number => Math.max(1, Math.min(5, pitch / 2));

/** Width in pixels and opacity of a link; no line that is kept vanishes. */
export function strokeOf(
  { row, weight }: Link,
  { transfer, domain, widest }: Stroke,
): { width: number; opacity: number } {
  const share = codeOf(weight, transfer, typeof domain === "number" ? domain : domain(row)) / 255;
  return { width: Math.max(0.6, widest * share), opacity: Math.max(0.1, share) };
}

/** Links from a token on screen to tokens that are not: how many above, how many below. */
export interface Tail {
  readonly place: number;
  readonly above: number;
  readonly below: number;
}

/** What of the links is on screen. */
export interface Seen {
  /** Both ends on screen, the weakest first. */
  readonly links: readonly Link[];
  /** Kept links on screen that are not drawn, as there are too many, and their mass. */
  readonly dropped: number;
  readonly droppedMass: number;
  readonly rows: readonly Tail[];
  readonly columns: readonly Tail[];
}

const span = (layout: Layout, { from, count }: Column): readonly [number, number] => [
  Math.max(0, Math.ceil(from - 0.5)),
  Math.min(count, Math.floor(from + layout.height / layout.pitch - 0.5) + 1),
];

/** The links on screen, out of the rows read so far. */
export function seenOf(layout: Layout, links: Links, keep: Keep): Seen {
  const found: Link[] = [];
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
    if (links.known(place) === undefined) continue;
    const own = links.outgoing(place, keep);
    if (!layout.scrolls) {
      found.push(...own);
      continue;
    }
    for (const link of own) if (outside(layout, layout.columns, link.column) === 0) found.push(link);
    count(
      rows,
      place,
      own.map(({ column }) => outside(layout, layout.columns, column)),
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
  found.sort((a, b) => a.weight - b.weight);
  const dropped = Math.max(0, found.length - MOST_LINES);
  const droppedMass = found.slice(0, dropped).reduce((sum, { weight }) => sum + weight, 0);
  return { links: dropped > 0 ? found.slice(dropped) : found, dropped, droppedMass, rows, columns };
}

/** What lines are painted with. */
export interface Brush {
  readonly layout: Layout;
  readonly stroke: Stroke;
  readonly paints: Paints;
  readonly ratio: number;
}

type Context = CanvasRenderingContext2D;

/** Begins a picture: cleared, and in CSS pixels. */
export function begin(context: Context, { ratio }: Brush): void {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** Draws inside the room that lines have. */
function inside(context: Context, { x, width, top, height }: Layout, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(x - 4, top, width + 8, height);
  context.clip();
  draw();
  context.restore();
}

/** Draws links in the order given. */
export function drawLinks(context: Context, { layout, stroke, paints }: Brush, links: Iterable<Link>): void {
  inside(context, layout, () => {
    context.strokeStyle = paints.weight;
    context.lineCap = "butt";
    for (const link of links) {
      const { width, opacity } = strokeOf(link, stroke);
      context.globalAlpha = opacity;
      context.lineWidth = width;
      context.beginPath();
      trace(context, layout, link);
      context.stroke();
    }
  });
}

/** The line of the cursor or of what is pinned: two tones, so that it is seen on any ground; dashed where it has no weight. */
export function drawCursor(
  context: Context,
  { layout, stroke, paints }: Brush,
  link: Link,
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

/** Length of a tail in pixels; its number is at its end. */
const TAIL = 16;

/** Short ends of the links that leave the picture, with how many they are. */
export function drawTails(
  context: Context,
  brush: Brush,
  { rows, columns }: Pick<Seen, "rows" | "columns">,
): void {
  const { layout, paints } = brush;
  inside(context, layout, () => {
    context.lineWidth = 1.25;
    context.font = `10px ${paints.mono}`;
    context.textBaseline = "middle";
    const side = (tails: readonly Tail[], column: Column, x: number, way: 1 | -1) => {
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
    side(rows, layout.rows, layout.arcs ? layout.right : layout.left, 1);
    side(columns, layout.columns, layout.arcs ? layout.left : layout.right, -1);
  });
}

/** What hidden keys leave open of each row, as a grey end at its query; and a mark where a row has what is no number. */
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
      const row = links.known(place);
      const y = heightOf(layout, layout.rows, place);
      if (hiding && row !== undefined && row.hidden > 0) {
        const { width, opacity } = strokeOf({ row: place, column: 0, weight: row.hidden }, stroke);
        context.globalAlpha = Math.max(0.4, opacity);
        context.fillStyle = paints.hatch;
        context.fillRect(x, y - width / 2, 12, width);
      }
      if (row !== undefined && row.strange > 0) {
        context.globalAlpha = 1;
        context.fillStyle = paints.badge;
        context.fillRect(x, y - 3, 6, 6);
      }
    }
  });
}

/**
 * The layout of lines in CSS pixels. Two columns: queries at the left, keys at the right, curves that start and end horizontally.
 * One column with arcs: arcs to earlier tokens are on the right, arcs to later tokens on the left, so that it is clear which end
 * is the query.
 */
import type { Block } from "../../../src/store/block.ts";
import type { WeightedLink } from "./edges.ts";

/** Whether queries and keys are the same tokens: then one column can show both. */
export const hasArcs = ({ kind, Nq, Nk, queryOffset }: Block): boolean =>
  kind === "self" && Nq === Nk && queryOffset === 0;

/** A column of tokens: their number, and the place at the top edge (negative if a short column is centered). */
export interface TokenColumn {
  readonly count: number;
  readonly from: number;
}

export interface LinesLayout {
  readonly arcs: boolean;
  /** The x coordinates where lines start and end; with arcs, the edges of the column of tokens. */
  readonly left: number;
  readonly right: number;
  /** The area of the lines. */
  readonly x: number;
  readonly width: number;
  readonly top: number;
  readonly height: number;
  /** The height of a token in pixels. */
  readonly pitch: number;
  readonly rows: TokenColumn;
  readonly columns: TokenColumn;
  /** Only a part of the tokens is visible. */
  readonly scrolls: boolean;
}

/** The maximum height of a token, and its height in a column that scrolls. */
const MAX_PITCH = 40;
const SCROLLED_PITCH = 18;
/** The minimum height of a token with a name. */
const NAMED_PITCH = 14;

/** The arguments of a layout. */
export interface LayoutInput {
  readonly width: number;
  readonly height: number;
  readonly rows: number;
  readonly columns: number;
  /** The widths of the names of both columns. */
  readonly names: readonly [rows: number, columns: number];
  readonly arcs: boolean;
  /** Whether any arc can lead to a later token. */
  readonly ahead: boolean;
  /** The height of a token; undefined: chosen to fit. */
  readonly pitch: number | undefined;
  /** The first visible places of columns that scroll. */
  readonly scroll: readonly [row: number, column: number];
}

/** The minimum and the maximum height of a token. */
export function pitches({
  height,
  rows,
  columns,
}: Pick<LayoutInput, "height" | "rows" | "columns">): readonly [number, number] {
  return [Math.min(MAX_PITCH, height / Math.max(1, rows, columns)), MAX_PITCH];
}

export function layoutOf(laid: LayoutInput): LinesLayout {
  const { width, height, rows, columns, names, arcs, ahead, scroll } = laid;
  const longest = Math.max(1, rows, columns);
  const [min, max] = pitches(laid);
  // All tokens are visible if their names fit; else the columns scroll.
  const wanted = laid.pitch ?? (min < NAMED_PITCH ? SCROLLED_PITCH : min);
  const pitch = Math.max(min, Math.min(max, wanted));
  const scrolls = pitch * longest > height + 0.5;
  const column = (count: number, at: number): TokenColumn => {
    const over = count - height / pitch;
    // A shorter column is centered relative to the other.
    if (over <= 1e-6) return { count, from: scrolls ? 0 : (count - longest) / 2 };
    return { count, from: Math.max(0, Math.min(over, at)) };
  };
  const shared = { top: 0, height, pitch, scrolls, arcs };
  if (!arcs) {
    const [left, right] = [names[0] + 8, width - names[1] - 8];
    return {
      ...shared,
      left,
      right,
      x: left,
      width: Math.max(1, right - left),
      rows: column(rows, scroll[0]),
      columns: column(columns, scroll[1]),
    };
  }
  const sideWidth = ahead ? Math.max(0, (width - names[0]) / 2) : 0;
  const one = column(longest, scroll[0]);
  return {
    ...shared,
    left: sideWidth - 6,
    right: sideWidth + names[0] + 6,
    x: 0,
    width,
    rows: one,
    columns: one,
  };
}

/** The height of a place in a column. */
export function heightOf({ top, pitch }: LinesLayout, { from }: TokenColumn, place: number): number {
  return top + (place + 0.5 - from) * pitch;
}

/** The place at a height; undefined if there is no token. */
export function placeAt(
  { top, pitch }: LinesLayout,
  { from, count }: TokenColumn,
  y: number,
): number | undefined {
  const place = Math.floor((y - top) / pitch + from);
  return place >= 0 && place < count ? place : undefined;
}

/** −1: above the viewport, 1: below, 0: inside. */
export function outside(layout: LinesLayout, column: TokenColumn, place: number): -1 | 0 | 1 {
  const y = heightOf(layout, column, place);
  return y < layout.top ? -1 : y > layout.top + layout.height ? 1 : 0;
}

/** The width of an arc of `height` pixels: longer arcs are wider, up to the available space. */
function bulge({ x, width, left, right }: LinesLayout, height: number, ahead: boolean): number {
  const space = ahead ? left - x : x + width - right;
  const max = Math.max(8, space - 8);
  return max * (1 - Math.exp(-(height * 0.75 + 8) / max));
}

/** The position of a curve's control points, as a share of its width. */
const HANDLE = 0.42;

/** Adds a link's curve to the current path. */
export function trace(
  context: Pick<CanvasRenderingContext2D, "moveTo" | "bezierCurveTo">,
  layout: LinesLayout,
  link: WeightedLink,
): void {
  const from = heightOf(layout, layout.rows, link.row);
  const to = heightOf(layout, layout.columns, link.column);
  const { left, right } = layout;
  if (!layout.arcs) {
    const handle = (right - left) * HANDLE;
    context.moveTo(left, from);
    context.bezierCurveTo(left + handle, from, right - handle, to, right, to);
    return;
  }
  if (link.row === link.column) {
    // A link of a token to itself is a loop at its right.
    const size = Math.min(7, layout.pitch * 0.4);
    context.moveTo(right, from - size);
    context.bezierCurveTo(right + 3 * size, from - size, right + 3 * size, from + size, right, from + size);
    return;
  }
  const ahead = link.column > link.row;
  const edge = ahead ? left : right;
  const out = edge + ((ahead ? -1 : 1) * bulge(layout, Math.abs(to - from), ahead)) / 0.75;
  context.moveTo(edge, from);
  context.bezierCurveTo(out, from, out, to, edge, to);
}

/** The x coordinate of a curve between columns at parameter t; both from 0 to 1. */
const across = (t: number) => 3 * HANDLE * t * (1 - t) ** 2 + 3 * (1 - HANDLE) * t * t * (1 - t) + t ** 3;

/** The parameter t at which a curve between columns has the x coordinate x, 0 to 1: the same for all curves. */
function along(x: number): number {
  let [low, high] = [0, 1];
  for (let round = 0; round < 24; round++) {
    const t = (low + high) / 2;
    if (across(t) < x) low = t;
    else high = t;
  }
  return (low + high) / 2;
}

/** The y coordinate of the curve at t, as a share of its height, and the inverse function. */
const eased = (t: number) => t * t * (3 - 2 * t);
const uneased = (share: number) => 0.5 - Math.sin(Math.asin(1 - 2 * share) / 3);

/** The x coordinate of a link's curve at a height between its ends. */
export function crossing(layout: LinesLayout, link: WeightedLink, y: number): number {
  const from = heightOf(layout, layout.rows, link.row);
  const to = heightOf(layout, layout.columns, link.column);
  const t = uneased(Math.max(0, Math.min(1, (y - from) / (to - from || 1))));
  const { left, right } = layout;
  if (!layout.arcs) return left + (right - left) * across(t);
  const ahead = link.column > link.row;
  const out = (bulge(layout, Math.abs(to - from), ahead) / 0.75) * 3 * t * (1 - t);
  return ahead ? left - out : right + out;
}

/** The link whose curve is nearest to a point, of equals the strongest; undefined if none is within `reach` pixels. */
export function linkAt(
  layout: LinesLayout,
  links: Iterable<WeightedLink>,
  x: number,
  y: number,
  reach = 5,
): WeightedLink | undefined {
  const share = layout.arcs ? 0 : eased(along((x - layout.left) / (layout.right - layout.left)));
  let best: WeightedLink | undefined;
  let nearest = reach;
  for (const link of links) {
    const from = heightOf(layout, layout.rows, link.row);
    const to = heightOf(layout, layout.columns, link.column);
    const distance = layout.arcs
      ? arcDistance(layout, link, from, to, x, y)
      : Math.abs(from + (to - from) * share - y);
    if (
      distance < nearest - 0.5 ||
      (distance < nearest + 0.5 && (best === undefined || link.weight > best.weight))
    ) {
      if (distance > reach) continue;
      nearest = Math.min(nearest, distance);
      best = link;
    }
  }
  return best;
}

function arcDistance(
  layout: LinesLayout,
  link: WeightedLink,
  from: number,
  to: number,
  x: number,
  y: number,
): number {
  const { right, pitch } = layout;
  if (link.row === link.column) {
    const size = Math.min(7, pitch * 0.4);
    return Math.abs(Math.hypot(x - right - size, y - from) - size);
  }
  if (Math.min(from, to) > y || Math.max(from, to) < y) return Number.POSITIVE_INFINITY;
  return Math.abs(crossing(layout, link, y) - x);
}

/**
 * Where lines run. Two columns: queries at the left, keys at the right, curves that leave and arrive level. One column
 * with arcs: to the right those that reach back to earlier tokens, to the left those that reach ahead, so that a line's
 * side says which of its ends is the query. CSS pixels.
 */
import type { Block } from "../../../src/store/types.ts";
import type { Link } from "./edges.ts";

/** Whether a block's text attends to itself, token by token: then one column can show both. */
export const hasArcs = ({ kind, Nq, Nk, queryOffset }: Block): boolean =>
  kind === "self" && Nq === Nk && queryOffset === 0;

/** A column of tokens: how many, and the place at the top edge (before 0 where the column is shorter than the room). */
export interface Column {
  readonly count: number;
  readonly from: number;
}

export interface Layout {
  readonly arcs: boolean;
  /** Where lines begin and end; of arcs, the edges of the column of tokens. */
  readonly left: number;
  readonly right: number;
  /** The room lines have. */
  readonly x: number;
  readonly width: number;
  readonly top: number;
  readonly height: number;
  /** Pixels a token takes. */
  readonly pitch: number;
  readonly rows: Column;
  readonly columns: Column;
  /** Only part of the tokens is seen. */
  readonly scrolls: boolean;
}

/** A token is at most so high where all fit, and as high where they scroll. */
const LARGEST = 40;
const SCROLLED = 18;
/** Pixels that a name takes. */
const NAMED = 14;
/** More tokens than this scroll. */
export const FITS = 200;

/** What a layout is made of. */
export interface Laid {
  readonly width: number;
  readonly height: number;
  readonly rows: number;
  readonly columns: number;
  /** Room for the names of both. */
  readonly names: readonly [rows: number, columns: number];
  readonly arcs: boolean;
  /** Whether any arc can reach ahead. */
  readonly ahead: boolean;
  /** Pixels a token is to take; undefined: as fits. */
  readonly pitch: number | undefined;
  /** First places seen, where only part is. */
  readonly scroll: readonly [row: number, column: number];
}

/** The least, and the most, pixels a token can take. */
export function pitches({
  height,
  rows,
  columns,
}: Pick<Laid, "height" | "rows" | "columns">): readonly [number, number] {
  return [Math.min(LARGEST, height / Math.max(1, rows, columns)), LARGEST];
}

export function layoutOf(laid: Laid): Layout {
  const { width, height, rows, columns, names, arcs, ahead, scroll } = laid;
  const most = Math.max(1, rows, columns);
  const [least, largest] = pitches(laid);
  // All tokens at once where each has room for its name; else all names, and the columns scroll.
  const wanted = laid.pitch ?? (least < NAMED ? SCROLLED : least);
  const pitch = Math.max(least, Math.min(largest, wanted));
  const scrolls = pitch * most > height + 0.5;
  const column = (count: number, at: number): Column => {
    const over = count - height / pitch;
    // The shorter column is centered in the height of the other.
    if (over <= 1e-6) return { count, from: scrolls ? 0 : (count - most) / 2 };
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
  const side = ahead ? Math.max(0, (width - names[0]) / 2) : 0;
  const one = column(most, scroll[0]);
  return { ...shared, left: side - 6, right: side + names[0] + 6, x: 0, width, rows: one, columns: one };
}

/** The height of a place in a column. */
export function heightOf({ top, pitch }: Layout, { from }: Column, place: number): number {
  return top + (place + 0.5 - from) * pitch;
}

/** The place at a height; undefined where no token is. */
export function placeAt({ top, pitch }: Layout, { from, count }: Column, y: number): number | undefined {
  const place = Math.floor((y - top) / pitch + from);
  return place >= 0 && place < count ? place : undefined;
}

/** −1: above what is seen, 1: below, 0: seen. */
export function outside(layout: Layout, column: Column, place: number): -1 | 0 | 1 {
  const y = heightOf(layout, column, place);
  return y < layout.top ? -1 : y > layout.top + layout.height ? 1 : 0;
}

/** How far an arc over `height` pixels reaches out: more for longer ones, never beyond the room. */
function bulge({ x, width, left, right }: Layout, height: number, ahead: boolean): number {
  const space = ahead ? left - x : x + width - right;
  const most = Math.max(8, space - 8);
  return most * (1 - Math.exp(-(height * 0.75 + 8) / most));
}

/** Where a curve's control points are, as a share of the way. */
const HANDLE = 0.42;

/** Adds a link's curve to the path being drawn. */
export function trace(
  context: Pick<CanvasRenderingContext2D, "moveTo" | "bezierCurveTo">,
  layout: Layout,
  link: Link,
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
    // To itself: a loop at the token's right.
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

/** How far across the room a curve between columns is at a share of the way. */
const across = (t: number) => 3 * HANDLE * t * (1 - t) ** 2 + 3 * (1 - HANDLE) * t * t * (1 - t) + t ** 3;

/** The share of the way at which a curve between columns is at x, 0 to 1 across: the same for all of them. */
function along(x: number): number {
  let [low, high] = [0, 1];
  for (let round = 0; round < 24; round++) {
    const t = (low + high) / 2;
    if (across(t) < x) low = t;
    else high = t;
  }
  return (low + high) / 2;
}

/** How far down it is there, of its whole height; and the other way round. */
const eased = (t: number) => t * t * (3 - 2 * t);
const uneased = (share: number) => 0.5 - Math.sin(Math.asin(1 - 2 * share) / 3);

/** Where a link's curve is at a height between its ends. */
export function crossing(layout: Layout, link: Link, y: number): number {
  const from = heightOf(layout, layout.rows, link.row);
  const to = heightOf(layout, layout.columns, link.column);
  const t = uneased(Math.max(0, Math.min(1, (y - from) / (to - from || 1))));
  const { left, right } = layout;
  if (!layout.arcs) return left + (right - left) * across(t);
  const ahead = link.column > link.row;
  const out = (bulge(layout, Math.abs(to - from), ahead) / 0.75) * 3 * t * (1 - t);
  return ahead ? left - out : right + out;
}

/** The link whose curve passes nearest to a point, the strongest of equals; undefined where none is within `reach` pixels. */
export function linkAt(
  layout: Layout,
  links: Iterable<Link>,
  x: number,
  y: number,
  reach = 5,
): Link | undefined {
  const share = layout.arcs ? 0 : eased(along((x - layout.left) / (layout.right - layout.left)));
  let best: Link | undefined;
  let least = reach;
  for (const link of links) {
    const from = heightOf(layout, layout.rows, link.row);
    const to = heightOf(layout, layout.columns, link.column);
    const distance = layout.arcs
      ? arcDistance(layout, link, from, to, x, y)
      : Math.abs(from + (to - from) * share - y);
    if (
      distance < least - 0.5 ||
      (distance < least + 0.5 && (best === undefined || link.weight > best.weight))
    ) {
      if (distance > reach) continue;
      least = Math.min(least, distance);
      best = link;
    }
  }
  return best;
}

function arcDistance(layout: Layout, link: Link, from: number, to: number, x: number, y: number): number {
  const { right, pitch } = layout;
  if (link.row === link.column) {
    const size = Math.min(7, pitch * 0.4);
    return Math.abs(Math.hypot(x - right - size, y - from) - size);
  }
  if (Math.min(from, to) > y || Math.max(from, to) < y) return Number.POSITIVE_INFINITY;
  return Math.abs(crossing(layout, link, y) - x);
}

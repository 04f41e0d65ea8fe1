/**
 * Draws the tiles of a head on a canvas, each edge on a whole device pixel, without smoothing. The level is chosen so that each
 * cell of a tile has at least one device pixel. Tiles are pooled by maximum, so that a pattern one cell wide is never lost.
 * Masked cells are transparent: the hatch below shows through.
 */
import { TILE } from "../../../src/store/measures/tile.ts";
import { type Axis, between } from "../../canvas/axis.ts";
import type { Drawn, TilePlan, Tiles } from "./tiles.ts";
import { topLevel } from "./tiles.ts";

/** The viewport of a picture on a canvas in device pixels; `x` and `y` are the places at its upper left corner. */
export interface Viewport {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly x: number;
  readonly y: number;
  readonly cellWidth: number;
  readonly cellHeight: number;
}

/** The overview of a head, drawn where a tile is missing. */
export interface Backdrop {
  readonly picture: HTMLCanvasElement | undefined;
  /** The overview is still being computed. */
  readonly waiting: boolean;
}

/** From this level on, tiles are cut from a map of the whole head that the overview also computes (src/store/compute/work.ts). */
const FROM_MAP = 3;

/** The finest level at which each cell has at least one device pixel. */
function levelFor(cellWidth: number, cellHeight: number): number {
  const narrow = Math.min(cellWidth, cellHeight);
  return narrow >= 1 ? 0 : Math.ceil(Math.log2(1 / narrow) - 1e-9);
}

/** The x and the y coordinate of a place. */
export const xOf = ({ left, x, cellWidth }: Viewport, place: number) =>
  left + Math.round((place - x) * cellWidth);
export const yOf = ({ top, y, cellHeight }: Viewport, place: number) =>
  top + Math.round((place - y) * cellHeight);

/** A range of tokens inside one tile, and its pixels on the canvas. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

/** Draws the cached tiles and requests the missing ones. Returns how many are missing, and how many have no fallback either. */
export function blit(
  context: CanvasRenderingContext2D,
  tiles: Tiles,
  plan: TilePlan,
  rows: Axis,
  columns: Axis,
  view: Viewport,
  backdrop?: Backdrop,
): { missing: number; bare: number; domain: number | undefined } {
  const { Nq, Nk } = plan.store.blocks[plan.ref.block];
  const top = topLevel(Nq, Nk);
  const level = Math.min(top, levelFor(view.cellWidth, view.cellHeight));
  context.save();
  context.beginPath();
  context.rect(view.left, view.top, view.width, view.height);
  context.clip();
  context.imageSmoothingEnabled = false;
  // The coarsest tile is requested first: it is the fallback of all others. An overview is a fallback too.
  const coarsest = top > level && backdrop === undefined ? tiles.get(plan, top, 0, 0) : undefined;
  // A running overview also computes these tiles: a request would start the same work again, with a higher priority.
  const wait = backdrop?.waiting === true && level >= FROM_MAP;
  const length = TILE * 2 ** level;
  let [missing, bare] = [0, 0];
  let domain = coarsest?.domain;
  const down = spans(rows, length, view.y, view.y + view.height / view.cellHeight, (place) =>
    yOf(view, place),
  );
  const across = spans(columns, length, view.x, view.x + view.width / view.cellWidth, (place) =>
    xOf(view, place),
  );
  for (const vertical of down)
    for (const horizontal of across) {
      const [i, j] = [Math.floor(vertical.start / length), Math.floor(horizontal.start / length)];
      const tile = wait ? tiles.peek(plan, level, i, j) : tiles.get(plan, level, i, j);
      if (tile === undefined) missing++;
      const [shown, at] = tile ? [tile, level] : fallback(tiles, plan, level, top, i, j);
      if (shown === undefined) {
        if (backdrop?.picture) drawOverview(context, backdrop.picture, [Nq, Nk], vertical, horizontal);
        else bare++;
        continue;
      }
      domain ??= shown.domain;
      put(context, shown, at, vertical, horizontal);
    }
  context.restore();
  return { missing, bare, domain };
}

/** The finest cached tile of a coarser level. */
function fallback(
  tiles: Tiles,
  plan: TilePlan,
  level: number,
  top: number,
  i: number,
  j: number,
): [Drawn | undefined, number] {
  for (let up = level + 1; up <= top; up++) {
    const tile = tiles.peek(plan, up, i >> (up - level), j >> (up - level));
    if (tile !== undefined) return [tile, up];
  }
  return [undefined, top];
}

/** The runs of tokens between two places, split at tile boundaries. */
function spans(
  axis: Axis,
  length: number,
  from: number,
  to: number,
  pixel: (place: number) => number,
): Span[] {
  const list: Span[] = [];
  for (const { start, end, at } of between(axis, from, to))
    for (let first = start; first < end; ) {
      const next = Math.min(end, (Math.floor(first / length) + 1) * length);
      list.push({ start: first, end: next, from: pixel(at + first - start), to: pixel(at + next - start) });
      first = next;
    }
  return list;
}

/** Draws a part of the overview instead of a tile. */
function drawOverview(
  context: CanvasRenderingContext2D,
  picture: HTMLCanvasElement,
  [Nq, Nk]: readonly [number, number],
  rows: Span,
  columns: Span,
): void {
  const [height, width] = [rows.to - rows.from, columns.to - columns.from];
  if (height <= 0 || width <= 0) return;
  const [down, across] = [picture.height / Nq, picture.width / Nk];
  context.clearRect(columns.from, rows.from, width, height);
  context.drawImage(
    picture,
    columns.start * across,
    rows.start * down,
    (columns.end - columns.start) * across,
    (rows.end - rows.start) * down,
    columns.from,
    rows.from,
    width,
    height,
  );
}

function put(
  context: CanvasRenderingContext2D,
  { canvas }: Drawn,
  level: number,
  rows: Span,
  columns: Span,
): void {
  const pool = 2 ** level;
  const [y, x] = [rows.start / pool, columns.start / pool].map((at) => at % TILE);
  const [height, width] = [(rows.end - rows.start) / pool, (columns.end - columns.start) / pool];
  if (columns.to > columns.from && rows.to > rows.from)
    context.drawImage(
      canvas,
      x,
      y,
      width,
      height,
      columns.from,
      rows.from,
      columns.to - columns.from,
      rows.to - rows.from,
    );
}

/** Fills the viewport with the hatch of masked cells: 45° lines, 1 px wide, every 6 px. */
export function hatch(
  context: CanvasRenderingContext2D,
  { left, top, width, height }: Viewport,
  color: string,
  ratio: number,
): void {
  const step = Math.round(6 * ratio);
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = color;
  context.lineWidth = Math.max(1, Math.round(ratio));
  context.beginPath();
  for (let x = -height - (height % step); x < width; x += step) {
    context.moveTo(left + x, top + height);
    context.lineTo(left + x + height, top);
  }
  context.stroke();
  context.restore();
}

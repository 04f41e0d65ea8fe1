/**
 * Paints a matrix: hatch, tiles, gaps between cells, hidden keys, crosses on values that are not numbers, values in the cells,
 * and the margins, all in device pixels. marks.ts draws the outlines that follow the pointer.
 */

import { codeOf, isSigned, signedCodeOf } from "../../../src/store/measures/transfer.ts";
import { num } from "../../../src/store/text/number.ts";
import { lightness } from "../../../src/view/color.ts";
import { type Axis, between, placeOf } from "../../canvas/axis.ts";
import { cached } from "../../canvas/cached.ts";
import type { Paints } from "../../canvas/colors.ts";
import { make } from "../../canvas/dom.ts";
import type { HeadFacts } from "../../state/facts.ts";
import { type Backdrop, blit, hatch, type Viewport, xOf, yOf } from "./blit.ts";
import type { MatrixFrame } from "./frame.ts";
import type { TilePlan, Tiles } from "./tiles.ts";

export interface Painting {
  /** Width and height of the canvas, in device pixels. */
  readonly size: readonly [number, number];
  readonly frame: MatrixFrame;
  /** The pixel ratio: device pixels per CSS pixel. */
  readonly ratio: number;
  readonly plan: TilePlan;
  readonly rows: Axis;
  readonly columns: Axis;
  readonly paints: Paints;
  readonly facts: HeadFacts | undefined;
  /** The value to print in a cell; undefined: none are printed. */
  readonly value?: (query: number, key: number) => number;
  readonly readRow: (query: number) => Float64Array;
  /** The overview of the head, drawn where tiles are missing; undefined if it differs from the tiles. */
  readonly backdrop: Backdrop | undefined;
  /** Whether tiles are drawn, or only the overview. */
  readonly tiled: boolean;
}

/** Paints the matrix. If no tile and no overview is available yet, the canvas is unchanged and `shown` is false. */
export function paint(
  context: CanvasRenderingContext2D,
  tiles: Tiles,
  painting: Painting,
): { shown: boolean; missing: number; domain: number | undefined } {
  const { frame, ratio, plan, rows, columns, paints, backdrop } = painting;
  const view: Viewport = {
    left: Math.round(frame.left * ratio),
    top: Math.round(frame.top * ratio),
    width: Math.round(frame.usedWidth * ratio),
    height: Math.round(frame.usedHeight * ratio),
    x: frame.x,
    y: frame.y,
    cellWidth: frame.cellWidth * ratio,
    cellHeight: frame.cellHeight * ratio,
  };
  const layer = scratch(context.canvas, painting.size);
  layer.clearRect(0, 0, layer.canvas.width, layer.canvas.height);
  hatch(layer, view, paints.hatch, ratio);
  if (!painting.tiled && backdrop?.picture) drawOverview(layer, view, backdrop.picture, painting);
  const { missing, bare, domain } = painting.tiled
    ? blit(layer, tiles, plan, rows, columns, view, backdrop)
    : { missing: 0, bare: 0, domain: 1 };
  const all = rows.runs.length > 0 && columns.runs.length > 0;
  if (all && bare > 0 && domain === undefined) return { shown: false, missing, domain };
  gaps(layer, view, rows, columns, paints, ratio);
  hideKeys(layer, view, plan.hidden, columns, paints);
  outline(layer, view, paints);
  cellMarks(layer, view, painting, domain);
  margins(layer, view, painting);
  resize(context.canvas, painting.size);
  context.canvas.style.setProperty("width", `${painting.size[0] / ratio}px`);
  context.canvas.style.setProperty("height", `${painting.size[1] / ratio}px`);
  context.clearRect(0, 0, ...painting.size);
  context.drawImage(layer.canvas, 0, 0);
  return { shown: true, missing, domain };
}

/** Draws the overview of the whole head instead of tiles. */
function drawOverview(
  context: CanvasRenderingContext2D,
  view: Viewport,
  picture: HTMLCanvasElement,
  { rows, columns }: Painting,
): void {
  context.save();
  context.beginPath();
  context.rect(view.left, view.top, view.width, view.height);
  context.clip();
  context.imageSmoothingEnabled = false;
  const [x, y] = [xOf(view, 0), yOf(view, 0)];
  context.clearRect(view.left, view.top, view.width, view.height);
  context.drawImage(picture, x, y, xOf(view, columns.count) - x, yOf(view, rows.count) - y);
  context.restore();
}

/** Sets the size of a canvas; a new size clears it. */
export function resize(canvas: HTMLCanvasElement, [width, height]: readonly [number, number]): void {
  if (canvas.width === width && canvas.height === height) return;
  canvas.width = width;
  canvas.height = height;
}

/** A second canvas for each canvas (double buffering), so that an incomplete picture is never visible. */
const scratches = new WeakMap<HTMLCanvasElement, CanvasRenderingContext2D>();
function scratch(canvas: HTMLCanvasElement, size: Painting["size"]): CanvasRenderingContext2D {
  const scratch = cached(scratches, canvas, () => make("canvas").getContext("2d")!);
  resize(scratch.canvas, size);
  return scratch;
}

/** Lines in the paper color between large cells, and between segments. */
function gaps(
  context: CanvasRenderingContext2D,
  view: Viewport,
  rows: Axis,
  columns: Axis,
  { paper }: Paints,
  ratio: number,
): void {
  const { left, top, width, height, x, y, cellWidth, cellHeight } = view;
  context.fillStyle = paper;
  const thick = Math.max(1, Math.round(ratio));
  if (cellWidth >= 6 * ratio)
    for (let place = Math.ceil(x + 1e-9); place <= x + width / cellWidth; place++)
      context.fillRect(xOf(view, place) - thick, top, thick, height);
  if (cellHeight >= 6 * ratio)
    for (let place = Math.ceil(y + 1e-9); place <= y + height / cellHeight; place++)
      context.fillRect(left, yOf(view, place) - thick, width, thick);
  // Segments that are not adjacent in the text are separated.
  for (const { at } of columns.runs.slice(1))
    if (at > x) context.fillRect(xOf(view, at) - 2 * thick, top, 3 * thick, height);
  for (const { at } of rows.runs.slice(1))
    if (at > y) context.fillRect(left, yOf(view, at) - 2 * thick, width, 3 * thick);
}

/** Covers the columns of hidden keys, and draws a line through the middle of each. */
function hideKeys(
  context: CanvasRenderingContext2D,
  view: Viewport,
  hidden: readonly number[],
  columns: Axis,
  { paper, line }: Paints,
): void {
  for (const key of hidden) {
    const place = placeOf(columns, key);
    if (place === undefined) continue;
    const from = Math.max(view.left, xOf(view, place));
    const to = Math.min(view.left + view.width, Math.max(xOf(view, place) + 1, xOf(view, place + 1)));
    if (to <= from) continue;
    context.fillStyle = paper;
    context.fillRect(from, view.top, to - from, view.height);
    context.fillStyle = line;
    context.fillRect(Math.floor((from + to) / 2), view.top, 1, view.height);
  }
}

function outline(
  context: CanvasRenderingContext2D,
  { left, top, width, height }: Viewport,
  { line }: Paints,
): void {
  context.strokeStyle = line;
  context.lineWidth = 1;
  context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
}

/** Prints values in cells, and a cross on values that are not numbers. */
function cellMarks(
  context: CanvasRenderingContext2D,
  view: Viewport,
  painting: Painting,
  drawn: number | undefined,
): void {
  const { plan, rows, columns, ratio, paints, value, facts, readRow } = painting;
  const domain = plan.domain ?? drawn ?? 1;
  const space = Math.min(view.cellWidth, view.cellHeight) / ratio;
  const nonFinite = facts !== undefined && facts.nonFinite > 0 && space >= 8;
  if (!nonFinite && (value === undefined || space < 14)) return;
  const [dark, light] = ["#1b1a17", "#fbfaf7"];
  context.textAlign = "center";
  context.textBaseline = "middle";
  const hidden = new Set(plan.hidden);
  for (const down of between(rows, view.y, view.y + view.height / view.cellHeight))
    for (let query = down.start; query < down.end; query++) {
      const y = (yOf(view, down.at + query - down.start) + yOf(view, down.at + query - down.start + 1)) / 2;
      const row = readRow(query);
      const mask = plan.store.visible(plan.ref, query);
      for (const across of between(columns, view.x, view.x + view.width / view.cellWidth))
        for (let key = across.start; key < across.end; key++) {
          if (!mask[key] || hidden.has(key)) continue;
          const place = across.at + key - across.start;
          const x = (xOf(view, place) + xOf(view, place + 1)) / 2;
          if (!Number.isFinite(row[key])) {
            if (space >= 8) cross(context, x, y, space * ratio * 0.22, ratio);
            continue;
          }
          if (value === undefined || space < 14) continue;
          const shown = value(query, key);
          const text = written(shown, plan.stage, space);
          const size = Math.min(11, (space - 4) / (0.62 * Math.max(3, text.length)));
          if (text === "" || size < 5) continue;
          context.font = `${(size * ratio).toFixed(1)}px ${paints.mono}`;
          context.fillStyle = inkOn(plan, shown, domain) === "dark" ? dark : light;
          context.fillText(text, x, y + ratio * 0.5);
        }
    }
}

/** The text of a value that fits its cell. Weights have two or three decimals; in small cells a weight that rounds to 0 is "". */
function written(value: number, stage: TilePlan["stage"], space: number): string {
  const source = `row ${stage}`;
  if (stage !== "weights") return num(value, source, { digits: space >= 36 ? 3 : 2 }).text;
  const places = space >= 40 ? 3 : 2;
  const text = value.toFixed(places);
  if (Number(text) === 0) return space >= 28 ? ".".padEnd(places + 1, "0") : "";
  return text.replace(/^0\./, ".");
}

/** The ink that is legible on the color of a value. */
function inkOn({ colors, stage, transfer }: TilePlan, value: number, domain: number): "dark" | "light" {
  const code = isSigned(stage) ? signedCodeOf(value, domain) : codeOf(value, transfer, domain);
  const [red, green, blue] = new Uint8Array(colors.buffer, 4 * code, 3);
  return lightness([red, green, blue]) > 0.6 ? "dark" : "light";
}

function cross(context: CanvasRenderingContext2D, x: number, y: number, r: number, ratio: number): void {
  context.strokeStyle = "#1b1a17";
  context.lineWidth = 1.5 * ratio;
  context.beginPath();
  context.moveTo(x - r, y - r);
  context.lineTo(x + r, y + r);
  context.moveTo(x + r, y - r);
  context.lineTo(x - r, y + r);
  context.stroke();
}

/** The entropy of each row at the right, the sum of each column at the bottom; a gray bar for the share of hidden keys. */
function margins(context: CanvasRenderingContext2D, view: Viewport, painting: Painting): void {
  const { facts, frame, ratio, rows, columns, paints, plan } = painting;
  if (facts === undefined) return;
  const maxEntropy = Math.log(Math.max(2, facts.totals.length));
  const wide = Math.round((frame.right - 6) * ratio);
  const x = view.left + view.width + Math.round(6 * ratio);
  // Bars of small cells touch: regular gaps of one pixel would look like data.
  const thick = (cell: number) =>
    cell < 3 * ratio ? Number.POSITIVE_INFINITY : Math.max(1, Math.round(Math.min(cell - ratio, 14 * ratio)));
  const hiddenShares = plan.renormalize ? undefined : facts.hidden;
  context.save();
  context.beginPath();
  context.rect(x, view.top, wide + 1, view.height);
  context.rect(view.left, view.top + view.height, view.width, Math.round(frame.bottom * ratio) + 1);
  context.clip();
  bars(rows, view.y, view.height, view.cellHeight, facts.entropy, (place, end, value, index) => {
    const [from, to] = [yOf(view, place), yOf(view, end)];
    const high = Math.min(to - from, thick(view.cellHeight * (end - place)));
    const y = from + Math.floor((to - from - high) / 2);
    const hiddenShare = hiddenShares?.[index] ?? 0;
    if (hiddenShare > 0) {
      context.fillStyle = paints.hatch;
      context.fillRect(x, y, Math.max(1, Math.round(wide * hiddenShare)), high);
      context.fillStyle = paints.second;
      context.fillRect(x, y + high - ratio, Math.round((wide * value) / maxEntropy), ratio);
    } else {
      context.fillStyle = paints.second;
      context.fillRect(x, y, Math.max(value > 0 ? 1 : 0, Math.round((wide * value) / maxEntropy)), high);
    }
  });
  const high = Math.round((frame.bottom - 6) * ratio);
  const y = view.top + view.height + Math.round(6 * ratio);
  let largest = 0;
  for (const total of facts.totals) if (total > largest) largest = total;
  const hidden = new Set(plan.hidden);
  bars(columns, view.x, view.width, view.cellWidth, facts.totals, (place, end, value, index) => {
    const [from, to] = [xOf(view, place), xOf(view, end)];
    const width = Math.min(to - from, thick(view.cellWidth * (end - place)));
    context.fillStyle = hidden.has(index) ? paints.line : paints.second;
    context.fillRect(
      from + Math.floor((to - from - width) / 2),
      y,
      width,
      Math.max(value > 0 ? 1 : 0, Math.round((high * value) / (largest || 1))),
    );
  });
  context.restore();
}

/** Calls `draw` for each visible bar: one for each token, or the largest of the tokens that share a pixel. */
function bars(
  axis: Axis,
  from: number,
  length: number,
  pixels: number,
  values: Float64Array,
  draw: (place: number, end: number, value: number, index: number) => void,
): void {
  const step = Math.max(1, Math.ceil(1 / pixels));
  for (const run of between(axis, from, from + length / pixels))
    for (let index = run.start; index < run.end; index += step) {
      const end = Math.min(run.end, index + step);
      let best = index;
      for (let i = index; i < end; i++)
        if (values[i] > values[best] || values[best] !== values[best]) best = i;
      if (values[best] === values[best])
        draw(run.at + index - run.start, run.at + end - run.start, values[best], best);
    }
}

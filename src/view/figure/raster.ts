/**
 * The cells of a figure as a PNG, without a browser: a matrix or an atlas, each cell a square of pixels, masked ones hatched. The
 * PNG has no labels, because text needs fonts; the explorer's PNG, which the browser draws, has them.
 */
import { checkCount, checkInteger, UnsupportedError } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { writePng } from "../../io/png.ts";
import type { HeadStore } from "../../store/head-store.ts";
import { colorTable } from "../color.ts";
import { overviewCodes, THUMBNAIL } from "./atlas.ts";
import { joined, pooledRows, rampOf, rgbOf } from "./cells.ts";
import { type Figure, type FigureOptions, resolveFigure } from "./options.ts";
import { THEMES } from "./sheet.ts";
import { MARK, shownHead } from "./shown.ts";

/** Pixels a side that a small matrix is drawn in, at 1×. */
const SIDE = 512;
/** Pixels between hatch lines at 1×, and between thumbnails. */
const HATCH = 6;
const GAP = 4;

/** Options of `renderRaster`. */
export interface RasterOptions {
  /** 1 to 4. Default 1. */
  readonly scale?: 1 | 2 | 3 | 4;
}

/** One row of cells to draw. */
interface Line {
  readonly codes: Uint8Array;
  readonly marks: Uint8Array;
}

/**
 * Draws the cells of a figure as a PNG file. Throws UnsupportedError for views that consist of text.
 *
 * @example
 * writeFileSync("head.png", await renderRaster(store, { view: "matrix", layer: 5, head: 11 }));
 */
export async function renderRaster(
  store: HeadStore,
  options: FigureOptions = {},
  raster: RasterOptions = {},
): Promise<Uint8Array> {
  checkCount("renderRaster", arguments, 3);
  checkNames("renderRaster", raster, ["scale"]);
  const { scale = 1 } = raster;
  checkInteger("renderRaster", "scale", scale, 1, 4);
  const figure = resolveFigure(store, options);
  if (figure.view !== "matrix" && figure.view !== "atlas")
    throw new UnsupportedError(
      "raster",
      `a PNG without a browser shows the cells of a matrix or an atlas; ${figure.view} has text: write SVG, or export from the explorer`,
      { view: figure.view },
    );
  return figure.view === "matrix" ? matrix(figure, scale) : atlas(figure, scale);
}

async function matrix(figure: Figure, scale: number): Promise<Uint8Array> {
  const shown = await shownHead(figure);
  const by = joined(shown);
  const columns = Math.max(1, Math.ceil(shown.keys.length / by));
  const rows = Math.max(1, Math.ceil(shown.queries.length / by));
  const cell = Math.max(1, Math.floor(SIDE / Math.max(columns, rows))) * scale;
  const paint = painter(figure, shown.signed, scale);
  const png = writePng(columns * cell, rows * cell);
  let y = 0;
  const empty: Line = { codes: new Uint8Array(columns), marks: new Uint8Array(columns).fill(MARK.masked) };
  const lines = shown.keys.length > 0 && shown.queries.length > 0 ? pooledRows(shown, by) : [empty];
  for (const line of lines)
    for (let n = 0; n < cell; n++, y++) {
      const pixels = new Uint8Array(4 * columns * cell);
      for (let x = 0; x < columns * cell; x++) pixels.set(paint(line, Math.floor(x / cell), x, y), 4 * x);
      png.row(pixels);
    }
  return png.finish();
}

async function atlas(figure: Figure, scale: number): Promise<Uint8Array> {
  const { store, block, ref, pool } = figure;
  const { layers, heads, Nq, Nk } = block;
  const size = (n: number) => Math.max(1, Math.min(THUMBNAIL, n));
  const [columns, rows] = [size(Nk), size(Nq)];
  const cell = Math.max(1, Math.floor(THUMBNAIL / Math.max(columns, rows))) * scale;
  const gap = GAP * scale;
  const [wide, high] = [columns * cell, rows * cell];
  const codes = overviewCodes(figure.transfer);
  const paint = painter(figure, false, scale);
  const paper = paint({ codes: new Uint8Array(1), marks: Uint8Array.of(PAPER) }, 0, 0, 0);
  const png = writePng(heads * (wide + gap) + gap, layers.length * (high + gap) + gap);
  const blank = new Uint8Array(4 * (heads * (wide + gap) + gap));
  for (let x = 0; x < blank.length; x += 4) blank.set(paper, x);
  const space = () => {
    for (let n = 0; n < gap; n++) png.row(blank);
  };
  space();
  for (const layer of layers) {
    const overviews = [];
    for (let head = 0; head < heads; head++)
      overviews.push(await store.overview({ block: ref.block, layer, head }, THUMBNAIL));
    for (let y = 0; y < high; y++) {
      const pixels = blank.slice();
      const r = Math.floor(y / cell);
      for (const [head, overview] of overviews.entries()) {
        if (overview.rows === 0 || overview.columns === 0) continue;
        const from = r * overview.columns;
        const line = {
          codes: overview[pool].subarray(from, from + columns).map((code) => codes[code]),
          marks: overview.marks.subarray(from, from + columns),
        };
        const left = gap + head * (wide + gap);
        for (let x = 0; x < wide; x++) pixels.set(paint(line, Math.floor(x / cell), x, y), 4 * (left + x));
      }
      png.row(pixels);
    }
    space();
  }
  return png.finish();
}

/** A mark that no cell has. */
const PAPER = 255;

/** Gives the color of a pixel of a cell. */
function painter(figure: Figure, signed: boolean, scale: number) {
  const theme = THEMES[figure.theme];
  const opaque = (name: string) => [...rgbOf(name), 255] as const;
  const table = colorTable(rampOf(figure, signed)).map((color) => [...color, 255] as const);
  const [hatch, badge, hidden] = [theme.hatch, theme.badge, theme.line].map(opaque);
  const paper = figure.background ? opaque(theme.paper) : ([...rgbOf(theme.paper), 0] as const);
  const period = HATCH * scale;
  return ({ codes, marks }: Line, c: number, x: number, y: number): readonly number[] => {
    const mark = marks[c];
    if (mark === MARK.value) return table[codes[c]];
    if (mark === MARK.masked) return (x + y) % period < scale ? hatch : paper;
    return mark === MARK.hidden ? hidden : mark === PAPER ? paper : badge;
  };
}

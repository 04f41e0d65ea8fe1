/**
 * The cells of a matrix. Up to 128 × 128, each cell is drawn, in one path per color; larger matrices are one lossless PNG with
 * one pixel per cell, masked ones transparent over a hatch. Above 150 pixels per inch, neighbors are pooled by the value
 * farthest from 0.
 */
import { type PngOptions, writePng } from "../../io/png.ts";
import { formatNumber } from "../../store/text/number.ts";
import { base64 } from "../base64.ts";
import { colorTable, hex, lightness, type Ramp, type Rgb } from "../color.ts";
import { coordinate, element, escapeXml, text } from "../plot/svg.ts";
import type { Figure } from "./options.ts";
import { MONO, type Theme } from "./sheet.ts";
import { MARK, type Shown, type ShownRow } from "./shown.ts";

/** The longest side whose cells are drawn one by one, and the longest side of a picture of cells. */
const VECTOR_SIDE = 128;
const PICTURE_SIDE = 4096;
/** In a matrix of at most this many rows and columns, each cell has a tooltip. */
const TITLED = 32;
/** Points: the smallest cell that shows its number. */
const VALUED = 13;

/**
 * Maximum pixels per inch of the printed width; above, cells are pooled. Screens average finer pixels, and lines one token wide
 * disappear: at 1,024 tokens and 600 pixels per inch, a previous-token head looked empty.
 */
const DOTS = 150;

/** How many queries and keys one pixel of a picture joins. Without `figure`, as few as a picture can hold. */
export function joined(
  { queries, keys }: Pick<Shown, "queries" | "keys">,
  figure?: Pick<Figure, "width" | "everyCell">,
): number {
  const limit =
    figure && !figure.everyCell ? Math.min(PICTURE_SIDE, (DOTS * figure.width) / 25.4) : PICTURE_SIDE;
  return Math.max(1, Math.ceil(Math.max(queries.length, keys.length) / limit));
}

/** The words for cells without a plain number, by their mark; "" for numbers. */
export const MARK_NAMES = ["", "masked", "not a number", "hidden"] as const;

/** The color scale of a figure. */
export function rampOf({ ramp, theme }: Pick<Figure, "ramp" | "theme">, signed: boolean): Ramp {
  if (signed) return theme === "dark" ? "signed-dark" : "signed";
  return theme === "dark" && ramp !== "cividis" ? `${ramp}-dark` : ramp;
}

/** Draws the cells with their upper left corner at the origin; `drawnMarks` collects the marks that were drawn. */
export function drawCells(
  figure: Figure,
  shown: Shown,
  theme: Theme,
  cell: number,
  drawnMarks: Set<number>,
): string {
  const { queries, keys } = shown;
  if (queries.length === 0 || keys.length === 0) return "";
  return keys.length <= VECTOR_SIDE && queries.length <= VECTOR_SIDE
    ? vectorCells(figure, shown, theme, cell, drawnMarks)
    : picture(figure, shown, theme, cell, drawnMarks);
}

const vectorCells: typeof drawCells = (figure, shown, theme, cell, drawnMarks) => {
  const { queries, keys } = shown;
  const table = colorTable(rampOf(figure, shown.signed));
  const small = queries.length <= TITLED && keys.length <= TITLED;
  // Without gaps equal neighbors are one rectangle, so that no seam shows between them.
  const gap = cell >= 6 ? 0.04 : 0;
  const hatch = hatchOf(theme, 1 / cell);
  const fillOf = (row: ShownRow, codes: Uint8Array, j: number) =>
    row.marks[j] === MARK.value ? hex(table[codes[j]]) : markFill(row.marks[j], theme, hatch.fill);
  const paths = new Map<string, string>();
  const over: string[] = [];
  for (let i = 0; i < queries.length; i++) {
    const row = shown.row(i);
    const codes = shown.codes(row);
    for (let j = 0; j < keys.length; j++) {
      drawnMarks.add(row.marks[j]);
      if (small) over.push(tooltip(shown, row, i, j, cell));
      if (figure.values && cell >= VALUED && row.marks[j] === MARK.value)
        over.push(
          printed(row.values[j], shown.signed, table[codes[j]], (j + 0.5) * cell, (i + 0.5) * cell, cell),
        );
    }
    for (let j = 0, next = 0; j < keys.length; j = next) {
      const fill = fillOf(row, codes, j);
      next = j + 1;
      if (gap === 0) while (next < keys.length && fillOf(row, codes, next) === fill) next++;
      const [wide, high] = [coordinate(next - j - gap), coordinate(1 - gap)];
      paths.set(fill, `${paths.get(fill) ?? ""}M${j} ${i}h${wide}v${high}h-${wide}z`);
    }
  }
  return [
    paths.has(hatch.fill) ? hatch.defs : "",
    `<g transform="scale(${Number(cell.toFixed(6))})">`,
    ...[...paths].sort(([a], [b]) => (a < b ? -1 : 1)).map(([fill, d]) => `<path fill="${fill}" d="${d}"/>`),
    "</g>",
    ...over,
  ]
    .filter((line) => line !== "")
    .join("\n");
};

/** The marks drawn for cells without a value. */
function markFill(mark: number, theme: Theme, hatch: string): string {
  return mark === MARK.masked ? hatch : mark === MARK.hidden ? theme.line : theme.badge;
}

/** Lines at 45°, 4 points apart; `unit` is how many units of the drawing a point is. Its name says what it is, so that figures on one page share it. */
export function hatchOf(theme: Theme, unit: number): { readonly fill: string; readonly defs: string } {
  const [size, line] = [4 * unit, 0.5 * unit].map((n) => Number(n.toFixed(6)));
  const id = `heed-masked-${theme.hatch.slice(1)}-${size}`;
  const pattern = [
    element("rect", { width: String(size), height: String(size), fill: theme.paper }),
    element("path", { d: `M0 0v${size}`, stroke: theme.hatch, "stroke-width": String(line) }),
  ].join("");
  const frame = `id="${id}" width="${size}" height="${size}" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"`;
  return { fill: `url(#${id})`, defs: `<defs><pattern ${frame}>${pattern}</pattern></defs>` };
}

/** The tooltip of a cell: "sat to cat 0.412". */
function tooltip(shown: Shown, { values, marks }: ShownRow, i: number, j: number, cell: number): string {
  const names = `${shown.queryNames[shown.queries[i]]} to ${shown.keyNames[shown.keys[j]]}`;
  const value = MARK_NAMES[marks[j]] || formatNumber(values[j]);
  const place = { x: j * cell, y: i * cell, width: cell, height: cell, "fill-opacity": 0 };
  return element("rect", place, `<title>${escapeXml(`${names} ${value}`)}</title>`);
}

/** The number in a cell. */
function printed(value: number, signed: boolean, color: Rgb, x: number, y: number, cell: number): string {
  const size = Math.max(5, Math.min(9, 0.28 * cell));
  const content = signed
    ? formatNumber(value, { digits: 2 })
    : value === 0
      ? "0"
      : value.toFixed(2).replace(/^0/, "");
  return text(x, y + 0.36 * size, content, {
    "font-family": MONO,
    "font-size": size,
    "text-anchor": "middle",
    "pointer-events": "none",
    fill: lightness(color) < 0.62 ? "#fbfaf7" : "#1b1a17",
  });
}

/** The cells as one PNG with a pixel per cell, over a hatch that is visible where cells are masked. */
function picture(figure: Figure, shown: Shown, theme: Theme, cell: number, drawnMarks: Set<number>): string {
  const by = joined(shown, figure);
  const [columns, rows] = [Math.ceil(shown.keys.length / by), Math.ceil(shown.queries.length / by)];
  const colors = cellColors(rampOf(figure, shown.signed), theme, shown.hiddenKeys.size > 0, true);
  const png = writePng(columns, rows, colors.options);
  for (const row of pooledRows(shown, by)) {
    png.row(colors.pixels(row));
    for (const mark of row.marks) drawnMarks.add(mark);
  }
  const hatch = hatchOf(theme, 1);
  const size = { width: columns * by * cell, height: rows * by * cell };
  const clip = { width: shown.keys.length * cell, height: shown.queries.length * cell };
  const href = `data:image/png;base64,${base64(png.finish())}`;
  return [
    ...(drawnMarks.has(MARK.masked) ? [hatch.defs, element("rect", { ...clip, fill: hatch.fill })] : []),
    // Smaller than a point, pixels are averaged by whatever shows the file: taking every n-th would lose thin patterns.
    element("image", {
      ...size,
      preserveAspectRatio: "none",
      ...(by * cell >= 1 ? { "image-rendering": "pixelated" } : {}),
      href,
    }),
  ].join("\n");
}

/** How cells become pixels: indices of a palette, or bytes of red, green, blue and alpha where colors are too many for one. */
export interface CellColors {
  readonly options: PngOptions;
  pixels(row: CellRow): Uint8Array;
}

/** The colors of a scale, equal ones once, and one for each mark that may come up; masked cells are transparent if requested. */
export function cellColors(ramp: Ramp, theme: Theme, hides: boolean, transparent: boolean): CellColors {
  const colors: Rgb[] = [];
  const indices = new Map<string, number>();
  const indexOf = (color: Rgb) => {
    const name = hex(color);
    if (!indices.has(name)) indices.set(name, colors.push(color) - 1);
    return indices.get(name)!;
  };
  // Masked cells have an index of their own, because they may be transparent.
  const hidden = hides ? theme.line : theme.badge;
  const ofMark = [theme.badge, theme.hatch, theme.badge, hidden].map((name, mark) =>
    mark === MARK.masked ? colors.push(rgbOf(name)) - 1 : indexOf(rgbOf(name)),
  );
  const ofCode = colorTable(ramp).map(indexOf);
  const index = ({ codes, marks }: CellRow, j: number) =>
    marks[j] === MARK.value ? ofCode[codes[j]] : ofMark[marks[j]];
  const masked = transparent ? ofMark[MARK.masked] : undefined;
  if (colors.length <= 256)
    return {
      options: { palette: colors, transparent: masked },
      pixels: (row) => row.codes.map((_, j) => index(row, j)),
    };
  return {
    options: {},
    pixels(row) {
      const bytes = new Uint8Array(4 * row.codes.length);
      for (let j = 0; j < row.codes.length; j++) {
        const at = index(row, j);
        bytes.set([...colors[at], at === masked ? 0 : 255], 4 * j);
      }
      return bytes;
    },
  };
}

/** `#rrggbb` as numbers. */
export function rgbOf(name: string): Rgb {
  const value = Number.parseInt(name.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The codes and marks of one row of pixels. */
export interface CellRow {
  readonly codes: Uint8Array;
  readonly marks: Uint8Array;
}

/** The rows of a picture: `by` × `by` cells are one, the value farthest from 0 before any mark. */
export function* pooledRows(shown: Shown, by: number): Generator<CellRow> {
  const columns = Math.ceil(shown.keys.length / by);
  const rest = shown.signed ? 128 : 0;
  for (let first = 0; first < shown.queries.length; first += by) {
    const codes = new Uint8Array(columns);
    const marks = new Uint8Array(columns);
    const farthest = new Int16Array(columns).fill(-1);
    for (let i = first; i < Math.min(shown.queries.length, first + by); i++) {
      const row = shown.row(i);
      const rowCodes = shown.codes(row);
      for (let j = 0; j < rowCodes.length; j++) {
        const c = by === 1 ? j : Math.floor(j / by);
        if (row.marks[j] !== MARK.value) {
          if (farthest[c] < 0) marks[c] = row.marks[j];
          continue;
        }
        const far = Math.abs(rowCodes[j] - rest);
        if (far <= farthest[c]) continue;
        [farthest[c], codes[c], marks[c]] = [far, rowCodes[j], MARK.value];
      }
    }
    yield { codes, marks };
  }
}

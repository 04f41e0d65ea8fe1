/**
 * Heat maps for a terminal: rows are queries, columns are keys, and the color shows the square root of the weight.
 *
 * There are three sizes, and the largest that fits is used: cells with their value (a single head), cells of two columns by one
 * line (about square) with a label on every row and column, and, for long texts, half blocks (▀: the upper half in one color,
 * the lower in another), one column by half a line. If those are too wide, cells are pooled by their largest weight, which keeps
 * thin patterns visible, and a line below says so.
 *
 * All functions return lines of text; none writes to a terminal.
 */

import { checkArgument, checkCount, isList, refuseValue } from "../../core/errors.ts";
import { checkKinds } from "../../core/option-names.ts";
import { graphemes, pad, truncate, widthOf, wrap } from "../../store/text/label.ts";
import { wholePercent } from "../../store/text/number.ts";
import { colorAt, lightness, placeOf, type Rgb } from "../color.ts";
import { bold, colored, dim, isColor, type Paint, plain, shade } from "./paint.ts";

/** A matrix of weights, row-major: row = query, column = key. */
export interface WeightMatrix {
  readonly weights: ArrayLike<number>;
  readonly queries: number;
  readonly keys: number;
}

/** A map to draw: weights with a title. */
export interface HeatMap extends WeightMatrix {
  readonly title: string;
}

/** Options of `renderHeatMaps`. */
export interface TerminalOptions {
  /** One label per row and per column. */
  readonly queryLabels: readonly string[];
  readonly keyLabels: readonly string[];
  /** Columns of the terminal. Default 80. */
  readonly columns?: number;
  /** Default `mono`. */
  readonly paint?: Paint;
}

// biome-ignore format: a table
const HEAT_OPTIONS = { "a list of texts": "queryLabels keyLabels", "": "columns paint" } as const;
const HEAT_MAP = { "": "title weights", "an integer ≥ 0": "queries keys" } as const;

const GAP = 3;
const LETTERS = 8;
/** Maps of more tokens are drawn in half blocks. */
const MAX_LABELED = 32;

/**
 * Draws maps of one shape side by side, as many as fit, and the others below.
 *
 * @example
 * const map = { title: "head 0", weights: [1, 0, 0.4, 0.6], queries: 2, keys: 2 };
 * console.log(renderHeatMaps([map], { queryLabels: ["a", "b"], keyLabels: ["a", "b"] }).join("\n"));
 */
export function renderHeatMaps(maps: readonly HeatMap[], options: TerminalOptions): string[] {
  checkCount("renderHeatMaps", arguments, 2);
  checkArgument(Array.isArray(maps), "renderHeatMaps", "a list of maps", maps);
  checkKinds("renderHeatMaps", options, HEAT_OPTIONS);
  if (maps.length === 0) return [];
  for (const map of maps) {
    checkKinds("renderHeatMaps: a map", map, HEAT_MAP);
    const { weights, queries, keys } = map;
    for (const [labels, count] of [
      ["queryLabels", queries],
      ["keyLabels", keys],
    ] as const)
      if (options[labels]?.length !== count)
        refuseValue("renderHeatMaps", labels, `a list of ${count} texts`, options[labels]);
    checkArgument(
      isList(weights) &&
        weights.length === queries * keys &&
        Array.from(weights).every((w) => typeof w === "number"),
      "renderHeatMaps",
      `weights as a list of queries × keys = ${queries * keys} numbers, such as tensor.toFloat64()`,
      weights,
    );
  }
  const { keys } = maps[0];
  const page = pageOf(options);
  if (fitsNumbers(maps.length, page)) return withValues(maps[0], page);
  // Labeled maps that do not fit side by side would fill several screens; half blocks fit.
  const space = page.columns - page.margin - 1;
  const fits = 2 * keys <= space && (keys <= 16 || maps.length === 1 || 4 * keys + GAP <= space);
  return isLabeled(page) && fits ? withLabels(maps, page) : withHalfBlocks(maps, page);
}

/** True if `renderHeatMaps` writes the numbers into the cells of `count` maps with these options. */
export function showsNumbers(count: number, options: TerminalOptions): boolean {
  return fitsNumbers(count, pageOf(options));
}

function pageOf({ queryLabels, keyLabels, paint = "mono", columns: wanted = 80 }: TerminalOptions): Page {
  const columns = Math.max(20, wanted);
  const rows = queryLabels.map((label) => plain(label, paint));
  const tops = keyLabels.map((label) => plain(label, paint));
  const margin = Math.min(Math.max(1, ...rows.map(widthOf)), Math.max(6, Math.floor(columns / 5)));
  return { rows, tops, margin, columns, paint };
}

const isLabeled = ({ rows, tops }: Page) => Math.max(rows.length, tops.length) <= MAX_LABELED;

const fitsNumbers = (count: number, page: Page) =>
  count === 1 && isLabeled(page) && 4 * page.tops.length <= page.columns - page.margin - 1;

interface Page {
  readonly rows: readonly string[];
  readonly tops: readonly string[];
  /** Columns of the row labels. */
  readonly margin: number;
  readonly columns: number;
  readonly paint: Paint;
}

/** One map with its weights in the cells. The cells are as wide as the column labels, if the terminal is wide enough. */
function withValues(map: HeatMap, { rows, tops, margin, columns, paint }: Page): string[] {
  const space = columns - margin - 1;
  const wanted = Math.max(PERCENT, ...tops.map((label) => widthOf(label) + 1));
  const cell = Math.max(4, Math.min(wanted, WIDEST, Math.floor(space / Math.max(1, map.keys))));
  return [
    `${" ".repeat(margin + 1)}${map.title}`,
    ...columnLabels(tops, cell, margin + 1, paint).map((line) => dim(line, paint)),
    ...valueRows(map, cell, paint).map((line, i) => rowLabel(rows[i], margin, paint) + line),
  ];
}

/** Columns of a cell with "100%" and a space, and the maximum for a wide label. */
const PERCENT = 5;
const WIDEST = 12;

/**
 * Column labels as words, right-aligned with the numbers of their columns. If they are wider than a cell, they are staggered over
 * several lines, and a vertical line connects each label to its column where no other label is in between.
 */
function columnLabels(labels: readonly string[], cell: number, indent: number, paint: Paint): string[] {
  const longest = Math.max(1, ...labels.map(widthOf));
  const steps = Math.min(LETTERS, labels.length || 1, Math.ceil((longest + 1) / cell));
  const down = plain("│", paint);
  const placed = labels.map((label, key) => {
    const end = indent + (key + 1) * cell - 1;
    const text = truncate(label, Math.min(steps * cell - 1, end), plain("…", paint));
    return { text, start: end - widthOf(text), end, line: key % steps };
  });
  return Array.from({ length: steps }, (_, line) => {
    const words = placed.filter((one) => one.line === line);
    const above = placed.filter((one) => one.line < line).map(({ end }) => end - 1);
    const free = above.filter((at) => !words.some(({ start, end }) => at >= start && at < end));
    const parts = [...words, ...free.map((start) => ({ text: down, start }))];
    parts.sort((one, other) => one.start - other.start);
    return parts.reduce((drawn, { text, start }) => pad(drawn, start) + text, "");
  });
}

/** Cells of two columns by one line, with a label on every row and column. */
function withLabels(maps: readonly HeatMap[], { rows, tops, margin, columns, paint }: Page): string[] {
  const inner = 2 * maps[0].keys;
  const indent = " ".repeat(margin + 1);
  // Words for a single map; vertical letters for several maps side by side.
  const labels = (band: readonly HeatMap[], width: number) =>
    maps.length === 1
      ? columnLabels(tops, 2, margin + 1, paint)
      : letters(tops, 2, paint).map((line) => indent + spread(band, width, () => line));
  return inBands(maps, columns - margin - 1, inner, (band, width) => [
    indent + titles(band, width),
    ...labels(band, width).map((line) => dim(line, paint)),
    ...joined(
      band.map((map) => cellRows(map, paint, 2)),
      width - inner + GAP,
      (i) => rowLabel(rows[i], margin, paint),
    ),
  ]);
}

/** Cells of one column by half a line (by a line, without color). Each line is labeled with all its tokens. */
function withHalfBlocks(maps: readonly HeatMap[], { rows, margin, columns, paint }: Page): string[] {
  const labels = Math.min(columns - 10, 2 * margin); // columns of the row labels
  const factor = Math.max(1, Math.ceil(maps[0].keys / (columns - labels - 1)));
  const tokens = factor * (isColor(paint) ? 2 : 1); // on one line
  const pooled = maps.map((map) => ({ ...pool(map, factor), title: map.title }));
  const inner = pooled[0].keys;
  const indent = " ".repeat(labels + 1);
  const lines = inBands(pooled, columns - labels - 1, inner, (band, width) => [
    indent + titles(band, width),
    indent +
      dim(
        spread(band, width, () => ticks(maps[0].keys, factor)),
        paint,
      ),
    ...joined(
      band.map((map) => (isColor(paint) ? halfRows(map, paint) : cellRows(map, paint, 1))),
      width - inner + GAP,
      (i) => rowLabel(rows.slice(i * tokens, (i + 1) * tokens).join(" "), labels, paint),
    ),
  ]);
  const note = plain(`each cell is the largest of ${factor}×${factor} weights`, paint);
  if (factor > 1) lines.push(...wrap(note, columns).map((line) => dim(line, paint)));
  return lines;
}

/** The scale from 0 to 1 with its ticks, two lines. */
export function renderScale(paint: Paint): string[] {
  const width = 32;
  const bar = Array.from({ length: width }, (_, i) => {
    const place = i / (width - 1);
    return { text: isColor(paint) ? " " : shade(place, paint), background: colorAt(place, rampOf(paint)) };
  });
  const below = [0, 0.01, 0.1, 0.25, 0.5, 1].reduce(
    (line, weight) =>
      pad(line, Math.round(placeOf(weight) * (width - 1))) + String(weight).replace(/^0(?=\.)/, ""),
    "",
  );
  return [strip(bar, paint), dim(below, paint)];
}

/** A heading with a dimmed note: beside it, or below it if the line is too short for both. */
export function heading(
  name: string,
  note: string,
  { columns, paint }: { readonly columns: number; readonly paint: Paint },
): string[] {
  const [head, below] = [plain(name, paint), plain(note, paint)];
  if (widthOf(head) + 2 + widthOf(below) <= columns) return [`${bold(head, paint)}  ${dim(below, paint)}`];
  return [bold(head, paint), ...wrap(below, columns - 2).map((line) => `  ${dim(line, paint)}`)];
}

/** A share from 0 to 1 as a bar of `columns`, to half a column (to a column in ASCII). */
export function renderBar(share: number, columns: number, paint: Paint): string {
  const clipped = share > 0 ? Math.min(1, share) : 0;
  if (paint === "ascii") {
    const full = Math.round(clipped * columns);
    return "=".repeat(full) + ".".repeat(columns - full);
  }
  const halves = Math.round(clipped * columns * 2);
  const bar = "━".repeat(halves >> 1) + (halves % 2 === 1 ? "╸" : "");
  const rest = " ".repeat(columns - bar.length);
  return colored(bar, paint, BAR) + (isColor(paint) ? dim("─".repeat(rest.length), paint) : rest);
}

/** Amber, for NaN. */
const NOT_A_NUMBER: Rgb = [255, 176, 0];
const BAR: Rgb = colorAt(0.55, "magma");

/** Draws maps in bands, as many side by side as fit; four maps that do not fit in one band become two bands of two. */
function inBands<M>(
  maps: readonly M[],
  space: number,
  inner: number,
  draw: (band: readonly M[], width: number) => string[],
): string[] {
  const width = Math.max(inner, 6);
  const fit = Math.max(1, Math.min(maps.length, Math.floor((space + GAP) / (width + GAP))));
  const across = Math.ceil(maps.length / Math.ceil(maps.length / fit));
  const lines: string[] = [];
  for (let first = 0; first < maps.length; first += across) {
    if (first > 0) lines.push("");
    lines.push(...draw(maps.slice(first, first + across), width));
  }
  return lines;
}

/** Texts side by side, one above each map of a band. */
function spread<M>(band: readonly M[], width: number, text: (map: M) => string): string {
  return band
    .map((map) => pad(text(map), width))
    .join(" ".repeat(GAP))
    .trimEnd();
}

const titles = (band: readonly HeatMap[], width: number) =>
  spread(band, width, ({ title }) => truncate(title, width, ""));

function rowLabel(label: string, margin: number, paint: Paint): string {
  return `${pad(truncate(label, margin, plain("…", paint)), margin, "start")} `;
}

/** Painted rows of maps, side by side. The gap is passed in, because rows with escape sequences cannot be measured. */
function joined(maps: readonly (readonly string[])[], gap: number, label: (row: number) => string): string[] {
  return maps[0].map((_, i) => label(i) + maps.map((rows) => rows[i]).join(" ".repeat(gap)));
}

/** Column labels as vertical letters; the last letter of each is next to its column. */
function letters(labels: readonly string[], cell: number, paint: Paint): string[] {
  const spelled = labels.map((label) => {
    const list = graphemes(label);
    return list.length <= LETTERS ? list : [...list.slice(0, LETTERS - 1), paint === "ascii" ? ":" : "⋮"];
  });
  const height = Math.max(1, ...spelled.map((list) => list.length));
  return Array.from({ length: height }, (_, line) =>
    spelled
      .map((list) => {
        const letter = list[line - (height - list.length)] ?? "";
        const before = " ".repeat(Math.max(0, Math.floor((cell - 1) / 2)));
        return pad(before + letter, cell);
      })
      .join("")
      .trimEnd(),
  );
}

/** The number of every tenth column, for maps too narrow for letters. */
function ticks(keys: number, factor: number): string {
  let line = "";
  for (let key = 0; key < keys; key += 10 * factor) line = pad(line, key / factor) + key;
  return line;
}

/** The color scale; for a terminal with 256 colors, a scale of those colors. */
const rampOf = (paint: Paint) => (paint === "256" ? "magma-256" : "magma");

const colorOf = (weight: number, paint: Paint): Rgb => colorAt(placeOf(weight), rampOf(paint));

interface Cell {
  readonly text: string;
  readonly foreground?: Rgb;
  readonly background?: Rgb;
}

/** Rows of painted cells. */
function paintedRows(
  rows: number,
  columns: number,
  paint: Paint,
  cell: (i: number, j: number) => Cell,
): string[] {
  return Array.from({ length: rows }, (_, i) =>
    strip(
      Array.from({ length: columns }, (_, j) => cell(i, j)),
      paint,
    ),
  );
}

function cellRows({ weights, queries, keys }: WeightMatrix, paint: Paint, width: number): string[] {
  return paintedRows(queries, keys, paint, (i, j) => {
    const weight = weights[i * keys + j];
    if (Number.isNaN(weight)) return { text: "?".repeat(width), foreground: NOT_A_NUMBER };
    return isColor(paint)
      ? { text: " ".repeat(width), background: colorOf(weight, paint) }
      : { text: shade(placeOf(weight), paint).repeat(width) };
  });
}

/** Cells with the weight in percent; narrow cells leave out the percent sign. */
function valueRows({ weights, queries, keys }: WeightMatrix, cell: number, paint: Paint): string[] {
  const sign = cell >= PERCENT ? "%" : "";
  return paintedRows(queries, keys, paint, (i, j) => {
    const weight = weights[i * keys + j];
    const background = colorOf(weight, paint);
    const foreground: Rgb = lightness(background) > 0.62 ? [20, 12, 28] : [236, 230, 240];
    const text = Number.isNaN(weight) ? "NaN" : `${wholePercent(weight)}${sign}`;
    return { text: `${text.padStart(cell - 1)} `, foreground, background };
  });
}

/** Two rows of weights on each line. */
function halfRows({ weights, queries, keys }: WeightMatrix, paint: Paint): string[] {
  const color = (i: number, j: number) => {
    if (i >= queries) return undefined;
    const weight = weights[i * keys + j];
    return Number.isNaN(weight) ? NOT_A_NUMBER : colorOf(weight, paint);
  };
  return paintedRows(Math.ceil(queries / 2), keys, paint, (i, j) => ({
    text: "▀",
    foreground: color(2 * i, j),
    background: color(2 * i + 1, j),
  }));
}

/** A row of cells; neighbors of the same colors share one escape sequence. */
function strip(cells: readonly Cell[], paint: Paint): string {
  const key = ({ foreground, background }: Cell) => `${foreground} ${background}`;
  let line = "";
  for (let i = 0, end = 0; i < cells.length; i = end) {
    let text = "";
    for (; end < cells.length && key(cells[end]) === key(cells[i]); end++) text += cells[end].text;
    line += colored(text, paint, cells[i].foreground, cells[i].background);
  }
  return line;
}

/** The largest weight of each block of `factor` × `factor`. */
function pool(map: WeightMatrix, factor: number): WeightMatrix {
  if (factor === 1) return map;
  const queries = Math.ceil(map.queries / factor);
  const keys = Math.ceil(map.keys / factor);
  const weights = new Float32Array(queries * keys);
  for (let i = 0; i < map.queries; i++)
    for (let j = 0; j < map.keys; j++) {
      const at = Math.floor(i / factor) * keys + Math.floor(j / factor);
      // Math.max propagates NaN.
      weights[at] = Math.max(weights[at], map.weights[i * map.keys + j]);
    }
  return { weights, queries, keys };
}

/**
 * Heat maps for a terminal: rows are queries, columns are keys, the colour is the square root of the weight.
 *
 * Three sizes, the largest that fits: cells with their value inside (one head alone), cells of two columns by one line
 * (about square) with a label on every row and column, and, for long texts, half blocks (▀: the upper half in one
 * colour, the lower in another), one column by half a line. Where even those are too wide, cells are joined and
 * show the largest weight inside, which keeps thin patterns visible; a line below says so.
 *
 * Everything returns lines of text and touches no terminal.
 */
import { colourAt, lightness, placeOf, type Rgb } from "./colour.ts";
import { graphemes, pad, truncate, widthOf } from "./label.ts";
import type { WeightMatrix } from "./metrics.ts";
import { coloured, dim, isColour, type Paint, plain, shade } from "./paint.ts";

/** A map to draw: weights with a title. */
export interface HeatMap extends WeightMatrix {
  readonly title: string;
}

/** How maps are drawn. */
export interface TerminalOptions {
  /** Labels of the rows and of the columns, one each. */
  readonly queryLabels: readonly string[];
  readonly keyLabels: readonly string[];
  /** Columns of the terminal; 80 by default. */
  readonly columns?: number;
  /** Default `mono`. */
  readonly paint?: Paint;
}

const GAP = 3;
const LETTERS = 7;
/** Above this many tokens a map is drawn in half blocks. */
const MOST_LABELLED = 32;

/** Draws maps of one shape beside each other, as many as fit, the rest below. */
export function renderHeatMaps(maps: readonly HeatMap[], options: TerminalOptions): string[] {
  if (maps.length === 0) return [];
  const { queries, keys } = maps[0];
  const paint = options.paint ?? "mono";
  const columns = Math.max(20, options.columns ?? 80);
  const rows = options.queryLabels.map((label) => plain(label, paint));
  const tops = options.keyLabels.map((label) => plain(label, paint));
  const margin = Math.min(Math.max(1, ...rows.map(widthOf)), Math.max(6, Math.floor(columns / 5)));
  const room = columns - margin - 1;

  if (maps.length === 1 && 4 * keys <= room && queries <= MOST_LABELLED)
    return [
      ...title([maps[0].title], margin, 4 * keys),
      ...letters(tops, 4).map((line) => `${" ".repeat(margin + 1)}${dim(line, paint)}`),
      ...valueRows(maps[0], paint).map((line, i) => rowLabel(rows[i], margin) + line),
    ];
  if (Math.max(queries, keys) <= MOST_LABELLED && 2 * keys <= room)
    return beside(maps, room, 2 * keys, (band, width) => [
      ...title(
        band.map((map) => map.title),
        margin,
        width,
      ),
      ...letters(tops, 2).map((line) => {
        const head = pad(line, width);
        return `${" ".repeat(margin + 1)}${dim(
          band
            .map(() => head)
            .join(" ".repeat(GAP))
            .trimEnd(),
          paint,
        )}`;
      }),
      ...joined(
        band.map((map) => cellRows(map, paint, 2)),
        width,
        2 * keys,
        (i) => rowLabel(rows[i], margin),
      ),
    ]);

  // Long texts. Every line is two rows in colour, one without.
  const labels = isColour(paint) ? 2 : 1;
  const wide = Math.min(columns - 2, 2 * margin) + 1;
  const factor = Math.max(1, Math.ceil(keys / Math.max(8, columns - wide)));
  const pooled = maps.map((map) => ({ ...pool(map, factor), title: map.title }));
  const lines = beside(pooled, columns - wide, pooled[0].keys, (band, width) => [
    ...title(
      band.map((map) => map.title),
      wide - 1,
      width,
    ),
    " ".repeat(wide) +
      dim(
        band
          .map(() => pad(ticks(keys, factor), width))
          .join(" ".repeat(GAP))
          .trimEnd(),
        paint,
      ),
    ...joined(
      band.map((map) => (isColour(paint) ? halfRows(map, paint) : cellRows(map, paint, 1))),
      width,
      pooled[0].keys,
      (i) =>
        rowLabel(
          truncate(
            rows.slice(i * labels * factor, (i + 1) * labels * factor).join(" "),
            wide - 1,
            plain("…", paint),
          ),
          wide - 1,
        ),
    ),
  ]);
  if (factor > 1)
    lines.push(dim(plain(`each cell is the largest of ${factor}×${factor} weights`, paint), paint));
  return lines;
}

/** The scale from 0 to 1 with its ticks, two lines. */
export function renderScale(paint: Paint): string[] {
  const width = 32;
  const bar = Array.from({ length: width }, (_, i) => {
    const place = i / (width - 1);
    return { text: isColour(paint) ? " " : shade(place, paint), background: colourAt(place, "magma") };
  });
  let below = "";
  for (const [weight, text] of [
    [0, "0"],
    [0.01, ".01"],
    [0.1, ".1"],
    [0.25, ".25"],
    [0.5, ".5"],
    [1, "1"],
  ] as const)
    below = pad(below, Math.round(placeOf(weight) * (width - 1))) + text;
  return [strip(bar, paint), dim(below, paint)];
}

/** A share from 0 to 1 as a bar of `columns` (eighths of a block where the paint allows). */
export function renderBar(share: number, columns: number, paint: Paint): string {
  const clipped = share > 0 ? Math.min(1, share) : 0;
  if (paint === "ascii") {
    const full = Math.round(clipped * columns);
    return "#".repeat(full) + ".".repeat(columns - full);
  }
  const eighths = Math.round(clipped * columns * 8);
  const full = Math.floor(eighths / 8);
  const bar = "█".repeat(full) + (eighths % 8 === 0 ? "" : "▏▎▍▌▋▊▉"[(eighths % 8) - 1]);
  return coloured(bar, paint, BAR) + " ".repeat(columns - widthOf(bar));
}

const BAR: Rgb = [178, 102, 186];

/** Bands of maps, as many beside each other as fit; four that do not fit beside each other become two and two. */
function beside<M>(
  maps: readonly M[],
  room: number,
  inner: number,
  draw: (band: readonly M[], width: number) => string[],
): string[] {
  const width = Math.max(inner, 6);
  const fit = Math.max(1, Math.min(maps.length, Math.floor((room + GAP) / (width + GAP))));
  const bands = Math.ceil(maps.length / fit);
  const across = Math.ceil(maps.length / bands);
  const lines: string[] = [];
  for (let first = 0; first < maps.length; first += across) {
    if (first > 0) lines.push("");
    lines.push(...draw(maps.slice(first, first + across), width));
  }
  return lines;
}

function title(titles: readonly string[], margin: number, width: number): string[] {
  const line = titles.map((text) => pad(truncate(text, width, ""), width)).join(" ".repeat(GAP));
  return [`${" ".repeat(margin + 1)}${line}`.trimEnd()];
}

function rowLabel(label: string, margin: number): string {
  return `${pad(truncate(label, margin, /^[\x20-\x7e]*$/.test(label) ? "~" : "…"), margin, "start")} `;
}

/** Painted rows of maps, side by side. A painted row has escapes, so its width is known, not measured. */
function joined(
  maps: readonly (readonly string[])[],
  width: number,
  inner: number,
  label: (row: number) => string,
): string[] {
  const between = " ".repeat(width - inner + GAP);
  return maps[0].map((_, i) => label(i) + maps.map((rows) => rows[i]).join(between));
}

/** Column labels as upright letters, the last letter of each next to its column. */
function letters(labels: readonly string[], cell: number): string[] {
  const spelt = labels.map((label) => {
    const list = graphemes(label);
    return list.length <= LETTERS
      ? list
      : [...list.slice(0, LETTERS - 1), /^[\x20-\x7e]*$/.test(label) ? ":" : "⋮"];
  });
  const height = Math.max(1, ...spelt.map((list) => list.length));
  return Array.from({ length: height }, (_, line) =>
    spelt
      .map((list) => {
        const letter = list[line - (height - list.length)] ?? "";
        const before = " ".repeat(Math.max(0, Math.floor((cell - 1) / 2)));
        return pad(before + letter, cell);
      })
      .join("")
      .trimEnd(),
  );
}

/** Numbers of the columns, every tenth, for maps too narrow for letters. */
function ticks(keys: number, factor: number): string {
  let line = "";
  for (let key = 0; key < keys; key += 10 * factor) line = pad(line, key / factor) + key;
  return line;
}

interface Cell {
  readonly text: string;
  readonly foreground?: Rgb;
  readonly background?: Rgb;
}

function cellRows(map: WeightMatrix, paint: Paint, width: number): string[] {
  return Array.from({ length: map.queries }, (_, i) =>
    strip(
      Array.from({ length: map.keys }, (_, j) => {
        const place = placeOf(map.weights[i * map.keys + j]);
        return isColour(paint)
          ? { text: " ".repeat(width), background: colourAt(place, "magma") }
          : { text: shade(place, paint).repeat(width) };
      }),
      paint,
    ),
  );
}

/** Cells with the weight inside, in per cent. */
function valueRows(map: WeightMatrix, paint: Paint): string[] {
  return Array.from({ length: map.queries }, (_, i) =>
    strip(
      Array.from({ length: map.keys }, (_, j) => {
        const weight = map.weights[i * map.keys + j];
        const background = colourAt(placeOf(weight), "magma");
        const foreground: Rgb = lightness(background) > 0.62 ? [20, 12, 28] : [236, 230, 240];
        return { text: `${String(Math.round(100 * weight)).padStart(3)} `, foreground, background };
      }),
      paint,
    ),
  );
}

function halfRows(map: WeightMatrix, paint: Paint): string[] {
  const colour = (i: number, j: number) =>
    i < map.queries ? colourAt(placeOf(map.weights[i * map.keys + j]), "magma") : undefined;
  return Array.from({ length: Math.ceil(map.queries / 2) }, (_, i) =>
    strip(
      Array.from({ length: map.keys }, (_, j) => ({
        text: "▀",
        foreground: colour(2 * i, j),
        background: colour(2 * i + 1, j),
      })),
      paint,
    ),
  );
}

/** A row of cells; neighbours of the same colours share one escape sequence. */
function strip(cells: readonly Cell[], paint: Paint): string {
  let line = "";
  for (let i = 0; i < cells.length; ) {
    const { foreground, background } = cells[i];
    let text = "";
    for (
      ;
      i < cells.length && same(cells[i].foreground, foreground) && same(cells[i].background, background);
      i++
    )
      text += cells[i].text;
    line += coloured(text, paint, foreground, background);
  }
  return line;
}

function same(a: Rgb | undefined, b: Rgb | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.join() === b.join());
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
      weights[at] = Math.max(weights[at], map.weights[i * map.keys + j]);
    }
  return { weights, queries, keys };
}

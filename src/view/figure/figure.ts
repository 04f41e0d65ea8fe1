/**
 * Figures for papers without a browser: a view of a head (or the atlas of all) as one SVG file. The same store, options
 * and engine-independent arithmetic give the same bytes in Node and in a page. Leaves to others: each view (its own
 * file), tables (table.ts), pictures of pixels (raster.ts).
 */

import { formatNumber } from "../../store/text/number.ts";
import type { HeadStore } from "../../store/types.ts";
import { drawAtlas } from "./atlas.ts";
import { altText, drawCaption, factsOf, latexFigure, placeName } from "./caption.ts";
import { drawLines, type Kept } from "./lines.ts";
import { drawMatrix, drawScale } from "./matrix.ts";
import { type Figure, type FigureOptions, resolveFigure } from "./options.ts";
import { drawRow } from "./row.ts";
import { drawText } from "./running-text.ts";
import { type Part, POINT, svgFile, THEMES } from "./sheet.ts";
import { type Shown, shownHead } from "./shown.ts";

/** A drawn figure. */
export interface DrawnFigure {
  /** The file's text. */
  readonly svg: string;
  /** Millimeters. */
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** The caption, in one line. */
  readonly caption: string;
  /** The alternative text, which is also the file's `desc`. */
  readonly alt: string;
  /** A LaTeX figure environment that includes `name`. */
  latex(name: string): string;
  /**
   * The figure as a PDF page in the standard fonts of all readers (Helvetica, Courier, Symbol). `missing` are the characters
   * that are not in these fonts and are replaced by question marks; the SVG has them.
   */
  pdf(): Promise<{ readonly pdf: Uint8Array; readonly missing: readonly string[] }>;
}

/** Points around a figure, and between its parts. */
const EDGE = 6;
const GAP = 5;

/**
 * Draws a figure. Throws OptionError before any work if an option is invalid or the store does not have the head or cell.
 *
 * @example
 * const { svg, caption } = await renderFigure(store, { view: "matrix", layer: 5, head: 11 });
 * writeFileSync("head.svg", svg);
 */
export async function renderFigure(store: HeadStore, options: FigureOptions = {}): Promise<DrawnFigure> {
  const figure = resolveFigure(store, options);
  const theme = THEMES[figure.theme];
  const inner = figure.width * POINT - 2 * EDGE;
  const seen = new Set<number>();
  const shown = figure.view === "atlas" ? undefined : await shownHead(figure);
  const parts: Part[] = [];
  let kept: Kept | undefined;
  if (shown === undefined) parts.push(await drawAtlas(figure, theme, inner, seen));
  else if (figure.view === "matrix") parts.push(drawMatrix(figure, shown, theme, inner, seen));
  else if (figure.view === "text") parts.push(drawText(figure, shown, theme, inner, seen));
  else if (figure.view === "row") parts.push(drawRow(figure, shown, theme, inner));
  else {
    const lines = drawLines(figure, shown, theme, inner);
    kept = lines.kept;
    parts.push(lines);
  }
  if (figure.view === "matrix" || figure.view === "text" || figure.view === "atlas")
    parts.push(drawScale(figure, shown ?? { signed: false, domain: 1 }, theme, seen));
  const measures = shown === undefined ? undefined : await store.measures(figure.ref);
  const facts = factsOf(figure, shown, kept, measures?.notNumbers);
  if (figure.caption) parts.push(drawCaption(facts, theme, inner));

  const placed: string[] = [];
  let y = EDGE;
  for (const { svg, height } of parts) {
    placed.push(`<g transform="translate(${EDGE} ${Number(y.toFixed(2))})">`, svg, "</g>");
    y += height + GAP;
  }
  const height = y - GAP + EDGE;
  const title = `${placeName(figure)}: ${figure.view}`;
  const hides = (shown?.hiddenKeys.size ?? 0) > 0;
  const alt = altText(figure, facts, measures, shown === undefined ? "" : cellSentence(figure, shown), hides);
  const sheet = { width: figure.width, height, theme, background: figure.background };
  const svg = svgFile(sheet, title, alt, placed);
  return {
    svg,
    width: figure.width,
    height: height / POINT,
    title,
    caption: `${facts.join(" · ")}.`,
    alt,
    latex: (name) => latexFigure(name, figure.width, facts),
    // The PDF writer is loaded on demand.
    pdf: async () => (await import("../pdf/from-svg.ts")).pdfOfFigure(svg, title, alt),
  };
}

/** The chosen cell in words: "The chosen cell: sat to cat, 0.412." */
function cellSentence(figure: Figure, shown: Shown): string {
  if (!figure.marked) return "";
  const [i, j] = [shown.queries.indexOf(figure.query), shown.keys.indexOf(figure.key)];
  if (i < 0 || j < 0) return "";
  const { values, marks } = shown.row(i);
  const said = ["", "masked", "not a number", "hidden"][marks[j]] || formatNumber(values[j]);
  return `The chosen cell: ${shown.queryNames[figure.query]} to ${shown.keyNames[figure.key]}, ${said}.`;
}

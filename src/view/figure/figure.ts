/**
 * Figures for papers without a browser: a view of a head (or the atlas of all) as one SVG file. The same store, options
 * and engine-independent arithmetic give the same bytes in Node and in a page. Leaves to others: each view (its own
 * file), the sheet (drawn.ts), tables (table.ts), pictures of pixels (raster.ts).
 */

import { checkCount } from "../../core/errors.ts";
import type { HeadStore } from "../../store/head-store.ts";
import { formatNumber } from "../../store/text/number.ts";
import { drawAtlas } from "./atlas.ts";
import { altText, drawCaption, factsOf, placeName } from "./caption.ts";
import { MARK_NAMES } from "./cells.ts";
import { type DrawnFigure, drawnFigure, innerWidth } from "./drawn.ts";
import { drawLines, shownEdges } from "./lines.ts";
import { drawMatrix, drawScale } from "./matrix.ts";
import { type Figure, type FigureOptions, resolveFigure } from "./options.ts";
import { drawRow } from "./row.ts";
import { drawText } from "./running-text.ts";
import { type FigurePart, THEMES } from "./sheet.ts";
import { type Shown, shownHead } from "./shown.ts";

/** Points between the parts of a figure. */
const GAP = 5;

/**
 * Draws a figure. Throws OptionError before any work if an option is invalid or the store does not have the head or cell.
 *
 * @example
 * const { svg, caption } = await renderFigure(store, { view: "matrix", layer: 5, head: 11 });
 * writeFileSync("head.svg", svg);
 */
export async function renderFigure(store: HeadStore, options: FigureOptions = {}): Promise<DrawnFigure> {
  checkCount("renderFigure", arguments, 2);
  const figure = resolveFigure(store, options);
  const { view, ref } = figure;
  const theme = THEMES[figure.theme];
  const width = innerWidth(figure.width);
  const marks = new Set<number>();
  const shown = view === "atlas" ? undefined : await shownHead(figure);
  const edges = view === "lines" && shown !== undefined ? shownEdges(figure, shown) : undefined;
  const parts: FigurePart[] = [];
  if (shown === undefined) parts.push(await drawAtlas(figure, theme, width, marks));
  else if (edges !== undefined) parts.push(drawLines(edges, shown, theme, width));
  else if (view === "row") parts.push(drawRow(figure, shown, theme, width));
  else parts.push((view === "text" ? drawText : drawMatrix)(figure, shown, theme, width, marks));
  if (view === "matrix" || view === "text" || view === "atlas")
    parts.push(drawScale(figure, shown ?? { signed: false, domain: 1 }, theme, marks));
  const measures = shown === undefined ? undefined : await store.measures(ref);
  const facts = factsOf(figure, shown, edges, measures?.notNumbers);
  if (figure.caption) parts.push(drawCaption(facts, theme, width));
  const hides = (shown?.hiddenKeys.size ?? 0) > 0;
  const alt = altText(figure, facts, measures, shown === undefined ? "" : cellSentence(figure, shown), hides);
  return drawnFigure(parts, GAP, figure, { title: `${placeName(figure)}: ${view}`, facts, alt });
}

/** The chosen cell in words: "The chosen cell: sat to cat, 0.412." */
function cellSentence(figure: Figure, shown: Shown): string {
  if (!figure.marked) return "";
  const [i, j] = [shown.queries.indexOf(figure.query), shown.keys.indexOf(figure.key)];
  if (i < 0 || j < 0) return "";
  const { values, marks } = shown.row(i);
  const value = MARK_NAMES[marks[j]] || formatNumber(values[j]);
  return `The chosen cell: ${shown.queryNames[figure.query]} to ${shown.keyNames[figure.key]}, ${value}.`;
}

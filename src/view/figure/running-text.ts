/**
 * A head on the running text: the background of each token shows its weight from the chosen queries, or to the chosen keys.
 * Several chosen tokens are combined by mean, sum or maximum. Lines are set in a monospaced font, so that line breaks are the
 * same on every engine.
 */

import { codeOf, signedCodeOf } from "../../store/measures/transfer.ts";
import { graphemes, truncate, widthOf } from "../../store/text/label.ts";
import { continues, piecesOf } from "../../store/text/tokens.ts";
import { colorTable, hex, lightness } from "../color.ts";
import { type Attributes, element, text } from "../plot/svg.ts";
import { hatchOf, rampOf } from "./cells.ts";
import type { Figure } from "./options.ts";
import { type FigurePart, MONO, MONO_EM, type Theme } from "./sheet.ts";
import { MARK, type Shown } from "./shown.ts";

const FONT = 8;
const LEADING = 15;

/** Values along the text. */
export interface Tinted {
  /** Of all tokens of one side, by index: `from` reads along the keys, `to` along the queries. */
  readonly values: Float64Array;
  readonly marks: Uint8Array;
  /** The tokens that were chosen, by index on the other side. */
  readonly chosen: readonly number[];
}

/** The weight of each token from the chosen queries, or to the chosen keys. Each row is read once. */
export function tintedText(figure: Figure, shown: Shown): Tinted {
  const from = figure.direction === "from";
  const chosen = figure.rows.length > 0 ? figure.rows : [from ? figure.query : figure.key];
  const count = from ? shown.keys.length : shown.queries.length;
  const values = new Float64Array(count);
  const marks = new Uint8Array(count).fill(MARK.masked);
  let read = 0;
  const join = (at: number, value: number, mark: number) => {
    // A combination with a number that is not finite is not a number either.
    if (marks[at] === MARK.notNumber || mark === MARK.notNumber) {
      marks[at] = MARK.notNumber;
      return;
    }
    if (mark !== MARK.value) {
      if (marks[at] === MARK.masked) marks[at] = mark;
      return;
    }
    const first = marks[at] !== MARK.value;
    values[at] = figure.aggregate === "max" && !first ? Math.max(values[at], value) : values[at] + value;
    marks[at] = MARK.value;
  };
  if (from)
    for (const [place, i] of shown.queries.entries()) {
      if (!chosen.includes(i)) continue;
      const row = shown.row(place);
      row.values.forEach((value, at) => join(at, value, row.marks[at]));
      read++;
    }
  else {
    const columns = chosen.map((j) => shown.keys.indexOf(j)).filter((at) => at >= 0);
    read = columns.length;
    for (let place = 0; place < shown.queries.length; place++) {
      const row = shown.row(place);
      for (const at of columns) join(place, row.values[at], row.marks[at]);
    }
  }
  // The mean is over all chosen tokens: a key that is masked for half of them has half the weight.
  if (figure.aggregate === "mean" && read > 0) for (let at = 0; at < count; at++) values[at] /= read;
  return { values, marks, chosen };
}

/** Draws the text at the top of a sheet `width` points wide. */
export function drawText(
  figure: Figure,
  shown: Shown,
  theme: Theme,
  width: number,
  drawnMarks: Set<number>,
): FigurePart {
  const { values, marks, chosen } = tintedText(figure, shown);
  const from = figure.direction === "from";
  const names = from ? shown.keyLabels : shown.queryLabels;
  const tokens = from ? figure.block.keyTokens : figure.block.queryTokens;
  const along = from ? shown.keys : shown.queries;
  const table = colorTable(rampOf(figure, shown.signed));
  const full = shown.domain ?? values.reduce((largest, x) => Math.max(largest, Math.abs(x)), 0);
  const pieces = piecesOf(tokens);
  const columns = Math.max(8, Math.floor(width / (FONT * MONO_EM)));
  const hatch = hatchOf(theme, 1);
  const self = figure.block.kind === "self";
  const lines: string[] = [];
  let [x, y] = [0, 0];
  along.forEach((index, at) => {
    const joins = at > 0 && along[at - 1] === index - 1 && continues(tokens[index], pieces);
    // A token longer than a line is cut. The pieces of a word have no space in between.
    const label = truncate(names[index].replace(/^##(?=.)/, ""), columns);
    const wide = widthOf(label);
    const gap = joins || x === 0 ? 0 : 1;
    if (x > 0 && x + gap + wide > columns) [x, y] = [0, y + 1];
    else x += gap;
    const mark = marks[at];
    drawnMarks.add(mark);
    const code = shown.signed ? signedCodeOf(values[at], full) : codeOf(values[at], figure.transfer, full);
    const color = table[code];
    const place = {
      x: x * FONT * MONO_EM,
      y: y * LEADING,
      width: wide * FONT * MONO_EM,
      height: LEADING - 3,
    };
    const fills = { [MARK.masked]: hatch.fill, [MARK.hidden]: theme.line, [MARK.notNumber]: theme.badge };
    lines.push(element("rect", { ...place, fill: fills[mark as 1 | 2 | 3] ?? hex(color) }));
    if (self && chosen.includes(index))
      lines.push(element("rect", { ...place, fill: "none", stroke: theme.query, "stroke-width": 1.2 }));
    const ink = mark !== MARK.value ? theme.ink : lightness(color) < 0.62 ? "#fbfaf7" : "#1b1a17";
    const font = { "font-family": MONO, "font-size": FONT, fill: ink };
    // Stretched to the width of its background in any font.
    const fit: Attributes =
      graphemes(label).length > 1 ? { textLength: place.width, lengthAdjust: "spacingAndGlyphs" } : {};
    lines.push(text(place.x, place.y + FONT + 0.6, label, { ...font, ...fit }));
    x += wide;
  });
  const defs = drawnMarks.has(MARK.masked) ? `${hatch.defs}\n` : "";
  return { svg: defs + lines.join("\n"), height: along.length === 0 ? 0 : (y + 1) * LEADING };
}

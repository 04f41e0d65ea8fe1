/**
 * Where one number comes from: the ledger of a cell, the products its score is the sum of, and the row it belongs to.
 * Every number comes from the store's ledger and row; this file only sets them, in parts one below the other.
 */

import type { Ledger } from "../../store/measures/ledger.ts";
import { truncate } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import { rule } from "../plot/axis.ts";
import { barX, barY } from "../plot/marks.ts";
import { bandScale, scaleOf } from "../plot/scale.ts";
import { text } from "../plot/svg.ts";
import type { Figure } from "./options.ts";
import { type FigurePart, MONO, MONO_EM, SANS_EM, stack, type Theme, textWidth } from "./sheet.ts";
import { MARK, type Shown } from "./shown.ts";

/** Points: sizes of text, the distance of lines, the height of the bars of products, and the space between parts. */
const FONT = 7;
const SMALL = 6;
const TITLE = 20;
const LEADING = 11;
const STRIP = 34;
const GAP = 10;
/** Keys listed of the row. */
const LISTED = 8;
/** Products whose share of the total is stated. */
const TOP = 3;

const NUMBER = { "font-family": MONO, "font-size": FONT, "text-anchor": "end" };

/** Draws the cell of a figure on a sheet `width` points wide. */
export function drawRow(figure: Figure, shown: Shown, theme: Theme, width: number): FigurePart {
  const { store, ref, query, key } = figure;
  const ledger = store.ledger(ref, query, key, figure.whatIf);
  return stack(
    [
      weightTitle(ledger, shown.queryNames[query], shown.keyNames[key], theme, width),
      ledgerTable(ledger, theme, width),
      ...(ledger.products.length > 0 ? [productBars(ledger, figure.terms, theme, width)] : []),
      rowTable(figure, shown, theme, width),
    ],
    GAP,
  );
}

/** The weight in large digits, and the two tokens it belongs to. */
function weightTitle(
  { weight, visible }: Ledger,
  query: string,
  key: string,
  theme: Theme,
  width: number,
): FigurePart {
  const x = textWidth(weight.text, TITLE) + 8;
  const title = truncate(`the share “${query}” gives to “${key}”`, columnsOf(width - x, FONT, SANS_EM));
  const masked = { "font-size": FONT, fill: theme.badge };
  return {
    svg: [
      text(0, TITLE, weight.text, { "font-family": MONO, "font-size": TITLE, fill: theme.ink }),
      text(x, TITLE, title, { "font-size": FONT }),
      ...(visible ? [] : [text(x, TITLE - 9, "masked: not read", masked)]),
    ].join("\n"),
    height: TITLE + 6,
  };
}

/** Name, formula and value of each step. */
function ledgerTable({ lines }: Ledger, theme: Theme, width: number): FigurePart {
  const names = Math.max(36, ...lines.map(({ name }) => textWidth(name, FONT, SANS_EM) + 8));
  const values = Math.max(24, ...lines.map(({ value }) => textWidth(value.text, FONT)));
  const space = columnsOf(width - names - values - 8, SMALL);
  const rows = lines.map(({ name, formula, value }, n) => {
    const y = 4 + (n + 1) * LEADING;
    const label = truncate(formulaText(formula), space);
    return [
      text(0, y, name, { "font-size": FONT }),
      space > 4 ? text(names, y, label, { "font-family": MONO, "font-size": SMALL, fill: theme.second }) : "",
      text(width, y, value.text, NUMBER),
      rule("y", y + 3, [0, width], { stroke: theme.line, "stroke-width": 0.4 }),
    ].join("\n");
  });
  return {
    svg: [heading("Where this number comes from", theme), ...rows].join("\n"),
    height: lines.length * LEADING + 10,
  };
}

/** A formula of the ledger as text. */
export function formulaText(formula: Ledger["lines"][number]["formula"]): string {
  return formula.map((part) => (typeof part === "string" ? part : part.text)).join("");
}

/** The products q_c·k_c as bars around 0, by index or largest first. */
function productBars({ products }: Ledger, terms: "index" | "size", theme: Theme, width: number): FigurePart {
  const sizes = Float64Array.from(products, Math.abs);
  const bySize = largestOf(sizes, sizes.length);
  const order = terms === "size" ? bySize : [...products.keys()];
  const total = sizes.reduce((sum, x) => sum + x, 0);
  const topCount = Math.min(TOP, bySize.length);
  const topSum = bySize.slice(0, topCount).reduce((sum, c) => sum + sizes[c], 0);
  const share = total > 0 ? formatNumber(topSum / total, { style: "percent" }) : "0";
  // The axis divides the height in proportion to the largest positive and the largest negative product.
  const [high, low] = products.reduce(([up, down], x) => [Math.max(up, x), Math.min(down, x)], [0, 0]);
  const domain = [low, high > low ? high : low + 1] as const;
  const scale = scaleOf({ domain, range: [8 + STRIP, 8] });
  const step = width / Math.max(1, order.length);
  const barWidth = Math.max(0.2, Math.min(step * 0.8, 8));
  const note = `${topCount} of the ${products.length} products make up ${share} of their total size; ${terms === "size" ? "largest first" : "by index"}`;
  return {
    svg: [
      heading(`The ${products.length} products qᵢ·kᵢ`, theme),
      barY({
        values: order.map((c) => products[c]),
        band: { ...bandScale(order.length, [0, width]), bandwidth: barWidth },
        ...{ scale, minimum: 0.1 },
        attributes: (n) => ({ fill: products[order[n]] < 0 ? theme.key : theme.query }),
      }),
      rule("y", scale(0), [0, width], { stroke: theme.third, "stroke-width": 0.4 }),
      text(0, STRIP + 8 + LEADING, note, { "font-size": SMALL, fill: theme.second }),
    ].join("\n"),
    height: STRIP + 8 + LEADING + 4,
  };
}

/** The row's strongest keys, with their weight and the cumulative sum. */
function rowTable(figure: Figure, shown: Shown, theme: Theme, width: number): FigurePart {
  const place = shown.queries.indexOf(figure.query);
  const title = heading(`What ${truncate(shown.queryNames[figure.query], 24)} attends to`, theme);
  if (place < 0) return { svg: title, height: LEADING };
  const row = shown.row(place);
  const visible = row.marks.filter((mark) => mark === MARK.value).length;
  const top = largestOf(row.values, Math.min(LISTED, visible)).filter((n) => row.marks[n] === MARK.value);
  const values = top.map((n) => Math.abs(row.values[n]));
  const nameOf = (n: number) => shown.keyNames[shown.keys[n]];
  const names = Math.min(90, Math.max(30, ...top.map((n) => textWidth(nameOf(n), FONT))));
  const bars = Math.max(10, width - names - 78);
  const band = bandScale(top.length, [0, top.length * LEADING]);
  let sum = 0;
  const lines = top.flatMap((n, line) => {
    const y = 4 + (line + 1) * LEADING;
    const name = truncate(nameOf(n), columnsOf(names, FONT));
    const fill = shown.keys[n] === figure.key ? theme.query : theme.ink;
    sum += row.values[n];
    return [
      text(0, y, name, { "font-family": MONO, "font-size": FONT, fill }),
      text(width - 36, y, formatNumber(row.values[n]), NUMBER),
      ...(shown.signed ? [] : [text(width, y, `Σ ${formatNumber(sum)}`, { ...NUMBER, fill: theme.second })]),
    ];
  });
  const note = `${top.length} of ${visible} keys that the query may see`;
  const bottom = 4 + (top.length + 1) * LEADING;
  return {
    svg: [
      title,
      barX({
        values,
        // On the upper part of each line's height.
        band: { ...band, bandwidth: 5, start: (n) => 4 + (n + 1) * LEADING - 5 },
        scale: scaleOf({ domain: [0, values[0] || 1], range: [names + 6, names + 6 + bars] }),
        attributes: { fill: theme.weight },
      }),
      ...lines,
      text(0, bottom, note, { "font-size": SMALL, fill: theme.second }),
    ].join("\n"),
    height: bottom + 4,
  };
}

function heading(title: string, theme: Theme): string {
  return text(0, 0, title, { "font-size": 6.5, "font-weight": 600, fill: theme.second });
}

/** How many characters of a size are in a width. */
const columnsOf = (width: number, size: number, em = MONO_EM) => Math.floor(width / (em * size));

/** Indices of the `count` largest values, the largest first; of equal values, the earlier first. */
function largestOf(values: Float64Array, count: number): number[] {
  const indices = [...values.keys()].filter((n) => values[n] === values[n]);
  return indices.sort((a, b) => values[b] - values[a] || a - b).slice(0, count);
}

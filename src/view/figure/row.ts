/**
 * Where one number comes from: the ledger of a cell, the products its score is the sum of, and the row it belongs to.
 * Every number comes from the store's ledger and row; this file only sets them.
 */

import { truncate } from "../../store/text/label.ts";
import { formatNumber } from "../../store/text/number.ts";
import type { Ledger } from "../../store/types.ts";
import type { Figure } from "./options.ts";
import { element, MONO, MONO_EM, type Part, SANS_EM, type Theme, text, textWidth } from "./sheet.ts";
import { MARK, type Shown } from "./shown.ts";

const FONT = 7;
const LEADING = 11;
const STRIP = 34;
/** Keys listed of the row. */
const LISTED = 8;

/** Draws the cell of a figure at the top of a sheet `width` points wide. */
export function drawRow(figure: Figure, shown: Shown, theme: Theme, width: number): Part {
  const { store, ref, query, key } = figure;
  const ledger = store.ledger(ref, query, key, figure.whatIf);
  const lines: string[] = [];
  let y = 20;
  lines.push(text(0, y, ledger.weight.text, { "font-family": MONO, "font-size": 20, fill: theme.ink }));
  const said = `the share “${shown.queryNames[query]}” gives to “${shown.keyNames[key]}”`;
  const x = textWidth(ledger.weight.text, 20) + 8;
  lines.push(text(x, y, truncate(said, Math.floor((width - x) / (SANS_EM * FONT))), { "font-size": FONT }));
  if (!ledger.visible)
    lines.push(text(x, y - 9, "masked: not read", { "font-size": FONT, fill: theme.badge }));
  y += 16;
  const table = ledgerTable(ledger, theme, width, y);
  lines.push(table.svg);
  y += table.height + 10;
  if (ledger.products.length > 0) {
    const strip = products(ledger, figure.terms, theme, width, y);
    lines.push(strip.svg);
    y += strip.height + 10;
  }
  const row = rowTable(figure, shown, theme, width, y);
  lines.push(row.svg);
  return { svg: lines.join("\n"), height: y + row.height };
}

/** Name, formula and value of each step. */
function ledgerTable(ledger: Ledger, theme: Theme, width: number, top: number): Part {
  const lines = [heading("Where this number comes from", theme, top)];
  let y = top + 4;
  const names = Math.max(36, ...ledger.lines.map(({ name }) => textWidth(name, FONT, SANS_EM) + 8));
  const values = Math.max(24, ...ledger.lines.map(({ value }) => textWidth(value.text, FONT)));
  for (const { name, formula, value } of ledger.lines) {
    y += LEADING;
    lines.push(text(0, y, name, { "font-size": FONT }));
    const said = formula.map((part) => (typeof part === "string" ? part : part.text)).join("");
    const space = Math.floor((width - names - values - 8) / (MONO_EM * 6));
    if (space > 4)
      lines.push(
        text(names, y, truncate(said, space), { "font-family": MONO, "font-size": 6, fill: theme.second }),
      );
    lines.push(text(width, y, value.text, { "font-family": MONO, "font-size": FONT, "text-anchor": "end" }));
    lines.push(
      element("path", { d: `M0 ${y + 3}h${width.toFixed(2)}`, stroke: theme.line, "stroke-width": 0.4 }),
    );
  }
  return { svg: lines.join("\n"), height: y - top + 6 };
}

/** The products q_c·k_c as bars around 0, by index or largest first. */
function products(ledger: Ledger, terms: "index" | "size", theme: Theme, width: number, top: number): Part {
  const { products } = ledger;
  const sizes = Float64Array.from(products, Math.abs);
  const bySize = largest(sizes, sizes.length);
  const order = terms === "size" ? bySize : [...products.keys()];
  const whole = sizes.reduce((sum, x) => sum + x, 0);
  const few = Math.min(3, bySize.length);
  const carried = bySize.slice(0, few).reduce((sum, c) => sum + sizes[c], 0);
  const share = whole > 0 ? formatNumber(carried / whole, { style: "percent" }) : "0";
  const lines = [heading(`The ${products.length} products qᵢ·kᵢ`, theme, top)];
  // The axis divides the height in proportion to the largest positive and the largest negative product.
  const [above, below] = products.reduce(([up, down], x) => [Math.max(up, x), Math.max(down, -x)], [0, 0]);
  const scale = STRIP / (above + below || 1);
  const middle = top + 8 + above * scale;
  const step = width / Math.max(1, order.length);
  const bar = Math.max(0.2, Math.min(step * 0.8, 8));
  order.forEach((c, n) => {
    const tall = Math.abs(products[c]) * scale;
    const fill = products[c] < 0 ? theme.key : theme.query;
    const y = products[c] < 0 ? middle : middle - tall;
    lines.push(element("rect", { x: n * step, y, width: bar, height: Math.max(tall, 0.1), fill }));
  });
  lines.push(
    element("path", {
      d: `M0 ${middle.toFixed(2)}h${width.toFixed(2)}`,
      stroke: theme.third,
      "stroke-width": 0.4,
    }),
  );
  const bottom = top + STRIP + 8 + LEADING;
  const note = `${few} of the ${products.length} products make up ${share} of their total size; ${terms === "size" ? "largest first" : "by index"}`;
  lines.push(text(0, bottom, note, { "font-size": 6, fill: theme.second }));
  return { svg: lines.join("\n"), height: STRIP + 8 + LEADING + 4 };
}

/** The row's strongest keys, with their weight and the cumulative sum. */
function rowTable(figure: Figure, shown: Shown, theme: Theme, width: number, top: number): Part {
  const place = shown.queries.indexOf(figure.query);
  const lines = [heading(`What ${truncate(shown.queryNames[figure.query], 24)} attends to`, theme, top)];
  if (place < 0) return { svg: lines.join("\n"), height: LEADING };
  const row = shown.row(place);
  const seen = row.marks.reduce((count, mark) => count + (mark === MARK.value ? 1 : 0), 0);
  const best = largest(row.values, Math.min(LISTED, seen)).filter((at) => row.marks[at] === MARK.value);
  const full = best.length > 0 ? Math.abs(row.values[best[0]]) || 1 : 1;
  const names = Math.min(
    90,
    Math.max(30, ...best.map((at) => textWidth(shown.keyNames[shown.keys[at]], FONT))),
  );
  const bars = Math.max(10, width - names - 78);
  let y = top + 4;
  let sum = 0;
  for (const at of best) {
    y += LEADING;
    const name = truncate(shown.keyNames[shown.keys[at]], Math.floor(names / (MONO_EM * FONT)));
    sum += row.values[at];
    const chosen = shown.keys[at] === figure.key ? theme.query : theme.ink;
    lines.push(text(0, y, name, { "font-family": MONO, "font-size": FONT, fill: chosen }));
    const wide = (Math.abs(row.values[at]) / full) * bars;
    lines.push(element("rect", { x: names + 6, y: y - 5, width: wide, height: 5, fill: theme.weight }));
    const number = { "font-family": MONO, "font-size": FONT, "text-anchor": "end" };
    lines.push(text(width - 36, y, formatNumber(row.values[at]), number));
    if (!shown.signed)
      lines.push(text(width, y, `Σ ${formatNumber(sum)}`, { ...number, fill: theme.second }));
  }
  y += LEADING;
  const note = `${best.length} of ${seen} keys that the query may see`;
  lines.push(text(0, y, note, { "font-size": 6, fill: theme.second }));
  return { svg: lines.join("\n"), height: y - top + 4 };
}

function heading(said: string, theme: Theme, y: number): string {
  const font = { "font-size": 6.5, "font-weight": 600, fill: theme.second };
  return text(0, y, said, font);
}

/** Indices of the `count` largest values, the largest first; of equal values, the earlier first. */
function largest(values: Float64Array, count: number): number[] {
  const places = [...values.keys()].filter((at) => values[at] === values[at]);
  return places.sort((a, b) => values[b] - values[a] || a - b).slice(0, count);
}

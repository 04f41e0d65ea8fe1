/**
 * The numbers of a figure as a table, in full precision. Rows are computed one at a time, so no N × N array is in memory. CSV as
 * in RFC 4180; JSON as one object.
 */
import { argumentError, checkCount, isList } from "../../core/errors.ts";
import type { HeadStore } from "../../store/head-store.ts";
import { EVEN } from "../../store/measures/measures.ts";
import { changesOf } from "./caption.ts";
import { MARK_NAMES } from "./cells.ts";
import { shownEdges } from "./lines.ts";

import { type Figure, type FigureOptions, type FigureView, resolveFigure } from "./options.ts";
import { formulaText } from "./row.ts";
import { tintedText } from "./running-text.ts";
import { MARK, type Shown, shownHead } from "./shown.ts";

/** A value of a table: a text, a number, or nothing. Cells without a finite number are texts: `NaN`, `masked`, `hidden`. */
export type TableValue = string | number | null;

/** A table: the names of its columns, and its rows, computed during iteration. */
export interface FigureTable {
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly TableValue[]>;
}

/**
 * The table of a figure. `matrix`: one row per query, with its token, then one column per key. `lines`: the edges that are kept.
 * `text`: one row per token. `atlas`: one row per head, with its measures. `row`: the ledger.
 *
 * @example
 * const table = await figureTable(store, { view: "matrix", layer: 5, head: 11 });
 */
export async function figureTable(store: HeadStore, options: FigureOptions = {}): Promise<FigureTable> {
  checkCount("figureTable", arguments, 2);
  const figure = resolveFigure(store, options);
  if (figure.view === "atlas") return atlasTable(figure);
  return TABLES[figure.view](figure, await shownHead(figure));
}

const TABLES: Readonly<Record<Exclude<FigureView, "atlas">, (figure: Figure, shown: Shown) => FigureTable>> =
  { matrix: matrixTable, lines: linesTable, text: textTable, row: ledgerTable };

function cellValue(value: number, mark: number): TableValue {
  return mark === MARK.notNumber ? "NaN" : MARK_NAMES[mark] || value;
}

function matrixTable({ block }: Figure, shown: Shown): FigureTable {
  return {
    columns: ["query", ...shown.keys.map((j) => block.keyTokens[j])],
    rows: mapped(shown.queries.length, (place) => {
      const { values, marks } = shown.row(place);
      return [
        block.queryTokens[shown.queries[place]],
        ...Array.from(values, (value, j) => cellValue(value, marks[j])),
      ];
    }),
  };
}

function linesTable(figure: Figure, shown: Shown): FigureTable {
  const { edges } = shownEdges(figure, shown);
  const { queryTokens, keyTokens } = figure.block;
  return {
    columns: ["query index", "query", "key index", "key", figure.stage],
    rows: mapped(edges.length, (n) => {
      const [i, j] = [shown.queries[edges[n].query], shown.keys[edges[n].key]];
      return [i, queryTokens[i], j, keyTokens[j], edges[n].weight];
    }),
  };
}

function textTable(figure: Figure, shown: Shown): FigureTable {
  const { values, marks } = tintedText(figure, shown);
  const from = figure.direction === "from";
  const along = from ? shown.keys : shown.queries;
  const tokens = from ? figure.block.keyTokens : figure.block.queryTokens;
  return {
    columns: ["index", "token", figure.stage],
    rows: mapped(along.length, (n) => [along[n], tokens[along[n]], cellValue(values[n], marks[n])]),
  };
}

function ledgerTable(figure: Figure, shown: Shown): FigureTable {
  const { lines } = figure.store.ledger(figure.ref, figure.query, figure.key, figure.whatIf);
  const cell = [shown.queryNames[figure.query], shown.keyNames[figure.key]];
  const steps = lines.map(({ step, name, formula, value }) => [
    ...[...cell, step, name, formulaText(formula)],
    Number.isFinite(value.value) ? value.value : String(value.value),
  ]);
  const changes = changesOf(figure).map((change) => [...cell, "changed", "changed by hand", change, null]);
  return { columns: ["query", "key", "step", "name", "formula", "value"], rows: [...steps, ...changes] };
}

const MEASURES = ["entropy", "effectiveKeys", "distance", ...EVEN, "maxWeight", "leak", "rowSum"] as const;

async function atlasTable({ store, ref, block }: Figure): Promise<FigureTable> {
  const rows: TableValue[][] = [];
  for (const layer of block.layers)
    for (let head = 0; head < block.heads; head++) {
      const measures = await store.measures({ block: ref.block, layer, head });
      const values = MEASURES.map((name) => measures[name] ?? null);
      // JSON has no NaN.
      rows.push([layer, head, ...values.map((x) => (Number.isNaN(x) ? "NaN" : x))]);
    }
  return { columns: ["layer", "head", ...MEASURES], rows };
}

function mapped(count: number, row: (n: number) => readonly TableValue[]): Iterable<readonly TableValue[]> {
  return {
    *[Symbol.iterator]() {
      for (let n = 0; n < count; n++) yield row(n);
    },
  };
}

/**
 * A text that is safe in a spreadsheet: a text that would be read as a formula (it begins with = + - @ or a tab) gets an
 * apostrophe in front, and control characters other than line breaks become �. Numbers are not changed.
 */
function harmless(content: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
  const clean = content.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "�");
  return /^[=+\-@\t\r]/.test(clean) ? `'${clean}` : clean;
}

function checkTable(what: string, table: FigureTable): void {
  if (!isList(table?.columns)) throw argumentError(what, "a table, as figureTable returns", table);
}

/**
 * The table as CSV, line by line, the names of the columns first.
 *
 * @example
 * for (const line of csvLines(await figureTable(store, { layer: 5, head: 11 }))) process.stdout.write(line);
 */
export function* csvLines(table: FigureTable): Generator<string> {
  checkTable("csvLines", table);
  const { columns, rows } = table;
  const field = (value: TableValue) => {
    const content = typeof value === "string" ? harmless(value) : String(value ?? "");
    return /[",\r\n]/.test(content) ? `"${content.replaceAll('"', '""')}"` : content;
  };
  yield `${columns.map(field).join(",")}\r\n`;
  for (const row of rows) yield `${row.map(field).join(",")}\r\n`;
}

/**
 * The table as JSON, `{ "columns": […], "rows": [[…], …] }`, piece by piece.
 *
 * @example
 * const json = [...jsonLines(await figureTable(store, { layer: 5, head: 11 }))].join("");
 */
export function* jsonLines(table: FigureTable): Generator<string> {
  checkTable("jsonLines", table);
  const { columns, rows } = table;
  yield `{"columns":${JSON.stringify(columns)},"rows":[`;
  let between = "\n";
  for (const row of rows) {
    yield between + JSON.stringify(row);
    between = ",\n";
  }
  yield "\n]}\n";
}

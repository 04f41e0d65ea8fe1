/**
 * Tables of numbers, and the one that most pictures have: the rows of a head with their strongest keys. A row is computed when it
 * is shown; sorting computes all rows.
 */
import type { NumberOptions } from "../../src/store/text/number.ts";
import { csvLines } from "../../src/view/figure/table.ts";
import { axesOf, type Session, type TokenLabels } from "../app/session.ts";
import { factsOf, largest } from "./facts.ts";
import type { State } from "./state.ts";
import { shownWeights } from "./words.ts";

export interface TableColumn {
  readonly name: string;
  readonly source: string;
  readonly options?: NumberOptions;
  /** Its cells have a token and a number: two fields in CSV. */
  readonly pair?: boolean;
}

/** A cell: a token, a number, a token with its number, or nothing. */
export interface TableCell {
  readonly token?: string;
  /** The token's language, if the file names it. */
  readonly lang?: string;
  readonly value?: number;
}

export interface NumberTable {
  readonly caption: string;
  readonly columns: readonly TableColumn[];
  readonly count: number;
  /** The row at an index, in the order of the picture. */
  readonly row: (at: number) => readonly TableCell[];
  /** Whether the cursor is in a row, and the patch that moves it there. */
  readonly current: (at: number) => boolean;
  readonly go: (at: number) => Partial<State>;
  /** Changes when its rows change for another reason than the cursor's head or the settings of its picture. */
  readonly key?: string;
  /** True: its numbers arrive over time, so rows are not cached. */
  readonly growing?: boolean;
}

/** How many keys are listed for a row. */
export const TOP = 5;

/** The columns of the strongest keys of a row. */
export const topColumns = (source: string): readonly TableColumn[] =>
  Array.from({ length: TOP }, (_, i) => ({ name: i === 0 ? "strongest" : `${i + 1}`, source, pair: true }));

/** The cells of these columns; empty where the row has fewer keys. */
export const topCells = (
  values: Float64Array,
  keys: readonly number[],
  { key: names, lang }: TokenLabels,
): readonly TableCell[] =>
  Array.from({ length: TOP }, (_, i) =>
    keys[i] === undefined ? {} : { token: names[keys[i]], lang: lang.key, value: values[keys[i]] },
  );

/** The rows of the cursor's head with their strongest keys. */
export function rowsTable(session: Session): NumberTable {
  const { block, state, store, ref } = session;
  const names = session.labels(block!);
  const axis = axesOf(block!, state).rows;
  const indices = axis.runs.flatMap(({ start, end }) =>
    Array.from({ length: end - start }, (_, i) => start + i),
  );
  return {
    caption: `The ${TOP} keys with the largest weight for each query, layer ${state.layer}, head ${state.head}`,
    columns: [
      { name: "query", source: "index" },
      { name: "token", source: "" },
      { name: "effective keys", source: "e^entropy of row" },
      ...topColumns("row weights"),
    ],
    count: indices.length,
    row: (at) => {
      const query = indices[at];
      const { entropy } = factsOf(store!.row(ref, query, "weights"));
      const weights = shownWeights(session, query);
      const best = largest(weights, TOP).filter((key) => weights[key] > 0);
      return [
        { value: query },
        { token: names.query[query], lang: names.lang.query },
        { value: best.length === 0 ? 0 : Math.exp(entropy) },
        ...topCells(weights, best, names),
      ];
    },
    current: (at) => indices[at] === state.query,
    go: (at) => ({ query: indices[at] }),
  };
}

/** The sort key of a cell. */
export function sortValue({ value, token }: TableCell): number | string {
  return value ?? token ?? Number.NEGATIVE_INFINITY;
}

/** The table as CSV, rows in the given order: numbers in full precision, tokens escaped so that spreadsheets read no formula. */
export function csvOf(table: NumberTable, order: readonly number[]): Generator<string> {
  // A key and its weight are two fields.
  const columns = table.columns.flatMap(({ name, pair }) =>
    pair ? [`${name} key`, `${name} weight`] : [name],
  );
  const row = (at: number) =>
    table.row(at).flatMap(({ token, value }, i): (string | number | null)[] => {
      const number = value === undefined ? null : Number.isFinite(value) ? value : String(value);
      return table.columns[i].pair ? [token ?? null, number] : [token ?? number];
    });
  return csvLines({ columns, rows: order.map(row) });
}

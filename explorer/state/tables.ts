/**
 * The tables of the pictures: the rows of a head with their strongest keys, all heads with their measures, or all keys of a
 * row. A row is computed when it is shown; sorting computes all rows.
 */
import type { NumberOptions } from "../../src/store/text/number.ts";
import { csvLines } from "../../src/view/figure/table.ts";
import { axesOf, type Labels, type Session } from "../app/session.ts";
import { factsOf, largest } from "./facts.ts";
import { arrange, METRICS, metricValue } from "./metrics.ts";
import type { State } from "./state.ts";
import { editsOf } from "./whatif.ts";
import { shownWeights } from "./words.ts";

export interface Column {
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

export interface Table {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly count: number;
  /** The row at an index, in the order of the picture. */
  readonly row: (at: number) => readonly TableCell[];
  /** Whether the cursor is in a row, and the patch that moves it there. */
  readonly current: (at: number) => boolean;
  readonly go: (at: number) => Partial<State>;
}

/** How many keys are listed for a row. */
export const TOP = 5;

export function tableOf(session: Session): Table {
  const { view } = session.state;
  if (view === "model") return heads(session);
  return view === "row" ? keys(session) : rows(session);
}

/** The columns of the strongest keys of a row. */
export const topColumns = (source: string): readonly Column[] =>
  Array.from({ length: TOP }, (_, i) => ({ name: i === 0 ? "strongest" : `${i + 1}`, source, pair: true }));

/** The cells of these columns; empty where the row has fewer keys. */
export const topCells = (
  values: Float64Array,
  keys: readonly number[],
  { key: names, lang }: Labels,
): readonly TableCell[] =>
  Array.from({ length: TOP }, (_, i) =>
    keys[i] === undefined ? {} : { token: names[keys[i]], lang: lang.key, value: values[keys[i]] },
  );

function rows(session: Session): Table {
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

function heads(session: Session): Table {
  const { placed } = arrange(session);
  const { state } = session;
  return {
    caption: "Every head and its measures",
    columns: [
      { name: "layer", source: "index" },
      { name: "head", source: "index" },
      ...METRICS.map(({ name, label, options }) => ({ name: label, source: `measures.${name}`, options })),
    ],
    count: placed.length,
    row: (at) => {
      const measures = session.measures(placed[at]);
      return [
        { value: placed[at].layer },
        { value: placed[at].head },
        ...METRICS.map(({ name }) => ({ value: metricValue(measures, name) })),
      ];
    },
    current: (at) => placed[at].layer === state.layer && placed[at].head === state.head,
    go: (at) => ({ layer: placed[at].layer, head: placed[at].head }),
  };
}

function keys(session: Session): Table {
  const { block, state, store, ref } = session;
  const { query } = session.shown;
  const names = session.labels(block!);
  const edits = editsOf(session);
  const scored = block!.has.qk;
  const weights = store!.row(ref, query, "weights", edits);
  const scores = scored ? store!.row(ref, query, "masked", edits) : undefined;
  return {
    caption: `Every key of query ${query}, layer ${state.layer}, head ${state.head}`,
    columns: [
      { name: "key", source: "index" },
      { name: "token", source: "" },
      ...(scored ? [{ name: "score", source: "row masked" }] : []),
      { name: "weight", source: "row weights" },
    ],
    count: weights.length,
    row: (key) => [
      { value: key },
      { token: names.key[key], lang: names.lang.key },
      ...(scores
        ? [scores[key] === Number.NEGATIVE_INFINITY ? { token: "masked" } : { value: scores[key] }]
        : []),
      { value: weights[key] },
    ],
    current: (key) => key === state.key,
    go: (key) => ({ key }),
  };
}

/** The sort key of a cell. */
export function sortValue({ value, token }: TableCell): number | string {
  return value ?? token ?? Number.NEGATIVE_INFINITY;
}

/** The table as CSV, rows in the given order: numbers in full precision, tokens escaped so that spreadsheets read no formula. */
export function csvOf(table: Table, order: readonly number[]): Generator<string> {
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

/**
 * The metrics by which heads are sorted and filtered: name, meaning and number format of each. The values are the store's
 * measures. `arrange` computes the grid position of each head.
 */

import type { Block } from "../../src/store/block.ts";
import type { HeadMeasures } from "../../src/store/measures/measures.ts";
import type { NumberOptions } from "../../src/store/text/number.ts";
import type { Session } from "../app/session.ts";
import { BY_PATTERN, type HeadName, type METRIC_NAMES, type State } from "./state.ts";

export interface Metric {
  readonly name: (typeof METRIC_NAMES)[number];
  readonly label: string;
  readonly meaning: string;
  readonly options: NumberOptions;
}

const share: NumberOptions = { style: "percent" };

export const METRICS: readonly Metric[] = [
  { name: "entropy", label: "entropy", meaning: "mean entropy of a row", options: { unit: "nat" } },
  {
    name: "effectiveKeys",
    label: "effective keys",
    meaning: "the number of keys of an even row with the same entropy: e to the mean entropy",
    options: {},
  },
  {
    name: "distance",
    label: "distance",
    meaning: "mean distance between query and key, in tokens",
    options: {},
  },
  { name: "diagonal", label: "same position", meaning: "share on its own position", options: share },
  { name: "previous", label: "previous", meaning: "share on the token before", options: share },
  { name: "next", label: "next", meaning: "share on the token after", options: share },
  { name: "first", label: "first token", meaning: "share on the first token", options: share },
  { name: "special", label: "special tokens", meaning: "share on tokens such as [CLS]", options: share },
  {
    name: "sameToken",
    label: "same token",
    meaning: "share on other copies of the same token",
    options: share,
  },
  {
    name: "induction",
    label: "induction",
    meaning: "share on the token after an earlier copy of the same token",
    options: share,
  },
  { name: "within", label: "near", meaning: "share on keys a few positions away at most", options: share },
  { name: "maxWeight", label: "largest weight", meaning: "the largest weight of the head", options: {} },
  {
    name: "leak",
    label: "leak",
    meaning: "largest share given to keys the mask hides: must be 0",
    options: {},
  },
  { name: "rowSum", label: "row sum error", meaning: "worst difference of a row's sum from 1", options: {} },
];

export const metricOf = (name: string) => METRICS.find((metric) => metric.name === name);

/** The value of a metric; undefined if the head does not have it. */
export function metricValue(measures: HeadMeasures | undefined, name: string): number | undefined {
  const value = measures?.[name as keyof HeadMeasures];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A pattern that heads have in common. */
interface Pattern {
  readonly label: string;
  /** Whether a head has it; the first pattern that fits is the head's. */
  readonly fits: (measures: HeadMeasures, keys: number) => boolean;
}

const mostly =
  (name: "diagonal" | "previous" | "next" | "first" | "special" | "sameToken" | "induction" | "within") =>
  ({ [name]: value }: HeadMeasures) =>
    (value ?? 0) >= 0.5;

/** Half of the attention makes a pattern; what has none of them is even, or only spread. */
const PATTERNS: readonly Pattern[] = [
  { label: "induction", fits: mostly("induction") },
  { label: "previous token", fits: mostly("previous") },
  { label: "next token", fits: mostly("next") },
  { label: "same position", fits: mostly("diagonal") },
  { label: "same token", fits: mostly("sameToken") },
  { label: "first token", fits: mostly("first") },
  { label: "special tokens", fits: mostly("special") },
  { label: "nearby tokens", fits: mostly("within") },
  { label: "nearly even", fits: ({ effectiveKeys }, keys) => effectiveKeys >= 0.7 * keys },
  { label: "other links", fits: () => true },
];
const UNMEASURED = "not measured yet";

/** Name and heads of each group that has any, the groups in the order of `PATTERNS`. */
function patternGroups(
  heads: readonly HeadName[],
  measuresOf: (head: HeadName) => HeadMeasures | undefined,
  { Nq, Nk, recipe }: Block,
): readonly (readonly [label: string, heads: readonly HeadName[]])[] {
  // Of a causal head, the rows see half of the keys on average.
  const keys = recipe.mask === "causal" && Nq === Nk ? (Nk + 1) / 2 : Nk;
  const groups = new Map<string, HeadName[]>(
    [...PATTERNS.map(({ label }) => label), UNMEASURED].map((label) => [label, []]),
  );
  for (const head of heads) {
    const measures = measuresOf(head);
    const label = measures ? PATTERNS.find(({ fits }) => fits(measures, keys))!.label : UNMEASURED;
    groups.get(label)!.push(head);
  }
  return [...groups].filter(([, members]) => members.length > 0);
}

/** A head and its grid position. */
export interface PlacedHead extends HeadName {
  readonly row: number;
  readonly column: number;
  /** A filter excludes it: it is drawn faded. */
  readonly faded: boolean;
}

/** Heads in rows and columns, with the labels of both. */
export interface HeadGrid {
  readonly placed: readonly PlacedHead[];
  readonly rows: number;
  readonly columns: number;
  readonly rowNames: readonly string[];
  readonly columnNames: readonly string[];
  /** Rows that have a title in place of heads. */
  readonly titles?: ReadonlyMap<number, string>;
  /** The number of adjacent query heads that share a key head; 1 if none do, or if heads are sorted. */
  readonly group: number;
}

/** @param perRow heads in a row of a list, of a group, and of a layer that is wider; by default the heads of a layer */
export function arrange(
  session: Session,
  state: State = session.state,
  perRow: number = session.block?.heads ?? 1,
): HeadGrid {
  const { block } = session;
  if (block === undefined)
    return { placed: [], rows: 0, columns: 0, rowNames: [], columnNames: [], group: 1 };
  const { name, layers, heads } = block;
  const all = layers.flatMap((layer) =>
    Array.from({ length: heads }, (_, head) => ({ block: name, layer, head })),
  );
  const value = (head: HeadName) => metricValue(session.measures(head), state.sort);
  const faded = (head: HeadName) =>
    state.filters.some(({ metric, low, high }) => {
      const at = metricValue(session.measures(head), metric);
      return at !== undefined && (at < low || at > high);
    });
  const order = <T>(items: readonly T[], key: (item: T) => number | undefined) => {
    const keyed = items.map((item, i) => ({ item, i, key: key(item) }));
    const sign = state.descending ? -1 : 1;
    // Heads that do not have the metric come last.
    return keyed
      .sort((a, b) =>
        a.key === undefined || b.key === undefined
          ? Number(a.key === undefined) - Number(b.key === undefined) || a.i - b.i
          : sign * (a.key - b.key) || a.i - b.i,
      )
      .map(({ item }) => item);
  };
  const mean = (some: readonly HeadName[]) => {
    const values = some.map(value).filter((one) => one !== undefined);
    return values.length === 0 ? undefined : values.reduce((a, b) => a + b, 0) / values.length;
  };
  if (state.sort === BY_PATTERN) {
    const titles = new Map<number, string>();
    const placed: PlacedHead[] = [];
    let row = 0;
    for (const [label, members] of patternGroups(all, (head) => session.measures(head), block)) {
      titles.set(row++, `${label} · ${members.length}`);
      members.forEach((head, i) => {
        placed.push({ ...head, row: row + Math.floor(i / perRow), column: i % perRow, faded: faded(head) });
      });
      row += Math.ceil(members.length / perRow);
    }
    const rowNames = Array.from({ length: row }, () => "");
    return {
      placed,
      rows: row,
      columns: perRow,
      rowNames,
      columnNames: rowNames.slice(0, perRow),
      titles,
      group: 1,
    };
  }
  const sorted = state.sort !== "";
  if (!sorted && perRow < heads) {
    // A layer goes over several rows.
    const perLayer = Math.ceil(heads / perRow);
    const shownLayers = state.flipped ? [...layers].reverse() : layers;
    return {
      placed: shownLayers.flatMap((layer, at) =>
        Array.from({ length: heads }, (_, head) => {
          const one = { block: name, layer, head };
          const row = at * perLayer + Math.floor(head / perRow);
          return { ...one, row, column: head % perRow, faded: faded(one) };
        }),
      ),
      rows: layers.length * perLayer,
      columns: perRow,
      rowNames: shownLayers.flatMap((layer) => Array.from({ length: perLayer }, () => String(layer))),
      columnNames: Array.from({ length: perRow }, () => ""),
      group: 1,
    };
  }
  if (sorted && state.sortHow === "list") {
    const list = order(all, value);
    const rows = Math.ceil(list.length / perRow);
    return {
      placed: list.map((head, i) => ({
        ...head,
        row: Math.floor(i / perRow),
        column: i % perRow,
        faded: faded(head),
      })),
      rows,
      columns: perRow,
      rowNames: Array.from({ length: rows }, (_, i) => `${i * perRow + 1}`),
      columnNames: Array.from({ length: perRow }, () => ""),
      group: 1,
    };
  }
  let shownLayers: readonly number[] = state.flipped ? [...layers].reverse() : layers;
  let shownHeads: readonly number[] = Array.from({ length: heads }, (_, head) => head);
  if (sorted && state.sortHow === "layers")
    shownLayers = order(layers, (layer) => mean(all.filter((one) => one.layer === layer)));
  if (sorted && state.sortHow === "heads")
    shownHeads = order(shownHeads, (head) => mean(all.filter((one) => one.head === head)));
  return {
    placed: shownLayers.flatMap((layer, row) =>
      shownHeads.map((head, column) => {
        const one = { block: name, layer, head };
        return { ...one, row, column, faded: faded(one) };
      }),
    ),
    rows: layers.length,
    columns: heads,
    rowNames: shownLayers.map(String),
    columnNames: shownHeads.map(String),
    group: sorted && state.sortHow === "heads" ? 1 : block.heads / Math.max(1, block.keyHeads),
  };
}

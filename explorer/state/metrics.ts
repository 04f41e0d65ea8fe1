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

const ROWS: readonly (readonly [Metric["name"], label: string, meaning: string, options?: NumberOptions])[] =
  [
    ["entropy", "entropy", "mean entropy of a row", { unit: "nat" }],
    [
      "effectiveKeys",
      "effective keys",
      "the number of keys of an even row with the same entropy: e to the mean entropy",
    ],
    ["distance", "distance", "mean distance between query and key, in tokens"],
    ["diagonal", "same position", "share on its own position", share],
    ["previous", "previous", "share on the token before", share],
    ["next", "next", "share on the token after", share],
    ["first", "first token", "share on the first token", share],
    ["special", "special tokens", "share on tokens such as [CLS]", share],
    ["sameToken", "same token", "share on other copies of the same token", share],
    ["induction", "induction", "share on the token after an earlier copy of the same token", share],
    ["within", "near", "share on keys a few positions away at most", share],
    ["maxWeight", "largest weight", "the largest weight of the head"],
    ["leak", "leak", "largest share given to keys the mask hides: must be 0"],
    ["rowSum", "row sum error", "worst difference of a row's sum from 1"],
  ];

export const METRICS: readonly Metric[] = ROWS.map(([name, label, meaning, options = {}]) => ({
  name,
  label,
  meaning,
  options,
}));

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
  const inOrder = Array.from({ length: heads }, (_, head) => head);
  const headsIn = (rows: readonly number[], columns = inOrder): HeadName[] =>
    rows.flatMap((layer) => columns.map((head) => ({ block: name, layer, head })));
  const all = headsIn(layers);
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
  /** Heads one after the other, in rows of `columns` from a row on; each list of them begins a row. */
  const inRows = (lists: readonly (readonly HeadName[])[], columns: number, title = 0) => {
    let row = 0;
    return lists.flatMap((list) => {
      const first = row + title;
      row = first + Math.ceil(list.length / columns);
      return list.map((head, i): PlacedHead => {
        return { ...head, row: first + Math.floor(i / columns), column: i % columns, faded: faded(head) };
      });
    });
  };
  const unnamed = Array<string>(perRow).fill("");
  if (state.sort === BY_PATTERN) {
    const groups = patternGroups(all, (head) => session.measures(head), block);
    const placed = inRows(
      groups.map(([, members]) => members),
      perRow,
      1,
    );
    const titles = new Map<number, string>();
    let rows = 0;
    for (const [label, { length }] of groups) {
      titles.set(rows, `${label} · ${length}`);
      rows += 1 + Math.ceil(length / perRow);
    }
    const rowNames = Array<string>(rows).fill("");
    return { placed, rows, columns: perRow, rowNames, columnNames: unnamed, titles, group: 1 };
  }
  const { sort, sortHow } = state;
  if (sort !== "" && sortHow === "list") {
    const placed = inRows([order(all, value)], perRow);
    const rowNames = Array.from({ length: Math.ceil(all.length / perRow) }, (_, i) => `${i * perRow + 1}`);
    return { placed, rows: rowNames.length, columns: perRow, rowNames, columnNames: unnamed, group: 1 };
  }
  const meanOf = (part: "layer" | "head") => (at: number) => mean(all.filter((one) => one[part] === at));
  const plain = state.flipped ? [...layers].reverse() : layers;
  const shownLayers = sort !== "" && sortHow === "layers" ? order(layers, meanOf("layer")) : plain;
  const shownHeads = sort !== "" && sortHow === "heads" ? order(inOrder, meanOf("head")) : inOrder;
  // A layer goes over several rows where it is too wide.
  const isWrapped = sort === "" && perRow < heads;
  const columns = isWrapped ? perRow : heads;
  const perLayer = Math.ceil(heads / columns);
  return {
    placed: inRows(
      shownLayers.map((layer) => headsIn([layer], shownHeads)),
      columns,
    ),
    rows: layers.length * perLayer,
    columns,
    rowNames: shownLayers.flatMap((layer) => Array<string>(perLayer).fill(String(layer))),
    columnNames: isWrapped ? unnamed : shownHeads.map(String),
    group: isWrapped || (sort !== "" && sortHow === "heads") ? 1 : heads / Math.max(1, block.keyHeads),
  };
}

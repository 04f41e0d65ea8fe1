/**
 * What a page of the explorer shows: everything that changes the picture, as one plain value. One cursor (block, layer,
 * head, query, key) is the single selection that all views share; a held cell stays while the cursor previews others.
 *
 * Leaves to others: how it is written in an address (url.ts), what it does to a head's numbers (../model), and what
 * only lasts as long as the pointer stays (hover, edited vectors: session.ts).
 */

/** The views; doors for others (compare, flow, lab) are added here. */
export const VIEWS = ["model", "head", "row"] as const;
export type View = (typeof VIEWS)[number];

/** How a head is drawn. */
export const MODES = ["matrix", "lines", "text"] as const;
export type Mode = (typeof MODES)[number];

/** The steps from q·k to what reaches the output, in order. */
export const STAGES = ["scores", "scaled", "masked", "weights", "contribution"] as const;
export type Stage = (typeof STAGES)[number];

/** How a weight becomes a place on the colour scale. */
export const TRANSFERS = ["sqrt", "linear", "log"] as const;
export type TransferName = (typeof TRANSFERS)[number];

/** What 1 on the colour scale stands for: 1 itself, or the largest value of the head or of each row. */
export const DOMAINS = ["absolute", "head", "row"] as const;
export type Domain = (typeof DOMAINS)[number];

/** Which keys are left out. */
export const HIDES = ["none", "special", "first", "chosen"] as const;
export type Hide = (typeof HIDES)[number];

/** What several selected queries are read as. */
export const AGGREGATES = ["mean", "sum", "max"] as const;
export type Aggregate = (typeof AGGREGATES)[number];

/** Colour scales of weights; `grey` and `cividis` for those who ask. */
export const RAMPS = ["plum", "cividis", "grey"] as const;
export type RampName = (typeof RAMPS)[number];

/** What is sorted: the flat list of heads, whole layers, or whole columns of heads. */
export const SORTS = ["list", "layers", "heads"] as const;
export type SortHow = (typeof SORTS)[number];

/** A head by name. */
export interface HeadName {
  readonly block: string;
  readonly layer: number;
  readonly head: number;
}

/** Where a picture is looked at: pixels a cell, and the cell at its upper left corner (both may be fractions). */
export interface Camera {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

/** A closed interval a metric must lie in. */
export interface Filter {
  readonly metric: string;
  readonly low: number;
  readonly high: number;
}

export interface State extends HeadName {
  readonly view: View;
  readonly mode: Mode;
  /** The cursor's cell. */
  readonly query: number;
  readonly key: number;
  /** The pinned cell. */
  readonly held: readonly [query: number, key: number] | null;
  readonly stage: Stage;
  readonly transfer: TransferName;
  readonly domain: Domain;
  readonly ramp: RampName;
  /** Coarse pictures keep the largest value of what they merge, or its mean. */
  readonly pool: "max" | "mean";
  readonly hide: Hide;
  /** Keys left out where `hide` is "chosen": sorted, each once. */
  readonly hidden: readonly number[];
  readonly renormalise: boolean;
  /** Pinned heads, at most six, lettered A to F. */
  readonly pins: readonly HeadName[];
  /** Selected queries and keys: sorted, each once; empty: the cursor alone. */
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  readonly aggregate: Aggregate;
  /** Segments shown, by index: sorted, each once; empty: all. */
  readonly querySegments: readonly number[];
  readonly keySegments: readonly number[];
  /** The metric heads are sorted by, "" for their order in the model. */
  readonly sort: string;
  readonly descending: boolean;
  readonly sortHow: SortHow;
  readonly filters: readonly Filter[];
  /** Layer 0 at the bottom. */
  readonly flipped: boolean;
  /** null: the whole picture fits. */
  readonly camera: Camera | null;
  readonly modelCamera: Camera | null;
  /** Values printed in cells that have room. */
  readonly values: boolean;
  /** Lines keep the strongest `top` keys a row, or as many as hold `mass` of it. */
  readonly keep: "top" | "mass";
  readonly top: number;
  readonly mass: number;
  readonly arcs: boolean;
  /** The text is tinted by what the chosen tokens give (from) or get (to). */
  readonly direction: "from" | "to";
  readonly words: boolean;
  readonly table: boolean;
  /** Terms of q·k in order of index, or largest first. */
  readonly terms: "index" | "size";
  /** The row's scale is multiplied by this: what if. */
  readonly temperature: number;
}

/** The most pins there are letters for. */
export const MOST_PINS = 6;

export const DEFAULT: State = {
  view: "head",
  mode: "matrix",
  block: "",
  layer: 0,
  head: 0,
  query: 0,
  key: 0,
  held: null,
  stage: "weights",
  transfer: "sqrt",
  domain: "absolute",
  ramp: "plum",
  pool: "max",
  hide: "none",
  hidden: [],
  renormalise: false,
  pins: [],
  rows: [],
  columns: [],
  aggregate: "mean",
  querySegments: [],
  keySegments: [],
  sort: "",
  descending: true,
  sortHow: "list",
  filters: [],
  flipped: false,
  camera: null,
  modelCamera: null,
  values: false,
  keep: "top",
  top: 3,
  mass: 0.8,
  arcs: false,
  direction: "from",
  words: false,
  table: false,
  terms: "index",
  temperature: 1,
};

/** Whether two heads are one. */
export function sameHead(a: HeadName, b: HeadName): boolean {
  return a.block === b.block && a.layer === b.layer && a.head === b.head;
}

/** Pins with this head among them, or without it where it was; the seventh is not taken. */
export function togglePin(pins: readonly HeadName[], { block, layer, head }: HeadName): readonly HeadName[] {
  const name = { block, layer, head };
  const rest = pins.filter((pin) => !sameHead(pin, name));
  if (rest.length < pins.length) return rest;
  return pins.length < MOST_PINS ? [...pins, name] : pins;
}

/** Sorted, each once. */
export function indexSet(values: Iterable<number>): readonly number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

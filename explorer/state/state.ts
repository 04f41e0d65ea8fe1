/**
 * What a page of the explorer shows (`State`, src/view/element.ts), its default, and the names its parts may have.
 *
 * Leaves to others: how it is written in an address (url.ts), what a click makes of it (select.ts), and what only lasts
 * as long as the pointer stays (../app/session.ts).
 */
import type { AblatedHead, Camera, Edit, Filter, HeadName, State } from "../../src/view/element.ts";

export type { AblatedHead, Camera, Edit, Filter, HeadName, State };

/** The steps from q·k to what reaches the output, in order. */
export const STAGES = ["scores", "scaled", "masked", "weights", "contribution"] as const;
export const TRANSFERS = ["sqrt", "linear", "log"] as const;
export const DOMAINS = ["absolute", "head", "row"] as const;
export const HIDES = ["none", "special", "first", "chosen"] as const;
export const AGGREGATES = ["mean", "sum", "max"] as const;
export const RAMPS = ["plum", "cividis", "grey"] as const;
export const ASKS = ["off", "pair", "from", "to"] as const;
export const ASK_ORDERS = ["weight", "lift"] as const;
export const FLOWS = ["rollout", "flow"] as const;
export const FUSES = ["mean", "max", "min"] as const;
export const SORTS = ["list", "layers", "heads"] as const;

export type Stage = State["stage"];
export type TransferName = State["transfer"];
export type Hide = State["hide"];
export type RampName = State["ramp"];

/** The most pins there are letters for. */
export const MOST_PINS = 6;

export const DEFAULT: State = {
  text: 0,
  view: "head",
  mode: "matrix",
  block: "",
  layer: 0,
  head: 0,
  query: 0,
  key: 0,
  pinned: null,
  stage: "weights",
  transfer: "sqrt",
  domain: "absolute",
  ramp: "plum",
  pool: "max",
  hide: "none",
  hidden: [],
  renormalize: false,
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
  together: false,
  direction: "from",
  words: false,
  table: false,
  terms: "index",
  other: null,
  alpha: 0.5,
  flowBy: "rollout",
  fuse: "mean",
  discard: 0,
  fromLayer: null,
  ask: "off",
  askBy: "weight",
  edits: [],
  temperature: 1,
  ablated: [],
  predict: null,
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

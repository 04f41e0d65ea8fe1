/**
 * The state of the explorer (`State`, src/view/element.ts): its default and the allowed values of its parts.
 *
 * Other files write it into an address (url.ts), change it after a click (select.ts), and store what is not part of it, such as
 * the hovered cell (../app/session.ts).
 */
import type { Camera, Edit, Filter, HeadName, State, SwitchedHead } from "../../src/view/element.ts";

export type { Camera, Edit, Filter, HeadName, State, SwitchedHead };

/** The steps from q·k to the contribution to the output, in order; then the weight compared with those of the other rows. */
export const STAGES = ["scores", "scaled", "masked", "weights", "contribution", "contrast"] as const;
export const TRANSFERS = ["sqrt", "linear", "log"] as const;
export const DOMAINS = ["absolute", "head", "row"] as const;
export const HIDES = ["none", "special", "first", "chosen"] as const;
export const AGGREGATES = ["mean", "sum", "max"] as const;
export const RAMPS = ["plum", "cividis", "grey"] as const;
export const ASKS = ["off", "pair", "from", "to"] as const;
export const ASK_ORDERS = ["contrast", "weight", "logit"] as const;
export const CAUSES = ["off", "zero", "mean", "patch", "link", "renormalized"] as const;
export const MEASURES = ["prediction", "text", "state", "weight"] as const;
export const FLOWS = ["rollout", "flow"] as const;
export const FUSES = ["mean", "max", "min"] as const;
/** Names of the measures by which heads are sorted and filtered; metrics.ts has their texts. */
export const METRIC_NAMES = [
  "entropy", "effectiveKeys", "distance", "diagonal", "previous", "next", "first", "special", "sameToken",
  "induction", "within", "maxWeight", "leak", "rowSum",
] as const; // biome-ignore format: one list
/** The value of `sort` for heads in groups of one pattern. */
export const BY_PATTERN = "pattern";
export const SORTS = ["list", "layers", "heads"] as const;

export type StageName = State["stage"];
export type TransferName = State["transfer"];
export type Hide = State["hide"];
export type RampName = State["ramp"];

/** The letters of pinned heads, and their maximum number. */
export const PIN_LETTERS = "ABCDEF";
export const MAX_PINS = 6;

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
  askBy: "contrast",
  cause: "off",
  measure: "state",
  why: false,
  edits: [],
  temperature: 1,
  ablated: [],
  predict: null,
};

/** The parts of a state that differ from the default: those that somebody named. */
export const namedParts = (state: State): Partial<State> =>
  Object.fromEntries(
    Object.entries(state).filter(([part, value]) => !Object.is(value, DEFAULT[part as keyof State])),
  );

/** Whether two names refer to the same head. */
export function sameHead(a: HeadName, b: HeadName): boolean {
  return a.block === b.block && a.layer === b.layer && a.head === b.head;
}

/** Adds a head to the pins, or removes it if it is pinned. A seventh head is not added. */
export function togglePin(pins: readonly HeadName[], { block, layer, head }: HeadName): readonly HeadName[] {
  const name = { block, layer, head };
  const rest = pins.filter((pin) => !sameHead(pin, name));
  if (rest.length < pins.length) return rest;
  return pins.length < MAX_PINS ? [...pins, name] : pins;
}

/** The values sorted, without duplicates. */
export function indexSet(values: Iterable<number>): readonly number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

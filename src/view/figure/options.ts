/**
 * The options of a figure, with defaults, checked against the store before any work. They have the names of the explorer's
 * state; `figureOptions` converts a state to options.
 */

import { formatValue, OptionError, UnsupportedError } from "../../core/errors.ts";
import { checkKinds, type FieldKinds } from "../../core/option-names.ts";
import type { Block, HeadRef, Stage } from "../../store/block.ts";
import { checkObject, checkStore } from "../../store/check.ts";
import type { Edits, HeadStore } from "../../store/head-store.ts";
import type { TileTransfer } from "../../store/measures/transfer.ts";
import type { State } from "../state.ts";

/** The views that a figure can show. */
export const FIGURE_VIEWS = ["matrix", "lines", "text", "atlas", "row"] as const;
/** One of `FIGURE_VIEWS`. */
export type FigureView = (typeof FIGURE_VIEWS)[number];

/** Options of a figure. Indices start at 0. */
export interface FigureOptions {
  /** Default `matrix`. */
  readonly view?: FigureView;
  /** A block by its name or its index. Default: the first. */
  readonly block?: string | number;
  /** A layer number of the block (default: its first layer), and a head (default 0). */
  readonly layer?: number;
  readonly head?: number;
  /** The cell to outline; `row` explains it, and `text` shows the attention from its query. */
  readonly query?: number;
  readonly key?: number;
  /** Default `weights`. */
  readonly stage?: Stage;
  /** How weights map to colors. Default `sqrt`. Scores are always linear around 0. */
  readonly transfer?: TileTransfer;
  /** The value of full color: 1 (for contributions and scores, the largest one), or the largest value shown of the head or of each row. */
  readonly domain?: "absolute" | "head" | "row";
  readonly ramp?: "plum" | "cividis" | "grey";
  /** Keys to hide in weights and contributions; `chosen`: those of `hidden`. */
  readonly hide?: "none" | "special" | "first" | "chosen";
  readonly hidden?: readonly number[];
  /** True: the weights of the other keys are rescaled to the row's original sum. */
  readonly renormalize?: boolean;
  /** Segments to show, by index; empty: all tokens. */
  readonly querySegments?: readonly number[];
  readonly keySegments?: readonly number[];
  /** `lines`: the `top` keys of each row (default 3), or the fewest that have the share `mass` of it (default 0.8). */
  readonly keep?: "top" | "mass";
  readonly top?: number;
  readonly mass?: number;
  /** `text`: tinted by the attention from the tokens of `rows`, or to them (empty: the query or the key); several are combined by `aggregate`. */
  readonly direction?: "from" | "to";
  readonly rows?: readonly number[];
  readonly aggregate?: "mean" | "sum" | "max";
  /** `matrix`: true: large cells show their numbers. */
  readonly values?: boolean;
  /**
   * `matrix`: a long head is drawn as one PNG. By default its cells are pooled by their largest value to at most 150 pixels per
   * inch of the printed width; true: one pixel per cell, up to 4,096 × 4,096.
   */
  readonly everyCell?: boolean;
  /** `row`: terms of q·k by index, or largest first. */
  readonly terms?: "index" | "size";
  /** `row`: numbers of the query, of one key, or the scale that differ from the file's; the caption lists them. */
  readonly whatIf?: Edits;
  /** `atlas`: pooled by the largest weight (the default) or the mean. */
  readonly pool?: "max" | "mean";
  /** Width in millimeters, 40 to 400: 85 is one column of a journal (the default), 170 two. */
  readonly width?: number;
  readonly theme?: "light" | "dark";
  /** False: a transparent background. Default: white paper, or dark paper with the dark theme. */
  readonly background?: boolean;
  /** False leaves out the caption below the figure. */
  readonly caption?: boolean;
  /** True: the caption begins with the text and its model, as the caption of a paper needs them. Default false. */
  readonly about?: boolean;
  /** Facts to add to the caption, such as how the weights were made. */
  readonly notes?: readonly string[];
}

/** Options with all defaults, resolved against a store. */
export interface Figure extends Required<Omit<FigureOptions, "block" | "query" | "key">> {
  readonly store: HeadStore;
  readonly ref: HeadRef;
  readonly block: Block;
  readonly query: number;
  readonly key: number;
  /** True if a query and a key were given: their cell is outlined. */
  readonly marked: boolean;
}

/** The allowed values of the options that are strings. */
export const FIGURE_WORDS = {
  view: FIGURE_VIEWS,
  stage: ["scores", "scaled", "masked", "weights", "contribution", "contrast"],
  transfer: ["sqrt", "linear", "log"],
  domain: ["absolute", "head", "row"],
  ramp: ["plum", "cividis", "grey"],
  hide: ["none", "special", "first", "chosen"],
  keep: ["top", "mass"],
  direction: ["from", "to"],
  aggregate: ["mean", "sum", "max"],
  terms: ["index", "size"],
  pool: ["max", "mean"],
  theme: ["light", "dark"],
} as const satisfies { readonly [K in keyof FigureOptions]: readonly FigureOptions[K][] };

/** The options without a default: the store decides. */
const PLACES = ["block", "layer", "head", "query", "key"];

/** The default of each other option; of words the first one, but for two. */
const DEFAULTS = {
  ...Object.fromEntries(Object.entries(FIGURE_WORDS).map(([name, words]) => [name, words[0]])),
  stage: "weights",
  terms: "size",
  hidden: [],
  renormalize: false,
  querySegments: [],
  keySegments: [],
  top: 3,
  mass: 0.8,
  rows: [],
  values: false,
  everyCell: false,
  whatIf: {},
  width: 85,
  background: true,
  caption: true,
  about: false,
  notes: [],
} as const;

/** All options; those of the kind "" are checked below. */
export const FIGURE_KINDS: FieldKinds = {
  "": [...Object.keys(DEFAULTS), ...PLACES].join(" "),
  "a list of integers ≥ 0": "rows hidden querySegments keySegments",
  "a list of texts": "notes",
  "an object": "whatIf",
};

/** Checks options against a store. Throws OptionError, or UnsupportedError for a stage that the file has no tensors for. */
export function resolveFigure(store: HeadStore, options: FigureOptions = {}): Figure {
  checkStore("renderFigure", store);
  checkKinds("renderFigure", options, FIGURE_KINDS);
  const defined = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const resolved = { ...DEFAULTS, ...defined } as unknown as Figure & FigureOptions;
  for (const [name, words] of Object.entries(FIGURE_WORDS)) {
    const value = resolved[name as keyof FigureOptions];
    if (!words.some((word) => word === value)) refuse(name, `one of ${words.join(", ")}`, value);
  }
  const { width, top, mass } = resolved;
  if (!(typeof width === "number" && width >= 40 && width <= 400))
    refuse("width", "a number of millimeters from 40 to 400", width);
  if (!(Number.isInteger(top) && top >= 1)) refuse("top", "an integer from 1 on", top);
  if (!(typeof mass === "number" && mass > 0 && mass <= 1))
    refuse("mass", "a share above 0 and at most 1", mass);

  const blockName = options.block ?? 0;
  const index =
    typeof blockName === "number" ? blockName : store.blocks.findIndex(({ name }) => name === blockName);
  const block = store.blocks[index];
  if (block === undefined)
    refuse("block", `one of ${store.blocks.map(({ name }) => name).join(", ")}`, blockName);
  const { layers, heads, Nq, Nk, segments } = block;
  const layer = options.layer ?? layers[0];
  if (!layers.includes(layer))
    refuse("layer", `one of block ${block.name}'s layers, ${listed(layers)}`, layer);
  const head = options.head ?? 0;
  inRange("head", head, heads);
  const [query, key] = [options.query ?? 0, options.key ?? 0];
  if (options.query !== undefined) inRange("query", query, Nq);
  if (options.key !== undefined) inRange("key", key, Nk);
  for (const row of resolved.rows) inRange("rows", row, resolved.direction === "from" ? Nq : Nk);
  for (const one of resolved.hidden) inRange("hidden", one, Nk);
  for (const one of resolved.querySegments) inRange("querySegments", one, segments.length);
  for (const one of resolved.keySegments) inRange("keySegments", one, segments.length);
  if (!block.stages.includes(resolved.stage))
    throw new UnsupportedError(
      "stage",
      `figure: block ${block.name} has no numbers for stage ${resolved.stage}; it has ${block.stages.join(", ")}`,
      { stage: resolved.stage, block: block.name },
    );
  const marked = options.query !== undefined && options.key !== undefined;
  return { ...resolved, store, block, ref: { block: index, layer, head }, layer, head, query, key, marked };
}

function inRange(name: string, value: number, count: number): void {
  if (!(Number.isInteger(value) && value >= 0 && value < count))
    refuse(name, count === 0 ? "nothing: there is none" : `an integer from 0 to ${count - 1}`, value);
}

function refuse(name: string, expected: string, value: unknown): never {
  throw new OptionError(name, `figure: ${name} must be ${expected}, got ${formatValue(value)}`, {
    [name]: value,
  });
}

function listed(layers: readonly number[]): string {
  const consecutive = layers.every((layer, i) => layer === layers[0] + i);
  return consecutive && layers.length > 2
    ? `${layers[0]} to ${layers[layers.length - 1]}`
    : layers.join(", ");
}

/** The fields of the explorer's state that determine a figure. */
export interface ExplorerState
  extends Omit<FigureOptions, "view" | "block" | "width" | "theme">,
    Pick<State, "view" | "mode" | "block" | "pinned"> {}

/** The figure of each page or drawing of the explorer, by its name; the page comes before the drawing. */
const FIGURES: Readonly<Record<string, FigureView | undefined>> = {
  model: "atlas",
  ...Object.fromEntries(FIGURE_VIEWS.map((name) => [name, name])),
};

/** The figure options of an explorer state; `more` has the options that are not in the state: width, theme, caption. */
export function figureOptions(state: ExplorerState, more: FigureOptions = {}): FigureOptions {
  checkObject("figureOptions", "a state, as the explorer writes into its address", state);
  const { view, mode, block, pinned, query, key, ...rest } = state;
  const picked = Object.entries(rest).filter(
    ([name]) => name in DEFAULTS || name === "layer" || name === "head",
  );
  return {
    ...(Object.fromEntries(picked) as FigureOptions),
    view: FIGURES[view] ?? FIGURES[mode] ?? "matrix",
    block: block === "" ? 0 : block,
    query: pinned?.[0] ?? query,
    key: pinned?.[1] ?? key,
    ...more,
  };
}

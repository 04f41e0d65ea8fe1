/**
 * What a figure shows, said in the explorer's own words (a state of the explorer is such options, `figureOptions`), with
 * defaults, and checked against the store before any work.
 */

import { formatValue, OptionError, UnsupportedError } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import type { Block, Edits, HeadRef, HeadStore, Stage, TileTransfer } from "../../store/types.ts";
import type { State } from "../state.ts";

/** The views that a figure can show. */
export const FIGURE_VIEWS = ["matrix", "lines", "text", "atlas", "row"] as const;
/** One of `FIGURE_VIEWS`. */
export type FigureView = (typeof FIGURE_VIEWS)[number];

/** A figure. Everything is optional. Indices count from 0. */
export interface FigureOptions {
  /** `matrix` by default. */
  readonly view?: FigureView;
  /** A block by its name, or its index; the first by default. */
  readonly block?: string | number;
  /** A layer that the block has (its first by default), and a head. */
  readonly layer?: number;
  readonly head?: number;
  /** The cell that is outlined, that `row` explains and whose query `text` reads from. */
  readonly query?: number;
  readonly key?: number;
  /** `weights` by default. */
  readonly stage?: Stage;
  /** How weights become colors: `sqrt` by default. Scores are always linear around 0. */
  readonly transfer?: TileTransfer;
  /** The value that full color means: 1 (or the largest contribution or score) for all heads, or the head's or each row's largest. */
  readonly domain?: "absolute" | "head" | "row";
  readonly ramp?: "plum" | "cividis" | "grey";
  /** Keys left out, of weights and contributions; `chosen` are those of `hidden`. */
  readonly hide?: "none" | "special" | "first" | "chosen";
  readonly hidden?: readonly number[];
  /** Whether what is left of a row is divided by its sum. */
  readonly renormalize?: boolean;
  /** Segments shown, by index; empty: all tokens. */
  readonly querySegments?: readonly number[];
  readonly keySegments?: readonly number[];
  /** `lines`: each row's `top` keys (3), or as many as hold `mass` of it (0.8). */
  readonly keep?: "top" | "mass";
  readonly top?: number;
  readonly mass?: number;
  /** `text`: tinted by what the tokens of `rows` (the query, where empty) give, or get; several are joined by `aggregate`. */
  readonly direction?: "from" | "to";
  readonly rows?: readonly number[];
  readonly aggregate?: "mean" | "sum" | "max";
  /** `matrix`: numbers in cells that are large enough. */
  readonly values?: boolean;
  /**
   * `matrix`: a long head is one picture. By default its cells are joined, each pixel the largest of them, to at most 150
   * pixels an inch of the printed width; true keeps a pixel a cell up to 4,096 a side.
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
  /** Paper: white, or dark with the dark theme. False leaves it out: transparent. */
  readonly background?: boolean;
  /** False leaves out the lines below the figure that say what it shows. */
  readonly caption?: boolean;
}

/** Options with every default in its place, and what they mean in a store. */
export interface Figure extends Required<Omit<FigureOptions, "block" | "query" | "key">> {
  readonly store: HeadStore;
  readonly ref: HeadRef;
  readonly block: Block;
  readonly query: number;
  readonly key: number;
  /** Whether a cell was requested, and is to be outlined. */
  readonly marked: boolean;
}

const DEFAULTS = {
  view: "matrix",
  stage: "weights",
  transfer: "sqrt",
  domain: "absolute",
  ramp: "plum",
  hide: "none",
  hidden: [],
  renormalize: false,
  querySegments: [],
  keySegments: [],
  keep: "top",
  top: 3,
  mass: 0.8,
  direction: "from",
  rows: [],
  aggregate: "mean",
  values: false,
  everyCell: false,
  terms: "size",
  whatIf: {},
  pool: "max",
  width: 85,
  theme: "light",
  background: true,
  caption: true,
} as const;

/** The words that options of a figure may be. */
export const FIGURE_WORDS = {
  view: FIGURE_VIEWS,
  stage: ["scores", "scaled", "masked", "weights", "contribution"],
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

/** Checks options against a store. Throws OptionError, or UnsupportedError for a stage the file has no numbers for. */
export function resolveFigure(store: HeadStore, options: FigureOptions = {}): Figure {
  checkNames("renderFigure", options, [...Object.keys(DEFAULTS), "block", "layer", "head", "query", "key"]);
  const said = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const given = { ...DEFAULTS, ...said } as unknown as Figure & FigureOptions;
  for (const [name, words] of Object.entries(FIGURE_WORDS)) {
    const value = given[name as keyof FigureOptions];
    if (!words.some((word) => word === value)) refuse(name, `one of ${words.join(", ")}`, value);
  }
  const { width, top, mass } = given;
  if (!(width >= 40 && width <= 400)) refuse("width", "a number of millimeters from 40 to 400", width);
  if (!(Number.isInteger(top) && top >= 1)) refuse("top", "an integer from 1 on", top);
  if (!(mass > 0 && mass <= 1)) refuse("mass", "a share above 0 and at most 1", mass);

  const asked = options.block ?? 0;
  const index =
    typeof asked === "number"
      ? asked
      : Math.max(
          -1,
          store.blocks.findIndex(({ name }) => name === asked),
        );
  const block = store.blocks[index];
  if (block === undefined)
    refuse("block", `one of ${store.blocks.map(({ name }) => name).join(", ")}`, asked);
  const { layers, heads, Nq, Nk, segments } = block;
  const layer = options.layer ?? layers[0];
  if (!layers.includes(layer))
    refuse("layer", `one of block ${block.name}'s layers, ${listed(layers)}`, layer);
  const head = options.head ?? 0;
  inRange("head", head, heads);
  const [query, key] = [options.query ?? 0, options.key ?? 0];
  if (options.query !== undefined) inRange("query", query, Nq);
  if (options.key !== undefined) inRange("key", key, Nk);
  for (const row of given.rows) inRange("rows", row, given.direction === "from" ? Nq : Nk);
  for (const one of given.hidden) inRange("hidden", one, Nk);
  for (const one of given.querySegments) inRange("querySegments", one, segments.length);
  for (const one of given.keySegments) inRange("keySegments", one, segments.length);
  if (!block.stages.includes(given.stage))
    throw new UnsupportedError(
      "stage",
      `figure: block ${block.name} has no numbers for stage ${given.stage}; it has ${block.stages.join(", ")}`,
      { stage: given.stage, block: block.name },
    );
  const marked = options.query !== undefined && options.key !== undefined;
  return { ...given, store, block, ref: { block: index, layer, head }, layer, head, query, key, marked };
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
  const whole = layers.every((layer, i) => layer === layers[0] + i);
  return whole && layers.length > 2 ? `${layers[0]} to ${layers[layers.length - 1]}` : layers.join(", ");
}

/** What a state of the explorer has of a figure: the fields of its own that have the same names, and which view. */
export interface ExplorerState
  extends Omit<FigureOptions, "view" | "block" | "width" | "theme">,
    Pick<State, "view" | "mode" | "block" | "pinned"> {}

/** The figure of what the explorer shows; `more` says what a state does not: width, theme, caption. */
export function figureOptions(state: ExplorerState, more: FigureOptions = {}): FigureOptions {
  const { view, mode, block, pinned: pinnedCell, query, key, ...rest } = state;
  const picked = Object.entries(rest).filter(
    ([name]) => name in DEFAULTS || name === "layer" || name === "head",
  );
  return {
    ...(Object.fromEntries(picked) as FigureOptions),
    view: view === "model" ? "atlas" : view === "row" ? "row" : mode,
    block: block === "" ? 0 : block,
    query: pinnedCell?.[0] ?? query,
    key: pinnedCell?.[1] ?? key,
    ...more,
  };
}

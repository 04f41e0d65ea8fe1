/**
 * What the explorer shows, as one plain value. Types only, without the DOM: figures are drawn from it in any runtime.
 * @module
 */

import type { Stage } from "../store/types.ts";

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

/** A number of the row view changed by hand: component `index` of the query's or a key token's vector, or the scale. */
export type Edit =
  | { readonly what: "query"; readonly index: number; readonly value: number }
  | { readonly what: "key"; readonly token: number; readonly index: number; readonly value: number }
  | { readonly what: "scale"; readonly value: number };

/** A head that the model runs without: its output replaced by zeros, or by its mean over the text; at one token, or at all (null). */
export interface AblatedHead {
  readonly layer: number;
  readonly head: number;
  readonly replace: "zero" | "mean";
  readonly position: number | null;
}

/**
 * What a page of the explorer shows: everything that changes the picture. One cursor (block, layer, head, query, key) is the
 * single selection that all views share; a pinned cell stays while the cursor previews others.
 */
export interface State extends HeadName {
  /** Which of the element's sources is shown, by index. */
  readonly text: number;
  readonly view: "model" | "head" | "row" | "compare" | "flow";
  /** The head that is compared with the cursor's; null: the same head of the next text. */
  readonly other: { readonly text: number; readonly layer: number; readonly head: number } | null;
  /** The flow: how much of each position stays in place at every layer, 0 to 1. */
  readonly alpha: number;
  /** The flow: all layers multiplied, or the largest flow of each pair of tokens. */
  readonly flowBy: "rollout" | "flow";
  /** The flow: how the heads of a layer become one matrix. */
  readonly fuse: "mean" | "max" | "min";
  /** The flow: the smallest weights of a row that hold at most this share are left out, 0 to under 1. */
  readonly discard: number;
  /** The flow: its first layer; null: the block's first. */
  readonly fromLayer: number | null;
  /** How a head is drawn. */
  readonly mode: "matrix" | "lines" | "text";
  /** The cursor's cell. */
  readonly query: number;
  readonly key: number;
  /** The pinned cell. */
  readonly pinned: readonly [query: number, key: number] | null;
  readonly stage: Stage;
  /** How a weight becomes a place on the color scale. */
  readonly transfer: "sqrt" | "linear" | "log";
  /** The value that full color means: 1 itself, or the largest value of the head or of each row. */
  readonly domain: "absolute" | "head" | "row";
  readonly ramp: "plum" | "cividis" | "grey";
  /** Coarse pictures keep the largest value of what they merge, or its mean. */
  readonly pool: "max" | "mean";
  /** Which keys are left out. */
  readonly hide: "none" | "special" | "first" | "chosen";
  /** Keys left out where `hide` is "chosen": sorted, each once. */
  readonly hidden: readonly number[];
  readonly renormalize: boolean;
  /** Pinned heads, at most six, lettered A to F. */
  readonly pins: readonly HeadName[];
  /** Selected queries and keys: sorted, each once; empty: the cursor alone. */
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  /** What several selected queries are read as. */
  readonly aggregate: "mean" | "sum" | "max";
  /** Segments shown, by index: sorted, each once; empty: all. */
  readonly querySegments: readonly number[];
  readonly keySegments: readonly number[];
  /** The metric heads are sorted by, "" for their order in the model. */
  readonly sort: string;
  readonly descending: boolean;
  /** What is sorted: the flat list of heads, whole layers, or whole columns of heads. */
  readonly sortHow: "list" | "layers" | "heads";
  readonly filters: readonly Filter[];
  /** Layer 0 at the bottom. */
  readonly flipped: boolean;
  /** null: the whole picture fits. */
  readonly camera: Camera | null;
  readonly modelCamera: Camera | null;
  /** Values printed in cells that are large enough. */
  readonly values: boolean;
  /** Lines keep the strongest `top` keys a row, or as many as hold `mass` of it. */
  readonly keep: "top" | "mass";
  readonly top: number;
  readonly mass: number;
  readonly arcs: boolean;
  /** Lines of the pinned heads and the cursor's are drawn together, each head in a color of its own. */
  readonly together: boolean;
  /** The text is tinted by what the chosen tokens give (from) or get (to). */
  readonly direction: "from" | "to";
  /** Pieces are joined to words. */
  readonly words: boolean;
  /** The picture's numbers as a table. */
  readonly table: boolean;
  /** Terms of q·k in order of index, or largest first. */
  readonly terms: "index" | "size";
  /** What all heads are asked and ranked by: the cursor's link, what its query gives to one key, what its key gets. */
  readonly ask: "off" | "pair" | "from" | "to";
  readonly askBy: "weight" | "lift";
  /** Numbers of the cursor's row changed by hand: what if. Each number once, keys of one token at most. */
  readonly edits: readonly Edit[];
  /** The row's scale is divided by this: what if. */
  readonly temperature: number;
  /** Heads that the model runs without, where the source has a model: each once. */
  readonly ablated: readonly AblatedHead[];
  /** The token that is predicted then: masked (encoders), or the one after it (decoders); null: as the text says. */
  readonly predict: number | null;
}

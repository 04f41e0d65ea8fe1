/**
 * The state of the explorer as one plain value. Types only, without DOM types: figures are drawn from it in any runtime.
 * @module
 */

import type { Stage } from "../store/block.ts";

/** A head by name. */
export interface HeadName {
  readonly block: string;
  readonly layer: number;
  readonly head: number;
}

/** The visible part of a picture: pixels per cell, and the cell at the upper left corner of the viewport (may be fractional). */
export interface Camera {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

/** A filter: heads whose metric is in the closed interval from `low` to `high`. */
export interface Filter {
  readonly metric: string;
  readonly low: number;
  readonly high: number;
}

/** A number that the user changed in the row view: component `index` of the query or of a key, or the scale. */
export type Edit =
  | { readonly what: "query"; readonly index: number; readonly value: number }
  | { readonly what: "key"; readonly token: number; readonly index: number; readonly value: number }
  | { readonly what: "scale"; readonly value: number };

/** A head that the explorer's switch ablates: its output is replaced by zeros, or by its mean over the text, at one token or at every token (null). */
export interface SwitchedHead {
  readonly layer: number;
  readonly head: number;
  readonly replace: "zero" | "mean";
  readonly position: number | null;
}

/**
 * The state of the explorer: everything that changes the picture. All views share one cursor (block, layer, head, query, key);
 * a pinned cell is kept while the cursor previews others.
 */
export interface State extends HeadName {
  /** Index of the source that is shown. */
  readonly text: number;
  /** The name of the page: `head` draws one head as `mode` says, others show all heads, one number, or two heads. */
  readonly view: string;
  /** The head to compare with the cursor's; null: the same head of the next text. */
  readonly other: {
    readonly text: number;
    readonly block?: string;
    readonly layer: number;
    readonly head: number;
  } | null;
  /** Flow: share of the residual connection, 0 to 1. */
  readonly alpha: number;
  /** Flow: attention rollout, or attention flow (the maximum flow of each pair of tokens). */
  readonly flowBy: "rollout" | "flow";
  /** Flow: how the heads of a layer are combined into one matrix. */
  readonly fuse: "mean" | "max" | "min";
  /** Flow: share of each row whose smallest weights are discarded, at least 0 and below 1. */
  readonly discard: number;
  /** Flow: the first layer; null: the block's first layer. */
  readonly fromLayer: number | null;
  /** How a head is drawn: the name of a drawing. */
  readonly mode: string;
  /** The cursor's cell. */
  readonly query: number;
  readonly key: number;
  /** The pinned cell. */
  readonly pinned: readonly [query: number, key: number] | null;
  readonly stage: Stage;
  /** How a weight maps to the color scale. */
  readonly transfer: "sqrt" | "linear" | "log";
  /** The value of full color: 1, or the largest value of the head or of each row. */
  readonly domain: "absolute" | "head" | "row";
  readonly ramp: "plum" | "cividis" | "grey";
  /** Pooled pictures show the largest value of each range, or its mean. */
  readonly pool: "max" | "mean";
  /** The keys to hide. */
  readonly hide: "none" | "special" | "first" | "chosen";
  /** The hidden keys if `hide` is "chosen": sorted, each once. */
  readonly hidden: readonly number[];
  readonly renormalize: boolean;
  /** Pinned heads, at most six, labeled A to F. */
  readonly pins: readonly HeadName[];
  /** Selected queries and keys: sorted, each once; empty: only the cursor's. */
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  /** How the rows of several selected queries are combined. */
  readonly aggregate: "mean" | "sum" | "max";
  /** Segments shown, by index: sorted, each once; empty: all. */
  readonly querySegments: readonly number[];
  readonly keySegments: readonly number[];
  /** The metric by which heads are sorted; "": their order in the model. */
  readonly sort: string;
  readonly descending: boolean;
  /** The items that are sorted: all heads as one list, layers, or columns of heads. */
  readonly sortHow: "list" | "layers" | "heads";
  readonly filters: readonly Filter[];
  /** True: layer 0 is at the bottom. */
  readonly flipped: boolean;
  /** null: the entire picture is visible. */
  readonly camera: Camera | null;
  readonly modelCamera: Camera | null;
  /** True: large cells show their values. */
  readonly values: boolean;
  /** Lines: the strongest `top` keys of each row, or the fewest that have the share `mass` of it. */
  readonly keep: "top" | "mass";
  readonly top: number;
  readonly mass: number;
  readonly arcs: boolean;
  /** True: the lines of the pinned heads and of the cursor's head are drawn together, each head in another color. */
  readonly together: boolean;
  /** Text: tinted by the attention from the chosen tokens, or to them. */
  readonly direction: "from" | "to";
  /** True: the pieces of a word are joined. */
  readonly words: boolean;
  /** True: the picture's numbers as a table. */
  readonly table: boolean;
  /** Terms of q·k by index, or largest first. */
  readonly terms: "index" | "size";
  /** The question by which all heads are ranked: the cursor's link, the attention from its query, or the attention to its key. */
  readonly ask: "off" | "pair" | "from" | "to";
  /** Their order: by contrast, by weight, or by what they add to the prediction. */
  readonly askBy: "contrast" | "weight" | "logit";
  /** Causes: how each part of the model is changed in turn, and on what that is measured. */
  readonly cause: "off" | "zero" | "mean" | "patch" | "link" | "renormalized";
  readonly measure: "prediction" | "text" | "state" | "weight";
  /** True: the score of the cursor's link as a sum over components of the model. */
  readonly why: boolean;
  /** What if: changed numbers of the cursor's row. Each number at most once, keys of at most one token. */
  readonly edits: readonly Edit[];
  /** What if: the row's scale is divided by this. */
  readonly temperature: number;
  /** Ablated heads, if the source has a model: each once. */
  readonly ablated: readonly SwitchedHead[];
  /** The position of the prediction with ablated heads: the masked token (encoders), or the token before it (decoders); null: the text's mask, or its last token. */
  readonly predict: number | null;
}

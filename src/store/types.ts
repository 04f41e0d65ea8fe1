/**
 * Types of the store, which connects a file of queries and keys (or weights) to the code that draws them. A store
 * never holds a matrix of weights: it keeps q, k and one log-sum-exp per row, and computes rows, tiles and overviews on
 * demand.
 */
import type { ScoreRecipe } from "./recipe/recipe.ts";

/** A named range of positions, such as sentence A or the system prompt: `[from, to)`; undefined if it has no queries or no keys. */
export interface Segment {
  readonly name: string;
  readonly query?: readonly [from: number, to: number];
  readonly key?: readonly [from: number, to: number];
}

/** Heads that share their tokens, sizes and recipe: an encoder, a decoder, cross attention. */
export interface Block {
  readonly name: string;
  readonly kind: "self" | "cross";
  /** Layer numbers, ascending; some may be missing. */
  readonly layers: readonly number[];
  /** Query heads, and key heads that divide them: query head h reads key head ⌊h / (heads / keyHeads)⌋. */
  readonly heads: number;
  readonly keyHeads: number;
  readonly Nq: number;
  readonly Nk: number;
  /** Size of a query and key vector in the first layer (layers may differ); 0 if the file has weights only. */
  readonly d: number;
  /** Size of a value vector in the first layer; undefined without values. */
  readonly dv?: number;
  /** Names of the heads, if the file has them. */
  readonly headNames?: readonly string[];
  readonly queryTokens: readonly string[];
  readonly keyTokens: readonly string[];
  /** Languages of the tokens as BCP 47 tags such as `ar`, if the file has them. */
  readonly queryLang?: string;
  readonly keyLang?: string;
  /** Query i has the key position i + queryOffset. */
  readonly queryOffset: number;
  readonly segments: readonly Segment[];
  /** Which tokens are markers such as [CLS], <s>, padding: [Nq] and [Nk]. */
  readonly special: { readonly query: readonly boolean[]; readonly key: readonly boolean[] };
  readonly recipe: ScoreRecipe;
  /** The tensors that every layer of the block has. */
  readonly has: {
    readonly qk: boolean;
    readonly weights: boolean;
    readonly values: boolean;
    readonly vnorm: boolean;
    readonly wo: boolean;
    readonly lse: boolean;
  };
  /** Stages that can be computed, in order. */
  readonly stages: readonly Stage[];
}

/** One head: `layer` is one of `block.layers`. All indices start at 0. */
export interface HeadRef {
  readonly block: number;
  readonly layer: number;
  readonly head: number;
}

/**
 * The stages of the computation of a cell:
 *
 *     scores        q·k
 *     scaled        q·k × scale
 *     masked        after soft cap and bias; −∞ if the key is masked
 *     weights       softmax of the row (or the file's weight)
 *     contribution  weight × ‖v‖, or × ‖v·W_O‖ if the file has W_O
 */
export type Stage = "scores" | "scaled" | "masked" | "weights" | "contribution";

/** How a value maps to one of 256 colors; see `transfer.ts`. Scores are signed and always linear. */
export type TileTransfer = "sqrt" | "linear" | "log";

/**
 * A pattern of attention. `key`: one key for all rows; `near`: keys at most `HeadMeasures.near` positions away; `aligned`
 * and `reversed`: in cross-attention, the keys at the query's relative position, counted from the start or from the end.
 */
export type Habit =
  | "diagonal"
  | "previous"
  | "next"
  | "sameToken"
  | "induction"
  | "special"
  | "key"
  | "near"
  | "aligned"
  | "reversed";

/** A share of a head's attention that is at least twice the share under even attention. */
export interface Claim {
  readonly habit: Habit;
  /** Mean over all rows that are not fully masked, 0 to 1. A second claim excludes the cells of the first. */
  readonly share: number;
  /** The share of the same cells if each row attended equally to every unmasked key. */
  readonly even: number;
  /** The key, for the habit `key`. */
  readonly key?: number;
}

/** Measures that have a value under even attention. */
export type EvenMeasure =
  | "diagonal"
  | "previous"
  | "next"
  | "within"
  | "first"
  | "special"
  | "sameToken"
  | "induction";

/**
 * Measures of one head: means over the rows that are not fully masked; see `measures.ts`. Shares are between 0 and 1. A mean
 * over no rows is NaN, or undefined if the measure does not apply to the head.
 */
export interface HeadMeasures {
  /** Number of rows that are not fully masked. */
  readonly rows: number;
  /** Mean entropy of a row in nats. */
  readonly entropy: number;
  /** e^entropy: a row's attention is as spread out as if it were equal over this many keys. */
  readonly effectiveKeys: number;
  /** Mean |query position − key position| in tokens. Undefined in cross-attention, as are the next four. */
  readonly distance?: number;
  readonly diagonal?: number;
  readonly previous?: number;
  readonly next?: number;
  /** Share of keys at most `near` positions away, the query's own position included. */
  readonly within?: number;
  readonly near: number;
  readonly first: number;
  readonly special: number;
  /** Share of other copies of the query's token, over rows that have one; undefined if no row has one. */
  readonly sameToken?: number;
  /** Share of the tokens after earlier copies of the query's token, over rows that have one; undefined if no row has one. */
  readonly induction?: number;
  /** Number of rows in each of the two means above. */
  readonly sameTokenRows: number;
  readonly inductionRows: number;
  /** Largest weight of the head. */
  readonly maxWeight: number;
  /** Largest sum of a row's weights on masked keys: must be 0. */
  readonly leak: number;
  /** Worst |row sum (with its sink) − 1|. */
  readonly rowSum: number;
  /** Largest row sum (with its sink): above 1, the numbers are not shares of attention. */
  readonly largestSum: number;
  /** Number of unmasked weights or scores that are NaN or infinite. */
  readonly notNumbers: number;
  /** Number of given weights below 0. Rows with one are left out of all means. */
  readonly negative: number;
  /** Mean number of unmasked keys per row. */
  readonly visibleKeys: number;
  /** The shares above under even attention, if they are defined. */
  readonly even: Readonly<Partial<Record<EvenMeasure, number>>>;
  /** At most two disjoint shares of the head's attention, the larger first; see `Claim`. */
  readonly claims: readonly Claim[];
  /** Worst |lse − the model's own lse|, if the file has it. */
  readonly lseDelta?: number;
}

/** A thumbnail of a head: cells pooled over ranges of queries and keys. Codes are 255·√w. */
export interface Overview {
  /** Pooled rows and columns: at most the requested size, and no more than there are tokens. */
  readonly rows: number;
  readonly columns: number;
  /** Largest and mean weight of each range, row-major. */
  readonly max: Uint8Array;
  readonly mean: Uint8Array;
  /** As in a tile: 1 if the range is fully masked, 2 if it contains NaN, an infinity or a given weight below 0, else 0. */
  readonly marks: Uint8Array;
  /** Share of the rows that have been computed, 0 to 1. */
  readonly done: number;
}

/** A tile of a head, at a resolution: each of its cells pools 2^level × 2^level cells of the head. */
export interface TileAddress {
  readonly stage: Stage;
  readonly transfer: TileTransfer;
  readonly level: number;
  /** Tile (i, j) starts at query i·128·2^level and key j·128·2^level. */
  readonly i: number;
  readonly j: number;
  /** Value drawn at full color; default: 1 for weights, the largest ‖v‖ for contributions, `range` for scores. */
  readonly domain?: number;
}

/** A tile of 128 × 128 codes. Pooled by maximum; scores by the value farthest from 0. */
export interface Tile {
  /** Rows and columns inside the head, at most 128; the codes outside are 0. */
  readonly rows: number;
  readonly columns: number;
  /** 128·128 positions on the color scale; for signed scores, 128 is 0. */
  readonly codes: Uint8Array;
  /** 128·128: 0 a value, 1 masked, 2 not a number or a given weight below 0 (drawn with a separate mark). */
  readonly marks: Uint8Array;
  /** Value at code 255. */
  readonly domain: number;
  readonly signed: boolean;
}

/** Rows and columns of a tile. */
export const TILE = 128;

/** The attention from some queries to some keys in one head; see `HeadStore.link`. */
export interface Link {
  /** Share of a query's attention on the chosen keys: the mean over the queries that are not fully masked, 0 to 1. */
  readonly weight: number;
  /** The same share if each query attended equally to all unmasked keys. */
  readonly even: number;
  /** Number of queries in the means. */
  readonly rows: number;
  /** The chosen key with the largest mean weight; undefined if all their weights are 0. */
  readonly strongest: { readonly key: number; readonly weight: number; readonly even: number } | undefined;
}

/** Options of a request: it can be canceled, and it reports its progress. */
export interface Asking {
  readonly signal?: AbortSignal;
  /** Called with the share done, 0 to 1; a pass also gives the overview of the rows so far. */
  readonly onProgress?: (done: number, overview?: Overview) => void;
}

/** Changes to a row: its query, one key, the scale. */
export interface Edits {
  readonly query?: ArrayLike<number>;
  readonly key?: { readonly index: number; readonly values: ArrayLike<number> };
  readonly scale?: number;
}

/** A problem or note about a file, as a sentence with the tensor's name, the expected and the actual value, and the remedy. */
export interface LoadProblem {
  /** `error`: the part is left out; `warning`: it is shown; `note`: information. */
  readonly severity: "error" | "warning" | "note";
  readonly code: string;
  readonly text: string;
}

/** The result of the checks when a file is opened. */
export interface LoadReport {
  readonly name: string;
  /** The name of the model, if the file has it. */
  readonly model?: string;
  readonly format: "bundle" | "npz" | "npy" | "json" | "memory";
  /** Size of the file, or of the arrays. */
  readonly bytes: number;
  /** The contents of the file, in sentences in reading order; without problems. */
  readonly sentences: readonly string[];
  readonly problems: readonly LoadProblem[];
  /**
   * Number of rows compared with the model's own log-sum-exp, and the worst difference. `differs` is true if it is above the
   * tolerance of 0.01; `passed` is false then, and if a log-sum-exp is NaN both in the file and computed.
   */
  readonly verified?: {
    readonly maxDelta: number;
    readonly rows: number;
    readonly passed: boolean;
    readonly differs: boolean;
    /** Rows whose log-sum-exp is NaN both in the file and computed. */
    readonly notNumbers: number;
  };
  /** Number of rows of given weights that were summed, the worst |sum − 1|, that row's sum, and the numbers of NaN or infinite and of negative weights. */
  readonly rowSum?: {
    readonly worst: number;
    readonly rows: number;
    readonly sum: number;
    readonly notNumbers: number;
    readonly negative: number;
  };
}

/**
 * A store of heads. `row`, `cell`, `visible`, `output`, `vector` and `ledger` are synchronous and exact, in float64, and need a
 * loaded head (`load`; heads of arrays in memory always are). The other methods compute in workers, or in time slices on this
 * thread, heads on screen first.
 */
export interface HeadStore {
  readonly blocks: readonly Block[];
  readonly report: LoadReport;
  /** True if the head is in memory. */
  ready(ref: HeadRef): boolean;
  /** Loads a head into memory. */
  load(ref: HeadRef): Promise<void>;

  /** One row, [Nk]. NaN and infinities stay; masked cells are −∞ at stage `masked`, 0 at `weights` and `contribution`. */
  row(ref: HeadRef, i: number, stage: Stage, edits?: Edits): Float64Array;
  /** One number of a loaded head: query i, key j, at a stage. */
  cell(ref: HeadRef, i: number, j: number, stage: Stage): number;
  /** `[Nk]`: 1 if query i may attend to the key, else 0. */
  visible(ref: HeadRef, i: number): Uint8Array;
  /** Σ weight·v of a row, [dv]. */
  output(ref: HeadRef, i: number, edits?: Edits): Float64Array;
  /** The query of a row, or the key or value of a key, without edits. */
  vector(ref: HeadRef, what: "query" | "key" | "value", index: number): Float64Array;
  /** The computation of one weight, line by line. */
  ledger(ref: HeadRef, i: number, j: number, edits?: Edits): Ledger;

  /** `[Nq]`: log Σ exp over the inputs of softmax; −∞ for a fully masked row. For given weights: the file's, or NaN. */
  lse(ref: HeadRef, asking?: Asking): Promise<Float64Array>;
  /** The measures of a head: entropy, shares of attention, effective keys. */
  measures(ref: HeadRef, asking?: Asking): Promise<HeadMeasures>;
  /** Pooled to at most `size` × `size`; 1 to 1024. */
  overview(ref: HeadRef, size: number, asking?: Asking): Promise<Overview>;
  /** One column, [Nq]. */
  column(ref: HeadRef, j: number, stage: Stage, asking?: Asking): Promise<Float64Array>;
  /** A tile of a head's matrix, as codes of a color scale. */
  tile(ref: HeadRef, address: TileAddress, asking?: Asking): Promise<Tile>;
  /** Smallest and largest finite value of a stage over visible cells. */
  range(ref: HeadRef, stage: Stage, asking?: Asking): Promise<readonly [low: number, high: number]>;
  /** The attention from some queries to some keys in this head. Computes one row of weights per query, in float64. */
  link(ref: HeadRef, queries: readonly number[], keys: readonly number[], asking?: Asking): Promise<Link>;
  /** All weights of the head, [Nq, Nk], in float64. Error: `OptionError` above 2²² weights. */
  weights(ref: HeadRef, asking?: Asking): Promise<Float64Array>;
  /** Sets the heads on screen, the most important first: their requests are computed before the others. */
  prioritize(refs: readonly HeadRef[]): void;
  /** Number of bytes of the tensors of a bundle. */
  bundleSize(options?: BundleOptions): Promise<number>;
  /** The store, or a part of it, as the bytes of a bundle. */
  bundle(options?: BundleOptions): Promise<Uint8Array>;
  /** Rejects the requests in flight, ends workers and closes files. */
  dispose(): void;
}

/** The part of a store that goes into a bundle. Default: all of it. */
export interface BundleOptions {
  /** Names of blocks. */
  readonly blocks?: readonly string[];
  readonly layers?: readonly number[];
  /** Heads of every layer; the head names keep their original numbers. */
  readonly heads?: readonly number[];
  /** Number of tokens, from the first. Rows of given weights then no longer sum to 1; computed rows have fewer keys. */
  readonly tokens?: number;
  /** dtype of queries, keys, values and weights. Default: unchanged. */
  readonly dtype?: "float32" | "float16" | "bfloat16" | "float64";
  /** dtype of given weights. `uint8` is n/255, with an error of at most 0.002. */
  readonly weightDtype?: "uint8" | "float32" | "float16" | "bfloat16" | "float64";
  /** False leaves out values and output weights. Default true. */
  readonly values?: boolean;
}

/** A number on screen: its value, its text, and the function that computed it; see `number.ts`. */
export interface Num {
  readonly value: number;
  readonly text: string;
  readonly source: string;
}

/** One step of a ledger. */
export interface LedgerLine {
  /** A stable identifier: `dot`, `scale`, `softcap`, `mask`, `max`, `exp`, `sum`, `weight`, `rescale`, `value` … */
  readonly step: string;
  /** A label to show: "÷ √d_k". */
  readonly name: string;
  /** An explanation of the step, in one sentence. */
  readonly about: string;
  /** The step as a line of NumPy, with the letters of the formula: `score = (q * k).sum()`. */
  readonly code: string;
  /** The formula with its actual numbers: texts and numbers in reading order. */
  readonly formula: readonly (string | Num)[];
  readonly value: Num;
}

/** The computation of one weight. */
export interface Ledger {
  readonly ref: HeadRef;
  readonly i: number;
  readonly j: number;
  /** From the dot product to the weight, and × v if there are values. For given weights: the weight alone. */
  readonly lines: readonly LedgerLine[];
  /** The weight: the value of the last line before × v. */
  readonly weight: Num;
  /** The scale that q·k is multiplied by; undefined for given weights. */
  readonly scale?: number;
  /** The two vectors and their products, [d]; empty for given weights. */
  readonly q: Float64Array;
  readonly k: Float64Array;
  readonly products: Float64Array;
  /** v and weight·v, [dv]; empty without values. */
  readonly v: Float64Array;
  readonly contribution: Float64Array;
  readonly visible: boolean;
  /** True if the row is fully masked: the weight is 0 by definition. */
  readonly emptyRow: boolean;
  /** True if there were edits. */
  readonly changed: boolean;
}

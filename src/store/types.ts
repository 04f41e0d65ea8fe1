/**
 * Types of the store, which connects a file of queries and keys (or weights) to the code that draws them. A store
 * never holds a matrix of weights: it keeps q, k and one log-sum-exp a row, and computes rows, tiles and overviews when
 * they are asked for. What these words mean is decided in the files beside this one.
 */
import type { ScoreRecipe } from "./recipe/recipe.ts";

/** A range of positions of one kind: sentence A, the system prompt. `[from, to)`; undefined where it has none on that side. */
export interface Segment {
  readonly name: string;
  readonly query?: readonly [from: number, to: number];
  readonly key?: readonly [from: number, to: number];
}

/** Heads that share their tokens, sizes and recipe: an encoder, a decoder, cross attention. */
export interface Block {
  readonly name: string;
  readonly kind: "self" | "cross";
  /** Numbers of the layers that are there, ascending; they may be sparse. */
  readonly layers: readonly number[];
  /** Query heads, and key heads that divide them: query head h reads key head ⌊h / (heads / keyHeads)⌋. */
  readonly heads: number;
  readonly keyHeads: number;
  readonly Nq: number;
  readonly Nk: number;
  /** Size of a query and key vector in the first layer (layers may differ); 0 where only weights are there. */
  readonly d: number;
  /** Size of a value vector in the first layer, where there are any. */
  readonly dv?: number;
  /** Names of the heads, where the file gives them. */
  readonly headNames?: readonly string[];
  readonly queryTokens: readonly string[];
  readonly keyTokens: readonly string[];
  /** Languages of the tokens, where the file names them: BCP 47 tags such as `ar`. */
  readonly queryLang?: string;
  readonly keyLang?: string;
  /** Query i is at position i + queryOffset of the keys. */
  readonly queryOffset: number;
  readonly segments: readonly Segment[];
  /** Which tokens are markers such as [CLS], <s>, padding: [Nq] and [Nk]. */
  readonly special: { readonly query: readonly boolean[]; readonly key: readonly boolean[] };
  readonly recipe: ScoreRecipe;
  /** What every layer of the block has. */
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

/** One head: `layer` is a number out of `block.layers`. All counted from 0. */
export interface HeadRef {
  readonly block: number;
  readonly layer: number;
  readonly head: number;
}

/**
 * What is asked of a cell:
 *
 *     scores        q·k
 *     scaled        q·k × scale
 *     masked        after soft cap and bias; −∞ where the mask hides the key
 *     weights       softmax of the row (or the weight that was given)
 *     contribution  weight × ‖v‖, or × ‖v·W_O‖ where W_O is there
 */
export type Stage = "scores" | "scaled" | "masked" | "weights" | "contribution";

/** How a value becomes one of 256 colors; see `transfer.ts`. Scores are signed, around 0, and always linear. */
export type TileTransfer = "sqrt" | "linear" | "log";

/**
 * What a head does with a part of its attention. `key`: one key for all rows; `near`: keys at most `HeadMeasures.near`
 * positions away; `aligned` and `reversed`: across two texts, the keys at the row's own relative place, counted from the
 * start or from the end.
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

/** A share of a head's attention that is at least twice what even attention would give. */
export interface Claim {
  readonly habit: Habit;
  /** Mean over all rows that see something, 0 to 1. A second claim leaves out the cells of the first. */
  readonly share: number;
  /** The share of the same cells if each row attended equally to every unmasked key. */
  readonly even: number;
  /** Which key, for the habit `key`. */
  readonly key?: number;
}

/** Measures with a share that even attention would give. */
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
 * Numbers of one head, means over the rows that see something; see `measures.ts`. Shares are between 0 and 1. A mean over
 * no rows is NaN, or undefined where the head cannot have it.
 */
export interface HeadMeasures {
  /** Rows that see something, of all. */
  readonly rows: number;
  /** Mean entropy of a row in nats, and e to that: the number of keys a row attends to, as it were. */
  readonly entropy: number;
  readonly effectiveKeys: number;
  /** Mean |query position − key position| in tokens. Undefined across two texts, as are the next five. */
  readonly distance?: number;
  readonly diagonal?: number;
  readonly previous?: number;
  readonly next?: number;
  /** Mass on keys at most `near` positions away, own included. */
  readonly within?: number;
  readonly near: number;
  readonly first: number;
  readonly special: number;
  /** Mass on other copies of the own token, over rows that have one; undefined where no row has one. */
  readonly sameToken?: number;
  /** Mass on the token after an earlier copy of the own token, over rows that have one; undefined where none has. */
  readonly induction?: number;
  /** Rows the last two are means over. */
  readonly sameTokenRows: number;
  readonly inductionRows: number;
  /** Largest weight of the head. */
  readonly maxWeight: number;
  /** Largest mass a row gives to keys its mask hides: must be 0. */
  readonly leak: number;
  /** Worst |row sum (with its sink) − 1|. */
  readonly rowSum: number;
  /** Largest row sum (with its sink): above 1 the numbers are no shares. */
  readonly largestSum: number;
  /** Weights or scores that are NaN or infinite, masked ones not counted. */
  readonly notNumbers: number;
  /** Given weights below 0. Rows with one are left out of all means. */
  readonly negative: number;
  /** Mean number of unmasked keys per row. */
  readonly visibleKeys: number;
  /** What the shares above would be with even attention, where the share is defined. */
  readonly even: Readonly<Partial<Record<EvenMeasure, number>>>;
  /** At most two disjoint shares of the head's attention, the larger first; see `Claim`. */
  readonly claims: readonly Claim[];
  /** Worst |lse − the model's own|, where the file has it. */
  readonly lseDelta?: number;
}

/** A head at a glance: cells pooled over ranges of queries and keys. Codes are 255·√w. */
export interface Overview {
  /** Pooled rows and columns: at most the requested size, and no more than there are tokens. */
  readonly rows: number;
  readonly columns: number;
  /** Largest and mean weight of each range, row-major. */
  readonly max: Uint8Array;
  readonly mean: Uint8Array;
  /** As in a tile: 1 where everything is masked, 2 where something is not a number, or a given weight is below 0. */
  readonly marks: Uint8Array;
  /** Share of the rows that have been computed: 1 when it is whole. */
  readonly done: number;
}

/** Which square of a head, at which resolution: cell (r, c) of it pools 2^level × 2^level cells. */
export interface TileAddress {
  readonly stage: Stage;
  readonly transfer: TileTransfer;
  readonly level: number;
  /** Tile (i, j) covers queries i·128·2^level and keys j·128·2^level on. */
  readonly i: number;
  readonly j: number;
  /** Value drawn at full color; default: 1 for weights, the largest ‖v‖ for contributions, `range` for scores. */
  readonly domain?: number;
}

/** A square of 128 × 128 codes. Pooled by maximum; scores by the value farthest from 0. */
export interface Tile {
  /** Rows and columns that lie inside the head: at most 128; the rest of the codes is 0. */
  readonly rows: number;
  readonly columns: number;
  /** 128·128 places on the color scale; of signed scores 128 is 0. */
  readonly codes: Uint8Array;
  /** 128·128: 0 a value, 1 masked, 2 not a number or a given weight below 0 (drawn as a mark of its own). */
  readonly marks: Uint8Array;
  /** Value at code 255. */
  readonly domain: number;
  readonly signed: boolean;
}

/** Side of a tile. */
export const TILE = 128;

/** What some queries give to some keys in one head; see `HeadStore.link`. */
export interface Link {
  /** Share of a query's attention that goes to the chosen keys: the mean over the queries that see any key, 0 to 1. */
  readonly weight: number;
  /** What the chosen keys would get if each query attended evenly to all unmasked keys. */
  readonly even: number;
  /** Queries the means are over. */
  readonly rows: number;
  /** The chosen key with the largest mean weight; undefined where no chosen key has any. */
  readonly strongest: { readonly key: number; readonly weight: number; readonly even: number } | undefined;
}

/** Options of a request: it can be canceled, and it reports its progress. */
export interface Asking {
  readonly signal?: AbortSignal;
  /** Share done, 0 to 1; a pass hands over the overview so far. */
  readonly onProgress?: (done: number, overview?: Overview) => void;
}

/** Changes for "what if": of the row's query, of one key, of the scale. */
export interface Edits {
  readonly query?: ArrayLike<number>;
  readonly key?: { readonly index: number; readonly values: ArrayLike<number> };
  readonly scale?: number;
}

/** What is wrong or noteworthy in a file, as a sentence that names the tensor, what was expected, what was found and what to do. */
export interface LoadProblem {
  /** `error`: left out; `warning`: shown all the same; `note`: good to know. */
  readonly severity: "error" | "warning" | "note";
  readonly code: string;
  readonly text: string;
}

/** What was found on opening. */
export interface LoadReport {
  readonly name: string;
  readonly format: "bundle" | "npz" | "npy" | "json" | "memory";
  /** Size of the file, or of the arrays. */
  readonly bytes: number;
  /** What was found, in sentences in reading order. Problems are not among them. */
  readonly sentences: readonly string[];
  readonly problems: readonly LoadProblem[];
  /**
   * Rows compared with the model's own log-sum-exp, and the worst difference. `passed` is false where it is above the
   * tolerance of 0.01, or where the numbers of a row are not numbers: then nothing is verified.
   */
  readonly verified?: {
    readonly maxDelta: number;
    readonly rows: number;
    readonly passed: boolean;
    /** Rows whose log-sum-exp is NaN both in the file and computed. */
    readonly notNumbers: number;
  };
  /** Rows of given weights that were summed, the worst |sum − 1| and that row's sum; weights that are NaN, infinite or negative. */
  readonly rowSum?: {
    readonly worst: number;
    readonly rows: number;
    readonly sum: number;
    readonly notNumbers: number;
    readonly negative: number;
  };
}

/**
 * A store of heads. `row`, `cell`, `visible`, `output` and `ledger` answer at once, exactly, in float64, for a head that
 * has been loaded (`load`; heads in memory always are). The rest is computed in workers, or in slices of time on this
 * thread, visible heads first.
 */
export interface HeadStore {
  readonly blocks: readonly Block[];
  readonly report: LoadReport;
  /** True where the numbers of the head are in memory. */
  ready(ref: HeadRef): boolean;
  /** Loads them into memory. */
  load(ref: HeadRef): Promise<void>;

  /** One row, [Nk]. NaN and infinities stay; masked cells are −∞ at stage `masked`, 0 at `weights` and `contribution`. */
  row(ref: HeadRef, i: number, stage: Stage, edits?: Edits): Float64Array;
  /** One number of a loaded head: query i, key j, at a stage. */
  cell(ref: HeadRef, i: number, j: number, stage: Stage): number;
  /** `[Nk]`: 1 where query i may see the key. */
  visible(ref: HeadRef, i: number): Uint8Array;
  /** Σ weight·v of a row, [dv]. */
  output(ref: HeadRef, i: number, edits?: Edits): Float64Array;
  /** q of a row, k and v of a key, as they were given. */
  vector(ref: HeadRef, what: "query" | "key" | "value", index: number): Float64Array;
  /** Where the weight of a cell comes from, line by line. */
  ledger(ref: HeadRef, i: number, j: number, edits?: Edits): Ledger;

  /** `[Nq]`: log Σ exp over the inputs of softmax; −∞ where a row is fully masked. Of given weights: the file's, or NaN. */
  lse(ref: HeadRef, asking?: Asking): Promise<Float64Array>;
  /** The measures of a head: entropy, shares of attention, effective keys. */
  measures(ref: HeadRef, asking?: Asking): Promise<HeadMeasures>;
  /** Pooled to at most `size` × `size`; 1 to 1024. */
  overview(ref: HeadRef, size: number, asking?: Asking): Promise<Overview>;
  /** One column, [Nq]. */
  column(ref: HeadRef, j: number, stage: Stage, asking?: Asking): Promise<Float64Array>;
  /** A square of the matrix of a head, as steps of a color scale. */
  tile(ref: HeadRef, address: TileAddress, asking?: Asking): Promise<Tile>;
  /** Smallest and largest finite value of a stage over visible cells. */
  range(ref: HeadRef, stage: Stage, asking?: Asking): Promise<readonly [low: number, high: number]>;
  /** What some queries give to some keys in this head: one row of weights a query, in float64. */
  link(ref: HeadRef, queries: readonly number[], keys: readonly number[], asking?: Asking): Promise<Link>;
  /** Every weight of the head, [Nq, Nk] in row-major order, in float64. Error: `OptionError` above 2²² weights. */
  weights(ref: HeadRef, asking?: Asking): Promise<Float64Array>;
  /** Heads on screen, nearest first: what they wait for is computed before the rest. */
  prioritize(refs: readonly HeadRef[]): void;
  /** Bytes the tensors of a bundle would take, and the bundle. */
  bundleSize(options?: BundleOptions): Promise<number>;
  /** The store, or a part of it, as the bytes of a bundle. */
  bundle(options?: BundleOptions): Promise<Uint8Array>;
  /** Gives up what is under way, ends workers, closes files. */
  dispose(): void;
}

/** What of a store goes into a bundle; all of it by default. */
export interface BundleOptions {
  /** Names of blocks. */
  readonly blocks?: readonly string[];
  readonly layers?: readonly number[];
  /** Heads of every layer; their numbers stay as names. */
  readonly heads?: readonly number[];
  /** The first so many tokens. Of given weights the rows then no longer sum to 1; computed ones are over fewer keys. */
  readonly tokens?: number;
  /** Of queries, keys, values and weights; as they are by default. */
  readonly dtype?: "float32" | "float16" | "bfloat16" | "float64";
  /** Of given weights alone: `uint8` is n/255, off by at most 0.002. */
  readonly weightDtype?: "uint8" | "float32" | "float16" | "bfloat16" | "float64";
  /** False leaves values and output weights out. Default true. */
  readonly values?: boolean;
}

/** A number on screen: its value, how it is written, and which function gave it; see `number.ts`. */
export interface Num {
  readonly value: number;
  readonly text: string;
  readonly source: string;
}

/** One step of a ledger. */
export interface LedgerLine {
  /** Short and stable, for programs: `dot`, `scale`, `softcap`, `mask`, `max`, `exp`, `sum`, `weight`, `rescale`, `value` … */
  readonly step: string;
  /** For people: "÷ √d_k". */
  readonly name: string;
  /** What the step does and why, in one plain sentence. */
  readonly about: string;
  /** The step as a line of NumPy, with the letters of the formula: `score = (q * k).sum()`. */
  readonly code: string;
  /** The formula with its actual numbers: texts and numbers in reading order. */
  readonly formula: readonly (string | Num)[];
  readonly value: Num;
}

/** Where one weight comes from. */
export interface Ledger {
  readonly ref: HeadRef;
  readonly i: number;
  readonly j: number;
  /** From the dot product to the weight, and × v where there are values. Of given weights: the weight alone. */
  readonly lines: readonly LedgerLine[];
  /** What the last step before the values gives: the weight. */
  readonly weight: Num;
  /** The scale that q·k is multiplied by; undefined for given weights. */
  readonly scale?: number;
  /** The two vectors and their products, [d]; empty where only weights are there. */
  readonly q: Float64Array;
  readonly k: Float64Array;
  readonly products: Float64Array;
  /** v and weight·v, [dv]; empty where there are no values. */
  readonly v: Float64Array;
  readonly contribution: Float64Array;
  readonly visible: boolean;
  /** True where the row is fully masked: the weight is 0 by definition. */
  readonly emptyRow: boolean;
  /** True where edits changed something. */
  readonly changed: boolean;
}

/**
 * The store, which connects a file of queries and keys (or weights) to the code that draws them. A store never holds a matrix of
 * weights: it keeps q, k and one log-sum-exp per row, and computes rows, tiles and overviews on demand.
 */

import type { Pixels } from "../io/read-png.ts";
import type { Block, HeadRef, Stage } from "./block.ts";
import type { Edits } from "./compute/head.ts";
import type { RequestOptions } from "./compute/request.ts";
import type { BundleOptions } from "./formats/bundle.ts";
import type { Ledger } from "./measures/ledger.ts";
import type { HeadMeasures } from "./measures/measures.ts";
import type { Overview } from "./measures/pool.ts";
import type { Tile, TileAddress } from "./measures/tile.ts";
import type { LoadReport } from "./sentences/report.ts";

export type { Edits };

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

/** The state of each token of a block, row-major. */
export interface States {
  readonly data: Float32Array | Float64Array;
  readonly width: number;
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

  /** One row, [Nk]. NaN and infinities stay; masked cells are −∞ at stage `masked`, 0 at the stages after it. */
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

  /** The residual stream [Nq, width] of a block: 0 is the embedding, n after n layers. Error: `OptionError` where the file has no such state. */
  states(block: number, layer: number): Promise<States>;
  /** `[Nq]`: log Σ exp over the inputs of softmax; −∞ for a fully masked row. For given weights: the file's, or NaN. */
  lse(ref: HeadRef, options?: RequestOptions): Promise<Float64Array>;
  /** The measures of a head: entropy, shares of attention, effective keys. */
  measures(ref: HeadRef, options?: RequestOptions): Promise<HeadMeasures>;
  /** Pooled to at most `size` × `size`; 1 to 1024. */
  overview(ref: HeadRef, size: number, options?: RequestOptions): Promise<Overview>;
  /** One column, [Nq]. */
  column(ref: HeadRef, j: number, stage: Stage, options?: RequestOptions): Promise<Float64Array>;
  /** A tile of a head's matrix, as codes of a color scale. */
  tile(ref: HeadRef, address: TileAddress, options?: RequestOptions): Promise<Tile>;
  /** Smallest and largest finite value of a stage over visible cells. */
  range(ref: HeadRef, stage: Stage, options?: RequestOptions): Promise<readonly [low: number, high: number]>;
  /** The attention from some queries to some keys in this head. Computes one row of weights per query, in float64. */
  link(
    ref: HeadRef,
    queries: readonly number[],
    keys: readonly number[],
    options?: RequestOptions,
  ): Promise<Link>;
  /** The picture n of a block (`block.pictures`), as the model read it: three bytes a pixel. Error: `OptionError` where there is none. */
  picture(block: number, n?: number): Promise<Pixels>;
  /** All weights of the head, [Nq, Nk], in float64. Error: `OptionError` above 2²² weights. */
  weights(ref: HeadRef, options?: RequestOptions): Promise<Float64Array>;
  /** Sets the heads on screen, the most important first: their requests are computed before the others. */
  prioritize(refs: readonly HeadRef[]): void;
  /** Number of bytes of the tensors of a bundle. */
  bundleSize(options?: BundleOptions): Promise<number>;
  /** The store, or a part of it, as the bytes of a bundle. */
  bundle(options?: BundleOptions): Promise<Uint8Array>;
  /** Rejects the requests in flight, ends workers and closes files. */
  dispose(): void;
}

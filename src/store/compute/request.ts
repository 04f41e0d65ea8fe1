/** Requests about heads: what is requested, of which head, with which options; and the answers. */
import type { Stage } from "../block.ts";
import type { HeadMeasures, Places } from "../measures/measures.ts";
import type { Overview } from "../measures/pool.ts";
import type { Tile, TileAddress } from "../measures/tile.ts";
import type { HeadArrays } from "./head.ts";

/** Options of a request: it can be canceled, and it reports its progress. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Called with the share done, 0 to 1; a pass also gives the overview of the rows so far. */
  readonly onProgress?: (done: number, overview?: Overview) => void;
}

/** What is computed of a head. */
export type HeadRequest =
  | { readonly what: "pass"; readonly size: number }
  | { readonly what: "tile"; readonly address: TileAddress }
  | { readonly what: "column"; readonly stage: Stage; readonly j: number }
  | { readonly what: "range"; readonly stage: Stage }
  | { readonly what: "link"; readonly queries: readonly number[]; readonly keys: readonly number[] }
  | { readonly what: "weights" };

/** The answer of a pass over a head. */
export interface PassAnswer {
  readonly lse: Float64Array;
  readonly measures: HeadMeasures;
  readonly overview: Overview;
}

/** The answer to any request. */
export type RequestAnswer = PassAnswer | Tile | Float64Array | readonly [number, number];

/** A request that waits for its turn: its head, and how urgent it is. */
export interface PendingRequest {
  /** Identifies the head. */
  readonly key: string;
  readonly request: HeadRequest;
  /** Loads the head's numbers. */
  readonly data: () => HeadArrays | Promise<HeadArrays>;
  /** The places of the head's block; the first call takes longer than a row. */
  readonly places: () => Places;
  /** The current priority: lower runs first. */
  readonly urgency: () => number;
}

/** Answers requests about heads. */
export interface Compute {
  answer(pending: PendingRequest, options?: RequestOptions): Promise<RequestAnswer>;
  /** Applies changed urgencies to the requests in flight. */
  reorder(): void;
  dispose(): void;
}

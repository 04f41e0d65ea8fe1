/** Layers over a sequence whose positions are divided among ranks: what they need to know of it. */
import type { AttentionOptions } from "../backend/problem.ts";
import { refuseGot } from "../core/errors.ts";
import type { Attended } from "./ops/attend.ts";
import type { FloatTensor } from "./ops/operand.ts";

/** The options of attention over a whole sequence: positions take the place of `queryOffset`. */
export type ShardedOptions = Pick<
  AttentionOptions,
  "attnMask" | "scoreMod" | "sinks" | "scale" | "dropoutP" | "seed"
> & { readonly isCausal?: boolean };

/**
 * This rank's part of a sequence, and attention over all of it: a `ContextTape` of heed/train. All but attention is computed for
 * each position alone, so a layer's result is this rank's rows of the result in one process.
 */
export interface SequenceShard {
  /** Positions of this rank's rows. */
  readonly positions: ArrayLike<number>;
  /** Length of the whole sequence. */
  readonly length: number;
  /** Runs a part of the computation between two calls of attention, which is synchronous. */
  run<T>(work: () => T): T;
  /** Attention of this rank's queries [..., Hq, n, dk] over the keys and values of all ranks. Every rank calls it. */
  attend(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    options: ShardedOptions,
  ): Promise<Pick<Attended, "output" | "lse">>;
}

/** Refuses what is not this rank's part of a sequence. */
export function checkShard(what: string, shard: SequenceShard): void {
  if (typeof shard?.run !== "function" || typeof shard.attend !== "function")
    refuseGot("shard", `${what}: shard must be a ContextTape of heed/train`, shard);
}

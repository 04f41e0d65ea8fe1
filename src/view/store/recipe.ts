/**
 * How scores were made, as data: what a file must say so that its weights can be computed again from q and k. Positions
 * count as in heed: query i stands at i + queryOffset, key j at j; true means attend.
 */

/** A score recipe. Everything is optional; the defaults are plain scaled dot products. Tensors are named, `NAME.L` before `NAME`. */
export interface ScoreRecipe {
  /** Multiplies q·k. Default 1/√d. */
  readonly scale?: number;
  /** Who may see whom. Default "none": all. */
  readonly mask?: RecipeMask;
  /** Real keys, the rest is padding: one number, or one for each head. */
  readonly keyLengths?: number | readonly number[];
  /** Position of query 0 among the keys. Default 0. */
  readonly queryOffset?: number;
  /** c·tanh(s / c), after the scale and before any bias. */
  readonly softcap?: number;
  /** Added to the score. */
  readonly bias?: RecipeBias;
  /** Tensor [heads]: one more logit in each row's denominator. */
  readonly sinks?: string;
  /** What single layers do otherwise. */
  readonly layerOverrides?: Readonly<Record<string, Omit<ScoreRecipe, "layerOverrides">>>;
}

/**
 * `window`: keys at most that many positions away, the own one not counted (a model whose window of W counts it has W − 1);
 * `globals` see and are seen by all; `prefix`: the first so many keys are seen by all, the rest causally; `tensor`: [Nq, Nk]
 * or [H, Nq, Nk] whose nonzero elements are kept, or dropped.
 */
export type RecipeMask =
  | "none"
  | "causal"
  | { readonly window: number; readonly causal: boolean; readonly globals?: readonly number[] }
  | { readonly prefix: number }
  | { readonly tensor: string; readonly polarity: "keep" | "drop" };

/** `alibi`: a slope for each head; `relative`: T5's table [buckets, heads]; `dense`: [Nq, Nk] or [H, Nq, Nk]. */
export type RecipeBias =
  | { readonly alibi: readonly number[] }
  | { readonly relative: string; readonly maxDistance?: number; readonly bidirectional?: boolean }
  | { readonly dense: string };

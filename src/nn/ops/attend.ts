/** Attention among the operations of layers. Its derivative is in attend-derivative.ts. */
import { scaledDotProductAttention } from "../../api/attention.ts";
import type { FloatTensor, Precision } from "./operand.ts";

/** Result of an attention call. */
export interface Attended<D extends Precision = Precision> {
  /** [..., Hq, Nq, dv], or [..., Nq, Hq, dv] in layout `bshd`. */
  readonly output: FloatTensor<D>;
  /** Natural log of Σ exp over the inputs of softmax, [..., Hq, Nq]. No gradient is defined through it. */
  readonly lse: FloatTensor<D>;
  /** Returned with `returnWeights`: [..., Hq, Nq, Nk] or of the chosen heads and rows. No gradient is defined through it. */
  readonly weights?: FloatTensor<D>;
}

/** A result whose weights were requested: with `returnWeights` they are never undefined. */
export type WithWeights<R extends { readonly weights?: FloatTensor }> = R & {
  readonly weights: NonNullable<R["weights"]>;
};

/** `scaledDotProductAttention` under its short name. */
export const attention = scaledDotProductAttention;

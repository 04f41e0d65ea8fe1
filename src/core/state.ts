/**
 * A partial result: the output over some of the keys with its log-sum-exp. `mergeStates` (merge.ts) merges states over
 * disjoint keys into the state over all of them, in any order. Threads, split keys, caches, pages and machines all use it.
 *
 *   lse = log Σ exp(lseᵢ)        output = Σ exp(lseᵢ − lse)·outputᵢ
 *
 * The identity is lse −∞ (no keys): its output is not read. FlashInfer, "recursive attention".
 */
import type { Tensor } from "./tensor.ts";

/** Output [..., Nq, dv] with the log-sum-exp of its rows [..., Nq]. */
export interface State {
  readonly output: Tensor;
  readonly lse: Tensor;
}

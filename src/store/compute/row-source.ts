/**
 * Kernels, which compute the rows of a pass: the formula in float64, one row at a time, or the weights of the file. They visit each
 * row and store none.
 */

import type { FloatArray } from "../../rows/head-rows.ts";
import type { StoreHead } from "./head.ts";

/** Receives one row of weights, which is valid until the next call. */
export type RowVisit = (i: number, weights: FloatArray, about: RowAbout) => void;

/** Properties of a row besides its weights. */
export interface RowAbout {
  readonly lse: number;
  /** −Σ w·ln w, if the kernel computes it. */
  readonly entropy?: number;
}

/** A way to compute rows of weights. */
export interface Kernel {
  /** Name of the library function that computes the weights. */
  readonly source: string;
  /** True if lse is exact to float64, so that single cells can be recomputed from it. */
  readonly exact: boolean;
  /** Number of rows of one step of about a millisecond. */
  rowsPerStep(head: StoreHead): number;
  /** Visits rows `from` to `to` (exclusive) of a head, in order. */
  run(head: StoreHead, from: number, to: number, visit: RowVisit): void;
}

/** Multiplications of a step: about a millisecond of plain JavaScript. */
const STEP = 2 ** 20;

/** Number of rows of `keys` keys in a step, at d multiplications a key and about 16 more for softmax. */
export const rowsInStep = (keys: number, d: number): number =>
  Math.max(1, Math.floor(STEP / (Math.max(1, keys) * (d + 16))));

/** Computes rows from q and k. */
export const plainKernel: Kernel = {
  source: "scores",
  exact: true,
  rowsPerStep: ({ data }) => rowsInStep(data.Nk, data.d),
  run(head, from, to, visit) {
    const row = new Float64Array(head.data.Nk);
    for (let i = from; i < to; i++) visit(i, row, head.softmax(i, row));
  },
};

/** Reads rows of the file's weights. */
const givenKernel: Kernel = {
  source: "given weights",
  exact: true,
  rowsPerStep: ({ data }) => rowsInStep(data.Nk, 0),
  run(head, from, to, visit) {
    const w = new Float64Array(head.data.Nk);
    for (let i = from; i < to; i++) visit(i, head.weights(i, w), { lse: head.data.lse?.[i] ?? Number.NaN });
  },
};

/** The kernel for a head: the one that reads given weights, or `chosen`. */
export function kernelFor(head: StoreHead, chosen: Kernel): Kernel {
  return head.data.weights ? givenKernel : chosen;
}

/**
 * Who computes the rows of a pass. The plain kernel is the formula in float64, a row at a time; `engine.ts` has heed's
 * compiled kernels do many rows at once, in float32. Both hand each row on and keep none.
 */
import type { Floats, Head } from "./head.ts";

/** One row of weights, valid until the next one comes. */
export type RowVisit = (i: number, weights: Floats, about: RowAbout) => void;

/** What is known of a row beside its weights. */
export interface RowAbout {
  readonly lse: number;
  /** −Σ w·ln w, where the kernel has it. */
  readonly entropy?: number;
}

/** A way to compute rows of weights. */
export interface Kernel {
  /** Name of the library function that gives the numbers. */
  readonly source: string;
  /** True where lse is exact to float64, so that single cells can be rebuilt from it. */
  readonly exact: boolean;
  /** Rows to ask for at once, so that a step takes about a millisecond. */
  rowsPerStep(head: Head): number;
  /** Visits rows `from` to `to` (exclusive) of a head, in order. */
  run(head: Head, from: number, to: number, visit: RowVisit): void;
}

/** Multiplications of a step: about a millisecond of plain JavaScript. */
const STEP = 2 ** 20;

/** Rows of scores straight from q and k. */
export const plainKernel: Kernel = {
  source: "scores",
  exact: true,
  rowsPerStep: ({ data }) => Math.max(1, Math.floor(STEP / (Math.max(1, data.Nk) * (data.d + 16)))),
  run(head, from, to, visit) {
    const row = new Float64Array(head.data.Nk);
    for (let i = from; i < to; i++) visit(i, row, head.softmax(row, head.scores(i, row)));
  },
};

/** Rows of weights as they were given. */
const givenKernel: Kernel = {
  source: "given weights",
  exact: true,
  rowsPerStep: ({ data }) => Math.max(1, Math.floor(STEP / (16 * Math.max(1, data.Nk)))),
  run(head, from, to, visit) {
    const w = new Float64Array(head.data.Nk);
    for (let i = from; i < to; i++)
      visit(i, head.weights(i, {}, w), { lse: head.data.lse?.[i] ?? Number.NaN });
  },
};

/** The kernel for a head: what was given, or what computes. */
export function kernelFor(head: Head, chosen: Kernel): Kernel {
  return head.data.weights ? givenKernel : chosen;
}

/** Results in the engine's memory that need more than a copy: parts of split keys, and weights of a rounded lse. */

import type { Problem } from "../../backend/problem.ts";
import type { BatchHead } from "../engine/transfer.ts";
import type { IndexRange } from "./plan.ts";

/** The addresses of the results of each split of the keys. */
interface Splits {
  readonly out: (b: number, h: number, row: number, split: number) => number;
  readonly lse: (b: number, h: number, row: number, split: number) => number;
  readonly splitBytes: number;
}

/** Merges the parts of each row into the first, by the rule of `mergeStates`. */
export function mergeSplits(
  f32: Float32Array,
  { shape: { dv } }: Problem,
  splits: number,
  placed: Splits,
  heads: readonly BatchHead[],
  [from, to]: IndexRange,
): void {
  for (const { b, h } of heads)
    for (let row = from; row < to; row++) {
      let m = -Infinity;
      for (let n = 0; n < splits; n++) {
        const x = f32[placed.lse(b, h, row, n) / 4];
        if (!(x <= m)) m = x;
      }
      if (m === -Infinity) continue;
      const shares = Array.from({ length: splits }, (_, n) =>
        Math.exp(f32[placed.lse(b, h, row, n) / 4] - m),
      );
      const sum = shares.reduce((x, y) => x + y, 0);
      const first = placed.out(b, h, row, 0) / 4;
      const step = placed.splitBytes / 4;
      for (let e = 0; e < dv; e++) {
        let o = 0;
        // A part without visible keys has share 0, and its output is 0 as well.
        for (let n = 0; n < splits; n++) o += shares[n] * f32[first + n * step + e];
        f32[first + e] = o / sum;
      }
      f32[placed.lse(b, h, row, 0) / 4] = m + Math.log(sum);
    }
}

/**
 * Corrects the rounding of lse in a row of weights. A float32 lse of 16 has a rounding error of up to 1e-6, one of 10⁴ of 5e-4,
 * which every weight would show. Where the weights (and the sink's share) sum to 1 within that error, they are a complete row and
 * are normalized to sum to 1; otherwise lse includes keys of other parts, and the weights do not change.
 */
export function correctRounding(row: Float32Array, lse: number, sink: number | undefined): void {
  if (!(Math.abs(lse) >= 2 && Number.isFinite(lse))) return;
  let sum = sink === undefined ? 0 : Math.exp(sink - lse);
  for (let k = 0; k < row.length; k++) sum += row[k];
  const rounding = 4 * 2 ** -24 * Math.abs(lse);
  if (!(Math.abs(Math.log(sum)) <= rounding)) return;
  for (let k = 0; k < row.length; k++) row[k] /= sum;
}

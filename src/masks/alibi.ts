/** ALiBi: a penalty that grows with distance, with one slope per head. Press, Smith & Lewis 2022. */

import { fromNested } from "../core/create/nested.ts";
import { checkCount, checkInteger, refuseValue, ShapeError } from "../core/errors.ts";
import type { TensorLike } from "../core/tensor.ts";
import { type ScoreMod, scoreMod } from "./expression/expr.ts";
import { table } from "./expression/table.ts";

/**
 * Adds −slope·|query position − key position|. Slopes are [Hq] or [B, Hq], a list, nested arrays or a tensor; `alibiSlopes(Hq)` returns the paper's.
 *
 * @example
 * scaledDotProductAttention(q, k, v, { scoreMod: alibi(alibiSlopes(2)), isCausal: true });
 */
export function alibi(slopes: ArrayLike<number> | readonly (readonly number[])[] | TensorLike): ScoreMod {
  checkCount("alibi", arguments, 1);
  const isFlat = Array.isArray(slopes) && !slopes.some((row) => Array.isArray(row));
  const wrong = isFlat && slopes.find((x) => typeof x !== "number");
  if (isFlat && wrong !== undefined) refuseValue("alibi", "slopes", "numbers", wrong);
  const source = isFlat
    ? Float64Array.from(slopes as readonly number[])
    : Array.isArray(slopes)
      ? fromNested("alibi", slopes, "float64")
      : slopes;
  const slopeTable = table(source as TensorLike, { name: "alibi slopes", strict: true, exact: [true, true] });
  const rank = slopeTable.table.shape.length;
  if (rank !== 1 && rank !== 2)
    throw new ShapeError(
      "slopes",
      `alibi: slopes must be [Hq] or [B, Hq], got [${slopeTable.table.shape.join(", ")}]`,
    );
  return scoreMod(({ score, b, h, q, k }) =>
    score.sub((rank === 1 ? slopeTable.at(h) : slopeTable.at(b, h)).toFloat().mul(q.sub(k).abs())),
  );
}

/**
 * The paper's slopes for `heads` heads: 2^(−8/n), 2^(−16/n), … for the largest power of two n ≤ heads, then every other slope
 * of 2n heads.
 *
 * @example
 * Array.from(alibiSlopes(4)); // → [0.25, 0.0625, 0.015625, 0.00390625]
 */
export function alibiSlopes(heads: number): Float32Array {
  checkCount("alibiSlopes", arguments, 1);
  checkInteger("alibiSlopes", "heads", heads, 1);
  checkInteger("alibiSlopes", "heads", heads, 1, 2 ** 16);
  const powers = (n: number) => Array.from({ length: n }, (_, i) => 2 ** ((-8 * (i + 1)) / n));
  const n = 2 ** Math.floor(Math.log2(heads));
  const extra = powers(2 * n).filter((_, i) => i % 2 === 0);
  return Float32Array.from([...powers(n), ...extra].slice(0, heads));
}

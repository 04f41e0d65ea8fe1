/** T5's relative position bias: a learned number for each bucket of distances and each head. Raffel et al. 2020, section 2.1. */
import { isFloat } from "../core/dtype.ts";
import { checkCount, checkInteger, DTypeError, formatTensor, refuseGot, ShapeError } from "../core/errors.ts";
import { checkNames } from "../core/option-names.ts";
import { asTensor, type TensorLike } from "../core/tensor.ts";
import { type ScoreMod, scoreMod } from "./expression/expr.ts";
import { table } from "./expression/table.ts";

/** How distances become buckets. */
export interface RelativeBiasOptions {
  /** Number of buckets; default: the rows of the table. */
  numBuckets?: number;
  /** Distances from this one on share the last bucket; default 128. */
  maxDistance?: number;
  /** Keys after the query have separate buckets; default true (an encoder), false for a decoder. */
  bidirectional?: boolean;
}

/**
 * Adds table[bucket(key position − query position), h]; the table is [numBuckets, Hq].
 *
 * @example
 * const bias = randn([32, 2], { seed: 4 }); // T5: 32 buckets, two heads
 * scaledDotProductAttention(q, k, v, { scoreMod: relativeBias(bias, { bidirectional: true }) });
 */
export function relativeBias(values: TensorLike, options: RelativeBiasOptions = {}): ScoreMod {
  checkCount("relativeBias", arguments, 2);
  const source = asTensor("relativeBias", values);
  checkNames("relativeBias", options, ["numBuckets", "maxDistance", "bidirectional"]);
  const { numBuckets = source.shape[0], maxDistance = 128, bidirectional = true } = options;
  checkInteger("relativeBias", "numBuckets", numBuckets, 0);
  checkInteger("relativeBias", "maxDistance", maxDistance, 0, 2 ** 24);
  if (!isFloat(source.dtype))
    throw new DTypeError(
      "dtype",
      `relativeBias: the table must be floats, got ${formatTensor("table", source)}`,
    );
  if (source.shape.length !== 2 || source.shape[0] !== numBuckets)
    throw new ShapeError(
      "table",
      `relativeBias: the table must be [numBuckets = ${numBuckets}, Hq], got [${source.shape.join(", ")}]`,
    );
  const half = bidirectional ? numBuckets / 2 : numBuckets;
  if (!(Number.isInteger(half) && half >= 2))
    refuseGot(
      "buckets",
      `relativeBias: numBuckets must be ${bidirectional ? "even and ≥ 4" : "≥ 2"}`,
      numBuckets,
    );
  if (!(Number.isInteger(maxDistance) && maxDistance > Math.floor(half / 2)))
    refuseGot(
      "distance",
      `relativeBias: maxDistance must be an integer above ${Math.floor(half / 2)}`,
      maxDistance,
    );
  // Distances from −maxDistance to maxDistance; farther ones read the edges.
  const buckets = Int32Array.from({ length: 2 * maxDistance + 1 }, (_, n) =>
    relativeBucket(n - maxDistance, numBuckets, maxDistance, bidirectional),
  );
  const bucket = table({ data: buckets, shape: [buckets.length] }, { name: "relativeBias buckets" });
  const biasTable = table(source, { name: "relativeBias", strict: true, exact: [false, true] });
  return scoreMod(({ score, h, q, k }) =>
    score.add(biasTable.at(bucket.at(k.sub(q).add(maxDistance)), h).toFloat()),
  );
}

/** T5's bucket of a distance (key − query), with the logarithm in float32 as in the published models. */
export function relativeBucket(
  distance: number,
  numBuckets: number,
  maxDistance: number,
  bidirectional: boolean,
): number {
  let count = numBuckets;
  let first = 0;
  let n = -distance;
  if (bidirectional) {
    count /= 2;
    if (distance > 0) first = count;
    n = Math.abs(distance);
  } else n = Math.max(n, 0);
  const exact = Math.floor(count / 2);
  if (n < exact) return first + n;
  const f = Math.fround;
  const log = f(f(f(Math.log(f(n / exact))) / f(Math.log(maxDistance / exact))) * (count - exact));
  return first + Math.min(exact + Math.trunc(log), count - 1);
}

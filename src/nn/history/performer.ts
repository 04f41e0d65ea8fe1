/**
 * Performer's attention, FAVOR+ (Choromanski et al. 2021): softmax attention by random positive features,
 *
 *   φ(x)ᵣ = exp(fᵣ·x/d^¼ − |x|²/(2√d))/√m       E[φ(q)·φ(k)] = exp(q·k/√d)
 *
 * so `featureAttention` **approximates** softmax attention at a cost that grows with N. The error falls as 1/√m with the number
 * of features and grows with |q|² and |k|²; orthogonal features make it smaller. It runs on the CPU.
 *
 * A factor common to all features of a query row, or of all keys, cancels in the fraction. So exponents are taken relative to
 * the largest, which avoids overflow, and no gradient flows through that maximum.
 */

import { matmul } from "../../api/matmul.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { checkCount, formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { checkPrecision, dot } from "../../core/numbers.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/recording/record.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { generatorOf, type LayerOptions } from "../initialize.ts";
import type { WithWeights } from "../ops/attend.ts";
import type { FloatTensor, Precision, PrecisionOf } from "../ops/operand.ts";
import { numbers, numbersOf, operand, tensorFrom } from "../ops/operand.ts";
import type { LinearAttentionOptions, LinearAttentionResult } from "./linear-attention.ts";
import { featureAttention, LINEAR_OPTIONS, realRows } from "./linear-attention.ts";

/** Options of `performerAttention`. */
export interface PerformerOptions extends LinearAttentionOptions {
  /** The random features [m, dk]; `orthogonalFeatures` makes them. Default: ⌈dk·ln dk⌉ of seed 0. */
  features?: TensorLike;
}

/**
 * An approximation of softmax attention with scale 1/√dk in time and memory linear in N.
 *
 * @param query [..., Nq, dk]; key [..., Nk, dk]; value [..., Nk, dv]; leading axes are equal
 *
 * @example
 * performerAttention(q, k, v, { features: orthogonalFeatures(64, 8) }).output.shape; // → [1, 2, 4, 8]
 */
export function performerAttention<T extends TensorLike>(
  query: T,
  key: TensorLike,
  value: TensorLike,
  options: PerformerOptions & { returnWeights: true },
): WithWeights<LinearAttentionResult<PrecisionOf<T>>>;
export function performerAttention<T extends TensorLike>(
  query: T,
  key: TensorLike,
  value: TensorLike,
  options?: PerformerOptions,
): LinearAttentionResult<PrecisionOf<T>>;
export function performerAttention(
  query: TensorLike,
  key: TensorLike,
  value: TensorLike,
  options: PerformerOptions = {},
): LinearAttentionResult {
  checkCount("performerAttention", arguments, 4);
  const what = "performerAttention";
  checkOptionNames(what, options, [...LINEAR_OPTIONS, "features"]);
  const q = operand(what, "query", query);
  checkOnCpu(what, "query", q);
  const k = operand(what, "key", key, q);
  const d = q.shape[q.shape.length - 1];
  const features = operand(
    what,
    "features",
    options.features ?? orthogonalFeatures(defaultFeatures(d), d, 0, q.dtype),
    q,
  );
  if (features.shape.length !== 2 || features.shape[1] !== d || q.shape.length < 2 || k.shape.at(-1) !== d)
    throw new ShapeError(
      "features",
      `${what}: expected features [m, dk], query [..., Nq, dk], key [..., Nk, dk]; ${formatTensor("features", features)}, ${formatTensor("query", q)}, ${formatTensor("key", k)}`,
      { features: features.shape, query: q.shape, key: k.shape },
    );
  const realKeys = realRows(what, k, options.keyMask);
  const left = positiveFeatures(q, features, "row", undefined);
  const right = positiveFeatures(k, features, "head", realKeys);
  return featureAttention(what, left, right, value, realKeys, options);
}

/** Default number of features for a head of size d: ⌈d·ln d⌉, the order that the paper proves sufficient. */
export const defaultFeatures = (d: number): number => Math.max(1, Math.ceil(d * Math.log(Math.max(d, 2))));

/** φ(x) [..., N, m] of x [..., N, d], up to a factor for each row, or for each head. Rows that are not kept are zeros. */
function positiveFeatures(
  x: FloatTensor,
  features: FloatTensor,
  factor: "row" | "head",
  realKeys: Uint8Array | undefined,
): FloatTensor {
  const [N, d] = x.shape.slice(-2);
  const m = features.shape[0];
  const root = d ** 0.25;
  const from = numbersOf(x);
  const y = matmul(x, features, { transposeB: true }) as FloatTensor;
  const out = y.data;
  const count = d === 0 ? 0 : from.length / d;
  const each = factor === "row" ? 1 : N;
  const isReal = (row: number) => !realKeys || realKeys[row] === 1;
  for (let first = 0; first < count; first += each) {
    let largest = -Infinity;
    for (let row = first; row < first + each; row++) {
      if (!isReal(row)) continue;
      let square = 0;
      for (let n = 0; n < d; n++) square += from[row * d + n] ** 2;
      for (let r = row * m; r < (row + 1) * m; r++) {
        out[r] = out[r] / root - square / (2 * root * root);
        if (!(out[r] <= largest)) largest = out[r];
      }
    }
    for (let row = first; row < first + each; row++)
      for (let r = row * m; r < (row + 1) * m; r++) out[r] = isReal(row) ? Math.exp(out[r] - largest) : 0;
  }
  record({
    name: "positiveFeatures",
    inputs: [x],
    outputs: [y],
    backward: ([dy]) => {
      if (!dy) return [undefined];
      // dφᵣ/dx = φᵣ·(fᵣ/d^¼ − x/√d): with gᵣ = dyᵣ·φᵣ it is Σᵣ gᵣ·fᵣ/d^¼ − (Σᵣ gᵣ)·x/√d.
      const upstream = numbersOf(dy);
      const g = numbers(x.dtype, upstream.length);
      for (let n = 0; n < g.length; n++) g[n] = out[n] === 0 ? 0 : upstream[n] * out[n];
      const dx = matmul(tensorFrom(g, y.shape), features);
      for (let row = 0; row < count; row++) {
        let sum = 0;
        for (let r = row * m; r < (row + 1) * m; r++) sum += g[r];
        for (let n = row * d; n < (row + 1) * d; n++)
          dx.data[n] = isReal(row) ? dx.data[n] / root - (sum * from[n]) / (root * root) : 0;
      }
      return [dx];
    },
  });
  return y;
}

/**
 * Random features [m, d] from a seed: in blocks of d rows that are orthogonal to one another, each as long as a normal
 * vector of d numbers is.
 *
 * @example
 * orthogonalFeatures(64, 8).shape; // → [64, 8]
 */
export function orthogonalFeatures(
  m: number,
  d: number,
  seed: LayerOptions["seed"] = 0,
  dtype: Precision = "float32",
): FloatTensor {
  checkCount("orthogonalFeatures", arguments, 4);
  checkPrecision("orthogonalFeatures", dtype);
  if (!(Number.isInteger(m) && m >= 1 && m < 2 ** 24 && Number.isInteger(d) && d >= 0 && d < 2 ** 24))
    throw new OptionError(
      "features",
      `orthogonalFeatures: expected m ≥ 1 and d ≥ 0, got ${formatValue(m)} and ${formatValue(d)}`,
      { m, d },
    );
  const random = generatorOf(seed);
  const rows: Float64Array[] = [];
  for (let n = 0; n < m; n++) {
    const block = rows.slice(n - (n % Math.max(1, d)));
    const row = Float64Array.from({ length: d }, () => random.normal());
    // Gram–Schmidt, twice: the second pass removes the rounding errors of the first.
    for (let pass = 0; pass < 2; pass++)
      for (const other of block) {
        const share = dot(row, other) / dot(other, other);
        for (let i = 0; i < d; i++) row[i] -= share * other[i];
      }
    const length = Math.sqrt(
      Array.from({ length: d }, () => random.normal() ** 2).reduce((a, b) => a + b, 0),
    );
    const norm = Math.sqrt(dot(row, row));
    rows.push(row.map((x) => Math.fround((x / norm) * length)));
  }
  return tensorFrom(
    rows.reduce(
      (all, row, n) => {
        all.set(row, n * d);
        return all;
      },
      numbers(dtype, m * d),
    ),
    [m, d],
  );
}

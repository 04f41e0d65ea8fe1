/**
 * Normalization over the last axis of C numbers: layer norm and RMS norm.
 *
 *   layerNorm  y = (x − mean)/√(var + eps)·weight + bias, var over C, not C − 1     Ba, Kiros & Hinton 2016
 *   rmsNorm    y = x/√(mean(x²) + eps)·weight                                       Zhang & Sennrich 2019
 *
 * Their gradients are in reference/rowwise.ts.
 */

import { rowwise } from "../../api/rowwise.ts";
import { checkCount, refuseValue } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { record } from "../../core/recording/record.ts";
import type { TensorLike } from "../../core/tensor.ts";
import type { FloatTensorOf } from "./operand.ts";
import { allocateResult, checkShapeIs, operand, resultLike, storageOf, tensorFrom } from "./operand.ts";
import { rows } from "./softmax.ts";

/**
 * (x − mean)/√(variance + eps)·weight + bias over the last axis; weight and bias are [C], `eps` is 1e-5.
 *
 * @example
 * layerNorm(x, ones([8]), zeros([8])).shape; // → [2, 3, 8]
 */
export function layerNorm<T extends TensorLike>(
  x: T,
  weight?: TensorLike,
  bias?: TensorLike,
  options: { eps?: number } = {},
): FloatTensorOf<T> {
  checkCount("layerNorm", arguments, 4);
  checkOptionNames("layerNorm", options, ["eps"]);
  return norm("layerNorm", x, weight, bias, options.eps ?? 1e-5, true);
}

/**
 * x/√(mean(x²) + eps)·weight over the last axis; weight is [C], `eps` is 1e-6.
 *
 * @example
 * rmsNorm(x).shape; // → [2, 3, 8]
 */
export function rmsNorm<T extends TensorLike>(
  x: T,
  weight?: TensorLike,
  options: { eps?: number } = {},
): FloatTensorOf<T> {
  checkCount("rmsNorm", arguments, 3);
  checkOptionNames("rmsNorm", options, ["eps"]);
  return norm("rmsNorm", x, weight, undefined, options.eps ?? 1e-6, false);
}

/** Throws unless `eps` is a number ≥ 0. */
export function checkEps(what: string, eps: number): void {
  if (!(Number.isFinite(eps) && eps >= 0)) refuseValue(what, "eps", "a number ≥ 0", eps);
}

function norm<T extends TensorLike>(
  what: string,
  x: T,
  weightLike: TensorLike | undefined,
  biasLike: TensorLike | undefined,
  eps: number,
  centered: boolean,
): FloatTensorOf<T> {
  const from = rows(what, x);
  const C = from.shape[from.shape.length - 1];
  const weight = weightLike === undefined ? undefined : operand(what, "weight", weightLike, from);
  const bias = biasLike === undefined ? undefined : operand(what, "bias", biasLike, from);
  if (weight) checkShapeIs(what, "weight", weight, [C]);
  if (bias) checkShapeIs(what, "bias", bias, [C]);
  checkEps(what, eps);
  const { size } = from;
  const [input, w, b] = [storageOf(from), weight && storageOf(weight), bias && storageOf(bias)];
  const y = resultLike(from, from.shape);
  // A tensor, so that its storage is released with the scope that it was made in.
  const rowData = tensorFrom(allocateResult(input, "float32", C === 0 ? 0 : (4 * size) / C), [
    4,
    size / C || 0,
  ]);
  const stats = rowData.storage;
  rowwise({ name: "norm", x: input, y: y.storage, stats, weight: w, bias: b, C, centered, eps });
  record({
    name: what,
    inputs: [from, weight, bias].filter((t) => t !== undefined),
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [];
      const dx = resultLike(from, from.shape);
      const [dWeight, dBias] = [resultLike(from, [C]), resultLike(from, [C])];
      const shape = { C, centered, eps };
      rowwise({
        name: "norm-backward",
        x: input,
        dy: storageOf(d),
        stats,
        weight: w,
        dx: dx.storage,
        dWeight: dWeight.storage,
        dBias: dBias.storage,
        ...shape,
      });
      return [dx, ...(weight ? [dWeight] : []), ...(bias ? [dBias] : [])];
    },
  });
  return y;
}

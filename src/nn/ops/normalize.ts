/**
 * Normalization over the last axis of C numbers: layer norm, RMS norm and softmax.
 *
 *   layerNorm  y = (x − mean)/√(var + eps)·weight + bias, var over C, not C − 1     Ba, Kiros & Hinton 2016
 *   rmsNorm    y = x/√(mean(x²) + eps)·weight                                       Zhang & Sennrich 2019
 *   softmax    y = e^(x − max)/Σ e^(x − max); a row of −∞ gives zeros, as in attention
 *
 * The gradients of the first two are in reference/rowwise.ts; softmax gives dx = y·(dy − Σ dy·y).
 */

import { formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { record } from "../../core/record.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { rowwise } from "../../rowwise.ts";
import {
  allocateResult,
  axisOf,
  checkShapeIs,
  type FloatTensor,
  type Numbers,
  numbers,
  numbersOf,
  operand,
  storageOf,
  tensorFrom,
  uninitializedLike,
} from "./operand.ts";
import { transpose } from "./shapes.ts";

/**
 * (x − mean)/√(variance + eps)·weight + bias over the last axis; weight and bias are [C], `eps` is 1e-5.
 *
 * @example
 * layerNorm(x, ones([8]), zeros([8])).shape; // → [2, 3, 8]
 */
export function layerNorm(
  x: TensorLike,
  weight?: TensorLike,
  bias?: TensorLike,
  options: { eps?: number } = {},
): FloatTensor {
  return norm("layerNorm", x, weight, bias, options.eps ?? 1e-5, true);
}

/**
 * x/√(mean(x²) + eps)·weight over the last axis; weight is [C], `eps` is 1e-6.
 *
 * @example
 * rmsNorm(x).shape; // → [2, 3, 8]
 */
export function rmsNorm(x: TensorLike, weight?: TensorLike, options: { eps?: number } = {}): FloatTensor {
  return norm("rmsNorm", x, weight, undefined, options.eps ?? 1e-6, false);
}

function norm(
  what: string,
  x: TensorLike,
  weightLike: TensorLike | undefined,
  biasLike: TensorLike | undefined,
  eps: number,
  centered: boolean,
): FloatTensor {
  const from = rows(what, x);
  const C = from.shape[from.shape.length - 1];
  const weight = weightLike && operand(what, "weight", weightLike, from);
  const bias = biasLike && operand(what, "bias", biasLike, from);
  if (weight) checkShapeIs(what, "weight", weight, [C]);
  if (bias) checkShapeIs(what, "bias", bias, [C]);
  if (!(typeof eps === "number" && eps >= 0))
    throw new OptionError("eps", `${what}: eps must be a number ≥ 0, got ${formatValue(eps)}`, { got: eps });
  const { dtype, size } = from;
  const [input, w, b] = [storageOf(from), weight && storageOf(weight), bias && storageOf(bias)];
  const output = allocateResult(input, dtype, size);
  const stats = allocateResult(input, "float32", C === 0 ? 0 : (4 * size) / C);
  rowwise({ name: "norm", x: input, y: output, stats, weight: w, bias: b, C, centered, eps });
  const y = tensorFrom(output, from.shape);
  record({
    name: what,
    inputs: [from, weight, bias].filter((t) => t !== undefined),
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [];
      const dx = allocateResult(input, dtype, size);
      const [dWeight, dBias] = [allocateResult(input, dtype, C), allocateResult(input, dtype, C)];
      const shape = { C, centered, eps };
      rowwise({
        name: "norm-backward",
        x: input,
        dy: storageOf(d),
        stats,
        weight: w,
        dx,
        dWeight,
        dBias,
        ...shape,
      });
      return [
        tensorFrom(dx, from.shape),
        ...(weight ? [tensorFrom(dWeight, [C])] : []),
        ...(bias ? [tensorFrom(dBias, [C])] : []),
      ];
    },
  });
  return y;
}

/**
 * Softmax over one axis, the last by default; where all of it is −∞ the result is zeros.
 *
 * @example
 * softmax(tensor([[0, 0], [1, 1]])); // → [[0.5, 0.5], [0.5, 0.5]]
 */
export function softmax(x: TensorLike, axis = -1): FloatTensor {
  const from = rows("softmax", x);
  const rank = from.shape.length;
  const at = axisOf("softmax", axis, rank);
  if (at !== rank - 1) return transpose(softmax(transpose(from, at, -1)), at, -1);
  const C = from.shape[from.shape.length - 1];
  const input = numbersOf(from);
  const output = numbers(from.dtype, input.length);
  for (let at = 0; at < input.length; at += C) {
    let max = -Infinity;
    for (let n = 0; n < C; n++) if (!(input[at + n] <= max)) max = input[at + n];
    if (max === -Infinity) continue;
    let total = 0;
    for (let n = 0; n < C; n++) total += Math.exp(input[at + n] - max);
    for (let n = 0; n < C; n++) output[at + n] = Math.exp(input[at + n] - max) / total;
  }
  const y = tensorFrom(output, from.shape);
  record({
    name: "softmax",
    inputs: [from],
    outputs: [y],
    backward: ([d]) => [d && tensorFrom(softmaxGradient(output, numbersOf(d), C), from.shape)],
  });
  return y;
}

function softmaxGradient(y: Numbers, dy: Numbers, C: number): Numbers {
  const dx = uninitializedLike(y);
  for (let at = 0; at < y.length; at += C) {
    let dot = 0;
    for (let n = 0; n < C; n++) dot += y[at + n] * dy[at + n];
    for (let n = 0; n < C; n++) dx[at + n] = y[at + n] === 0 ? 0 : y[at + n] * (dy[at + n] - dot);
  }
  return dx;
}

function rows(what: string, x: TensorLike): FloatTensor {
  const t = operand(what, "x", x);
  if (t.shape.length === 0)
    throw new ShapeError("rank", `${what}: expected at least one axis, got ${formatTensor("x", t)}`, {
      shape: t.shape,
    });
  return t;
}

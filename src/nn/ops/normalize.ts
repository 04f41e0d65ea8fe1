/**
 * Rows brought to one size: layer norm, RMS norm and softmax, each over the last axis of C numbers.
 *
 *   layerNorm  y = (x − mean)/√(var + eps)·weight + bias, var over C, not C − 1     Ba, Kiros & Hinton 2016
 *   rmsNorm    y = x/√(mean(x²) + eps)·weight                                       Zhang & Sennrich 2019
 *   softmax    y = e^(x − max)/Σ e^(x − max); a row of −∞ gives zeros, as attention has it
 *
 * With x̂ the normalised row and g = dy·weight, the first two give dx = r·(g − mean(g) − x̂·mean(g·x̂)), where RMS norm
 * has no mean(g), and r = 1/√(…); softmax gives dx = y·(dy − Σ dy·y).
 */

import { resultArray } from "../../core/arena.ts";
import { formatTensor, formatValue, OptionError, ShapeError } from "../../core/errors.ts";
import { record } from "../../core/record.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { engineNorm, engineNormBackward } from "../../rowwise.ts";
import {
  axisOf,
  checkShapeIs,
  type FloatTensor,
  isWorthTheEngine,
  made,
  type Numbers,
  numbers,
  numbersOf,
  operand,
  unwritten,
  unwrittenLike,
} from "./operand.ts";
import { transpose } from "./shapes.ts";

/** (x − mean)/√(variance + eps)·weight + bias over the last axis; weight and bias are [C], `eps` is 1e-5. */
export function layerNorm(
  x: TensorLike,
  weight?: TensorLike,
  bias?: TensorLike,
  options: { eps?: number } = {},
): FloatTensor {
  return norm("layerNorm", x, weight, bias, options.eps ?? 1e-5, true);
}

/** x/√(mean(x²) + eps)·weight over the last axis; weight is [C], `eps` is 1e-6. */
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
  const [input, w, b] = [numbersOf(from), weight && numbersOf(weight), bias && numbersOf(bias)];
  const run = isWorthTheEngine(input) && onEngine(input, w, b, C, eps, centered);
  const { output, backward } = run || inLoops(input, w, b, C, eps, centered);
  const y = made(output, from.shape);
  record({
    name: what,
    inputs: [from, weight, bias].filter((t) => t !== undefined),
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [];
      const { dx, dw, db } = backward(numbersOf(d));
      const like = (sum: Float64Array) => made(from.dtype === "float64" ? sum : Float32Array.from(sum), [C]);
      return [made(dx, from.shape), ...(weight ? [like(dw)] : []), ...(bias ? [like(db)] : [])];
    },
  });
  return y;
}

/** Rows that were normed, and the way back: gradients of x [rows, C], weight and bias [C]. */
interface Normed {
  readonly output: Numbers;
  readonly backward: (dy: Numbers) => { dx: Numbers; dw: Float64Array; db: Float64Array };
}

/** On the engine, which computes in float32; undefined where it does not. */
function onEngine(
  input: Float32Array,
  w: Numbers | undefined,
  b: Numbers | undefined,
  C: number,
  eps: number,
  centered: boolean,
): Normed | undefined {
  const output = resultArray(input.length);
  const stats = resultArray((4 * input.length) / C);
  const options = { C, centered, weight: w as Float32Array | undefined };
  if (!engineNorm(input, output, stats, { ...options, bias: b as Float32Array | undefined, eps }))
    return undefined;
  return {
    output,
    backward: (dy) => {
      const dx = resultArray(input.length);
      const [dw, db] = [new Float64Array(C), new Float64Array(C)];
      if (!engineNormBackward(input, dy as Float32Array, stats, dx, dw, db, options))
        return inLoops(input, w, b, C, eps, centered).backward(dy);
      return { dx, dw, db };
    },
  };
}

/** The definition, for float64, small tensors and where there is no engine. */
function inLoops(
  input: Numbers,
  w: Numbers | undefined,
  b: Numbers | undefined,
  C: number,
  eps: number,
  centered: boolean,
): Normed {
  const count = C === 0 ? 0 : input.length / C;
  const like = input instanceof Float64Array ? "float64" : "float32";
  const output = unwritten(like, input.length);
  // What the backward pass needs of each row: its mean and 1/√(…).
  const means = new Float64Array(count);
  const inverses = new Float64Array(count);
  for (let row = 0, at = 0; row < count; row++, at += C) {
    let m = 0;
    if (centered) {
      for (let n = 0; n < C; n++) m += input[at + n];
      m /= C;
    }
    let squares = 0;
    for (let n = 0; n < C; n++) squares += (input[at + n] - m) ** 2;
    const r = 1 / Math.sqrt(squares / C + eps);
    means[row] = m;
    inverses[row] = r;
    for (let n = 0; n < C; n++) output[at + n] = (input[at + n] - m) * r * (w ? w[n] : 1) + (b ? b[n] : 0);
  }
  const backward = (dy: Numbers) => {
    const dx = unwritten(like, input.length);
    const dw = new Float64Array(C);
    const db = new Float64Array(C);
    for (let row = 0, at = 0; row < count; row++, at += C) {
      const [m, r] = [means[row], inverses[row]];
      let [sumG, sumGx] = [0, 0];
      for (let n = 0; n < C; n++) {
        const hat = (input[at + n] - m) * r;
        const g = dy[at + n] * (w ? w[n] : 1);
        sumG += g;
        sumGx += g * hat;
        dw[n] += dy[at + n] * hat;
        db[n] += dy[at + n];
      }
      const [meanG, meanGx] = [centered ? sumG / C : 0, sumGx / C];
      for (let n = 0; n < C; n++)
        dx[at + n] = r * (dy[at + n] * (w ? w[n] : 1) - meanG - (input[at + n] - m) * r * meanGx);
    }
    return { dx, dw, db };
  };
  return { output, backward };
}

/** Softmax over one axis, the last by default; where all of it is −∞ the result is zeros. */
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
  const y = made(output, from.shape);
  record({
    name: "softmax",
    inputs: [from],
    outputs: [y],
    backward: ([d]) => [d && made(softmaxGradient(output, numbersOf(d), C), from.shape)],
  });
  return y;
}

function softmaxGradient(y: Numbers, dy: Numbers, C: number): Numbers {
  const dx = unwrittenLike(y);
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

/**
 * Row-wise operations in plain loops: the definition of each, for float32 and float64 arrays. Sums run in float64 and are
 * rounded once when stored.
 *
 *   relu     max(x, 0)                         1 where x > 0, else 0
 *   gelu     x·Φ(x)                            Φ(x) + x·φ(x)              Hendrycks & Gimpel 2016
 *   gelu-tanh  x·(1 + t)/2, t = tanh(√(2/π)·(x + 0.044715·x³)), as in GPT-2
 *   silu     x·σ(x)                            σ(x)·(1 + x·(1 − σ(x)))    also called swish
 *   sigmoid  σ(x) = 1/(1 + e^(−x))             σ(x)·(1 − σ(x))
 *   tanh     tanh(x)                           1 − tanh²(x)
 *   elu1     x + 1 where x > 0, else e^x       1, or e^x                  elu(x) + 1: Katharopoulos et al. 2020
 *
 * With x̂ the normalized row and g = dy·weight, a norm gives dx = r·(g − mean(g) − x̂·mean(g·x̂)), where RMS norm has no
 * mean(g), and r = 1/√(variance + eps).
 */
import type { BackendPart } from "../backend/contract.ts";
import type {
  AdamWOperation,
  AddOperation,
  ColumnSumsOperation,
  CrossEntropyOperation,
  MapName,
  NormBackwardOperation,
  NormOperation,
  RowwiseOperation,
} from "../backend/rowwise.ts";
import type { TensorStorage } from "../core/device/device.ts";
import type { Numbers } from "../core/numbers.ts";
import { normalCdf, normalDensity } from "./erf.ts";

/** A function over an array, and its derivative times dy. */
interface ElementMap {
  readonly forward: (x: Numbers, y: Numbers) => void;
  /** dx = f′(x)·dy, where y = f(x). */
  readonly backward: (x: Numbers, y: Numbers, dy: Numbers, dx: Numbers) => void;
}

/** √(2/π) and the factor of the cubic term in the tanh approximation of GELU. */
const SQRT_2_OVER_PI = 0.7978845608028654;
const CUBIC = 0.044715;

const sigmoidOf = (x: number): number => {
  const e = Math.exp(-Math.abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
};

const MAPS: Readonly<Record<MapName, ElementMap>> = {
  relu: {
    forward(x, y) {
      for (let n = 0; n < y.length; n++) y[n] = x[n] <= 0 ? 0 : x[n];
    },
    backward(x, _, dy, dx) {
      for (let n = 0; n < dx.length; n++) dx[n] = x[n] <= 0 ? 0 : dy[n];
    },
  },
  gelu: {
    forward(x, y) {
      for (let n = 0; n < y.length; n++) y[n] = x[n] * normalCdf(x[n]);
    },
    backward(x, _, dy, dx) {
      for (let n = 0; n < dx.length; n++) dx[n] = dy[n] * (normalCdf(x[n]) + x[n] * normalDensity(x[n]));
    },
  },
  "gelu-tanh": {
    forward(x, y) {
      for (let n = 0; n < y.length; n++) {
        const v = x[n];
        y[n] = 0.5 * v * (1 + Math.tanh(SQRT_2_OVER_PI * (v + CUBIC * v * v * v)));
      }
    },
    backward(x, _, dy, dx) {
      for (let n = 0; n < dx.length; n++) {
        const v = x[n];
        const t = Math.tanh(SQRT_2_OVER_PI * (v + CUBIC * v * v * v));
        dx[n] = dy[n] * 0.5 * (1 + t + v * (1 - t * t) * SQRT_2_OVER_PI * (1 + 3 * CUBIC * v * v));
      }
    },
  },
  silu: {
    forward(x, y) {
      for (let n = 0; n < y.length; n++) y[n] = x[n] * sigmoidOf(x[n]);
    },
    backward(x, _, dy, dx) {
      for (let n = 0; n < dx.length; n++) {
        const s = sigmoidOf(x[n]);
        dx[n] = dy[n] * s * (1 + x[n] * (1 - s));
      }
    },
  },
  sigmoid: {
    forward(x, y) {
      for (let n = 0; n < y.length; n++) y[n] = sigmoidOf(x[n]);
    },
    backward(_, y, dy, dx) {
      for (let n = 0; n < dx.length; n++) dx[n] = dy[n] * y[n] * (1 - y[n]);
    },
  },
  tanh: {
    forward(x, y) {
      for (let n = 0; n < y.length; n++) y[n] = Math.tanh(x[n]);
    },
    backward(_, y, dy, dx) {
      for (let n = 0; n < dx.length; n++) dx[n] = dy[n] * (1 - y[n] * y[n]);
    },
  },
  elu1: {
    forward(x, y) {
      for (let n = 0; n < y.length; n++) y[n] = x[n] > 0 ? x[n] + 1 : Math.exp(x[n]);
    },
    backward(x, y, dy, dx) {
      for (let n = 0; n < dx.length; n++) dx[n] = x[n] > 0 ? dy[n] : dy[n] * y[n];
    },
  },
};

const numbers = (storage: TensorStorage): Numbers => storage as Numbers;

/** Runs a row-wise operation. */
function rowwise(operation: RowwiseOperation): void {
  switch (operation.name) {
    case "map": {
      const { map, x, y } = operation;
      MAPS[map].forward(numbers(x), numbers(y));
      break;
    }
    case "map-backward": {
      const { map, x, y, dy, dx } = operation;
      MAPS[map].backward(numbers(x), numbers(y), numbers(dy), numbers(dx));
      break;
    }
    case "norm":
      norm(operation);
      break;
    case "norm-backward":
      normBackward(operation);
      break;
    case "column-sums":
      columnSums(operation);
      break;
    case "cross-entropy":
      crossEntropy(operation);
      break;
    case "adamw":
      adamw(operation);
      break;
    case "add":
      add(operation);
      break;
  }
}

/** Mean and 1/√(variance + eps) of the row that starts at `at`; a mean of 0 where the norm is not centered. */
function rowStats(
  x: Numbers,
  at: number,
  { C, centered, eps }: NormOperation | NormBackwardOperation,
): [number, number] {
  let mean = 0;
  if (centered) {
    for (let n = 0; n < C; n++) mean += x[at + n];
    mean /= C;
  }
  let squares = 0;
  for (let n = 0; n < C; n++) squares += (x[at + n] - mean) ** 2;
  return [mean, 1 / Math.sqrt(squares / C + eps)];
}

function norm(operation: NormOperation): void {
  const { C } = operation;
  const [x, y, stats] = [numbers(operation.x), numbers(operation.y), numbers(operation.stats)];
  const weight = operation.weight && numbers(operation.weight);
  const bias = operation.bias && numbers(operation.bias);
  for (let at = 0, row = 0; C > 0 && at < x.length; at += C, row++) {
    const [mean, r] = rowStats(x, at, operation);
    // The backward kernels of wasm read these; the loops below compute them again, unrounded.
    const high = Math.fround(mean);
    stats.set([high, mean - high, r, 0], 4 * row);
    for (let n = 0; n < C; n++)
      y[at + n] = (x[at + n] - mean) * r * (weight ? weight[n] : 1) + (bias ? bias[n] : 0);
  }
}

function normBackward(operation: NormBackwardOperation): void {
  const { C, centered } = operation;
  const [x, dy, dx] = [numbers(operation.x), numbers(operation.dy), numbers(operation.dx)];
  const weight = operation.weight && numbers(operation.weight);
  const [dWeight, dBias] = [new Float64Array(C), new Float64Array(C)];
  for (let at = 0; C > 0 && at < x.length; at += C) {
    const [mean, r] = rowStats(x, at, operation);
    let [sumG, sumGx] = [0, 0];
    for (let n = 0; n < C; n++) {
      const hat = (x[at + n] - mean) * r;
      const g = dy[at + n] * (weight ? weight[n] : 1);
      sumG += g;
      sumGx += g * hat;
      dWeight[n] += dy[at + n] * hat;
      dBias[n] += dy[at + n];
    }
    const [meanG, meanGx] = [centered ? sumG / C : 0, sumGx / C];
    for (let n = 0; n < C; n++)
      dx[at + n] = r * (dy[at + n] * (weight ? weight[n] : 1) - meanG - (x[at + n] - mean) * r * meanGx);
  }
  numbers(operation.dWeight).set(dWeight);
  numbers(operation.dBias).set(dBias);
}

function columnSums(operation: ColumnSumsOperation): void {
  const [x, sums] = [numbers(operation.x), numbers(operation.sums)];
  const total = new Float64Array(sums.length);
  for (let at = 0; sums.length > 0 && at < x.length; at += sums.length)
    for (let n = 0; n < sums.length; n++) total[n] += x[at + n];
  sums.set(total);
}

function crossEntropy({ logits, targets, V, count, dLogits, loss }: CrossEntropyOperation): void {
  const [x, dx] = [numbers(logits), numbers(dLogits)];
  let sum = 0;
  for (let row = 0; row < targets.length; row++)
    if (targets[row] >= 0) sum += rowLoss(x, row * V, V, targets[row], dx, 1 / count);
    else dx.fill(0, row * V, (row + 1) * V);
  numbers(loss)[0] = sum / count;
}

/** The loss of one row; writes its part of the gradient. */
function rowLoss(x: Numbers, start: number, V: number, target: number, dx: Numbers, weight: number): number {
  const end = start + V;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = start; i < end; i++) if (x[i] > max || x[i] !== x[i]) max = x[i];
  const atTarget = max - x[start + target];
  let sum = 0;
  for (let i = start; i < end; i++) {
    const e = Math.exp(x[i] - max);
    dx[i] = e;
    sum += e;
  }
  const factor = weight / sum;
  for (let i = start; i < end; i++) dx[i] *= factor;
  dx[start + target] -= weight;
  return Math.log(sum) + atTarget;
}

function adamw(operation: AdamWOperation): void {
  const { scale, beta1, oneMinusBeta1, beta2, oneMinusBeta2, weightDecayFactor, rate, biasCorrection2, eps } =
    operation.scalars;
  const [w, g, m, v] = [operation.w, operation.g, operation.m, operation.v].map(numbers);
  for (let i = 0; i < w.length; i++) {
    const gi = scale * g[i];
    const mi = beta1 * m[i] + oneMinusBeta1 * gi;
    const vi = beta2 * v[i] + oneMinusBeta2 * (gi * gi);
    m[i] = mi;
    v[i] = vi;
    w[i] = weightDecayFactor * w[i] - (rate * mi) / (Math.sqrt(vi) * biasCorrection2 + eps);
  }
}

function add(operation: AddOperation): void {
  const [a, b, y] = [operation.a, operation.b, operation.y].map(numbers);
  const { scale } = operation;
  if (scale === 1) for (let n = 0; n < y.length; n++) y[n] = a[n] + b[n];
  else for (let n = 0; n < y.length; n++) y[n] = a[n] + scale * b[n];
}

/** Row-wise operations. */
export const referenceRowwise: BackendPart<"rowwise"> = {
  name: "reference",
  device: "cpu",
  supports: () => undefined,
  rowwise,
};

/**
 * Functions of one number, applied to all of a tensor, each beside its derivative:
 *
 *   relu     max(x, 0)                         1 where x > 0, else 0
 *   gelu     x·Φ(x)                            Φ(x) + x·φ(x)              Hendrycks & Gimpel 2016
 *   gelu, approximate "tanh": x·(1 + t)/2, t = tanh(√(2/π)·(x + 0.044715·x³)), as GPT-2 has it
 *   silu     x·σ(x)                            σ(x)·(1 + x·(1 − σ(x)))    also called swish
 *   sigmoid  σ(x) = 1/(1 + e^(−x))             σ(x)·(1 − σ(x))
 *   tanh     tanh(x)                           1 − tanh²(x)
 *   elu1     x + 1 where x > 0, else e^x       1, or e^x                  elu(x) + 1: Katharopoulos et al. 2020
 */
import { formatValue, OptionError } from "../../core/errors.ts";
import { record } from "../../core/record.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { engineMap, engineMapBackward, type MapName } from "../../rowwise.ts";
import { normalCdf, normalDensity } from "../erf.ts";
import {
  type FloatTensor,
  isWorthTheEngine,
  made,
  type Numbers,
  numbersOf,
  operand,
  unwritten,
} from "./operand.ts";

/** A function over an array, and its derivative times the gradient that came in. */
interface Activation {
  readonly forward: (x: Numbers, y: Numbers) => void;
  /** dx = f′(x)·dy; y is what `forward` gave. */
  readonly backward: (x: Numbers, y: Numbers, dy: Numbers, dx: Numbers) => void;
}

/** √(2/π) and the cubic's factor of the tanh approximation of GELU. */
const SLOPE = 0.7978845608028654;
const CUBIC = 0.044715;

const sigmoidOf = (x: number): number => {
  const e = Math.exp(-Math.abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
};

const ACTIVATIONS = {
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
        y[n] = 0.5 * v * (1 + Math.tanh(SLOPE * (v + CUBIC * v * v * v)));
      }
    },
    backward(x, _, dy, dx) {
      for (let n = 0; n < dx.length; n++) {
        const v = x[n];
        const t = Math.tanh(SLOPE * (v + CUBIC * v * v * v));
        dx[n] = dy[n] * 0.5 * (1 + t + v * (1 - t * t) * SLOPE * (1 + 3 * CUBIC * v * v));
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
} satisfies Record<string, Activation>;

/** Those that the engine has for float32; the loops above are its definition, and serve float64 and small tensors. */
const ENGINE: readonly MapName[] = ["gelu", "gelu-tanh", "silu", "sigmoid", "tanh"];

/** The name of an activation: what blocks take as `activation`. */
export type ActivationName = keyof typeof ACTIVATIONS;

/** Throws unless there is an activation of this name. */
export function checkActivation(what: string, name: string): void {
  if (!Object.hasOwn(ACTIVATIONS, name))
    throw new OptionError(
      "activation",
      `${what}: activation must be one of ${Object.keys(ACTIVATIONS).join(", ")}, got ${formatValue(name)}`,
      { got: name },
    );
}

/** One of the activations by its name. */
export function activate(x: TensorLike, name: ActivationName): FloatTensor {
  checkActivation("activate", name);
  const { forward, backward }: Activation = ACTIVATIONS[name];
  const from = operand(name, "x", x);
  const input = numbersOf(from);
  const output = unwritten(from.dtype, input.length);
  const engine = ENGINE.includes(name as MapName) ? (name as MapName) : undefined;
  if (!(engine && isWorthTheEngine(input) && engineMap(engine, input, output as Float32Array)))
    forward(input, output);
  const y = made(output, from.shape);
  record({
    name,
    inputs: [from],
    outputs: [y],
    backward: ([d]) => {
      if (!d) return [undefined];
      const dx = unwritten(from.dtype, input.length);
      const dy = numbersOf(d);
      if (
        !(
          engine &&
          isWorthTheEngine(input) &&
          engineMapBackward(engine, input, dy as Float32Array, dx as Float32Array)
        )
      )
        backward(input, output, dy, dx);
      return [made(dx, from.shape)];
    },
  });
  return y;
}

/** max(x, 0). */
export const relu = (x: TensorLike): FloatTensor => activate(x, "relu");
/** x·σ(x), the activation of SwiGLU. */
export const silu = (x: TensorLike): FloatTensor => activate(x, "silu");
/** 1/(1 + e^(−x)). */
export const sigmoid = (x: TensorLike): FloatTensor => activate(x, "sigmoid");
/** tanh(x). */
export const tanh = (x: TensorLike): FloatTensor => activate(x, "tanh");
/** elu(x) + 1, which is positive: the feature map of linear attention. */
export const elu1 = (x: TensorLike): FloatTensor => activate(x, "elu1");

/** x·Φ(x): exact with `approximate: "none"` (default), or GPT-2's approximation by tanh. */
export function gelu(x: TensorLike, options: { approximate?: "none" | "tanh" } = {}): FloatTensor {
  const { approximate = "none" } = options;
  if (approximate !== "none" && approximate !== "tanh")
    throw new OptionError(
      "approximate",
      `gelu: approximate must be "none" or "tanh", got ${formatValue(approximate)}`,
      { got: approximate },
    );
  return activate(x, approximate === "tanh" ? "gelu-tanh" : "gelu");
}

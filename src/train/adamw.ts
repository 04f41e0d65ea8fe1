/**
 * AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101), as PyTorch computes it. For step t = 1, 2, …, gradient g:
 *
 *     w ← w · (1 − lr · decay)                     where the parameter decays
 *     m ← β₁·m + (1 − β₁)·g        v ← β₂·v + (1 − β₂)·g²
 *     w ← w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
 *
 * Parameters are updated in place: whoever holds the tensor sees the new numbers.
 */
import { arrayFor } from "../core/dtype.ts";
import { came, OptionError, ShapeError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import type { Gradients } from "./tape.ts";

/** How AdamW updates. */
export interface AdamWOptions {
  /** Learning rate where a step names none; default 1e-3. */
  readonly lr?: number;
  /** Decay rates of the two moments; default [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
  /** Default 1e-8. */
  readonly eps?: number;
  /** Weight decay; default 0.01. */
  readonly weightDecay?: number;
  /** Which parameters decay: by default those of rank 2 or more (matrices and embeddings), not biases and norms. */
  readonly decays?: (name: string, parameter: Tensor) => boolean;
}

/** What one step may change. */
export interface AdamWStep {
  /** Learning rate of this step. */
  readonly lr?: number;
  /** Multiplies every gradient first: `clipScale`'s answer. Default 1. */
  readonly scale?: number;
}

interface Group {
  readonly parameter: Tensor;
  readonly decays: boolean;
  readonly m: Tensor;
  readonly v: Tensor;
}

/** Parameters with their moments. */
export class AdamW {
  /** Steps done. */
  steps = 0;
  readonly #groups = new Map<string, Group>();
  readonly #options: Required<Omit<AdamWOptions, "decays">>;

  /** @param parameters by name: row-major float32 or float64 tensors, which are updated in place */
  constructor(parameters: ReadonlyMap<string, Tensor>, options: AdamWOptions = {}) {
    const { lr = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0.01 } = options;
    const share = (x: unknown) => typeof x === "number" && x >= 0 && x < 1;
    const positive = (x: unknown) => typeof x === "number" && Number.isFinite(x) && x >= 0;
    if (!(Array.isArray(betas) && betas.length === 2 && betas.every(share)))
      throw new OptionError("betas", `AdamW: betas must be two numbers in [0, 1), got ${came(betas)}`);
    for (const [name, value] of Object.entries({ lr, eps, weightDecay }))
      if (!positive(value))
        throw new OptionError(name, `AdamW: ${name} must be a number ≥ 0, got ${came(value)}`, {
          got: value,
        });
    this.#options = { lr, betas, eps, weightDecay };
    const decays = options.decays ?? ((_, parameter) => parameter.shape.length >= 2);
    for (const [name, parameter] of parameters) {
      if (!(parameter.dtype === "float32" || parameter.dtype === "float64") || !parameter.isContiguous())
        throw new ShapeError(
          "parameter",
          `AdamW: ${name} must be a row-major float32 or float64 tensor, got [${parameter.shape.join(", ")}] ${parameter.dtype}`,
          { name },
        );
      const [m, v] = [zerosLike(parameter), zerosLike(parameter)];
      this.#groups.set(name, { parameter, decays: decays(name, parameter), m, v });
    }
  }

  /** One step with these gradients. A parameter without a gradient stays as it is, moments included. */
  step(gradients: Gradients, { lr = this.#options.lr, scale = 1 }: AdamWStep = {}): void {
    const { betas, eps, weightDecay } = this.#options;
    this.steps++;
    const [b1, b2] = betas;
    const correct1 = 1 - b1 ** this.steps;
    const correct2 = 1 - b2 ** this.steps;
    for (const { parameter, decays, m, v } of this.#groups.values()) {
      const gradient = gradients.get(parameter);
      if (gradient === undefined) continue;
      const g = gradient.isContiguous() ? gradient : gradient.contiguous();
      update(parameter, g, m.data as Float32Array, v.data as Float32Array, {
        keep: decays ? 1 - lr * weightDecay : 1,
        scale,
        lr,
        b1,
        b2,
        correct1,
        correct2,
        eps,
      });
    }
  }

  /** The moments by name, `m.NAME` and `v.NAME`: what a checkpoint keeps beside `steps`. */
  moments(): Map<string, Tensor> {
    const tensors = new Map<string, Tensor>();
    for (const [name, { m, v }] of this.#groups) tensors.set(`m.${name}`, m).set(`v.${name}`, v);
    return tensors;
  }
}

interface Numbers {
  readonly keep: number;
  readonly scale: number;
  readonly lr: number;
  readonly b1: number;
  readonly b2: number;
  readonly correct1: number;
  readonly correct2: number;
  readonly eps: number;
}

/** The formula above over one parameter. */
function update(parameter: Tensor, gradient: Tensor, m: Float32Array, v: Float32Array, n: Numbers): void {
  const { keep, scale, lr, b1, b2, correct1, correct2, eps } = n;
  const w = parameter.data as Float32Array;
  const g = gradient.data as Float32Array;
  const [wStart, gStart] = [parameter.offset, gradient.offset];
  for (let i = 0; i < m.length; i++) {
    const gi = scale * g[gStart + i];
    const mi = b1 * m[i] + (1 - b1) * gi;
    const vi = b2 * v[i] + (1 - b2) * (gi * gi);
    m[i] = mi;
    v[i] = vi;
    w[wStart + i] = w[wStart + i] * keep - (lr * (mi / correct1)) / (Math.sqrt(vi / correct2) + eps);
  }
}

function zerosLike({ shape, dtype, size }: Tensor): Tensor {
  return new Tensor(arrayFor(dtype, size), shape, dtype);
}

/** √(Σ g²) over all gradients, in float64. */
export function gradientNorm(gradients: Gradients): number {
  let sum = 0;
  for (const gradient of gradients.values()) {
    const { data, offset, size } = gradient.isContiguous() ? gradient : gradient.contiguous();
    const g = data as Float32Array;
    for (let i = offset; i < offset + size; i++) sum += g[i] * g[i];
  }
  return Math.sqrt(sum);
}

/**
 * What gradients must be multiplied with so that their norm is at most `maxNorm`: min(1, maxNorm / norm). Give it to
 * `AdamW.step`, which multiplies as it reads.
 */
export function clipScale(norm: number, maxNorm: number): number {
  if (!(maxNorm > 0))
    throw new OptionError("maxNorm", `clipScale: maxNorm must be a number > 0, got ${came(maxNorm)}`);
  return norm > maxNorm ? maxNorm / norm : 1;
}

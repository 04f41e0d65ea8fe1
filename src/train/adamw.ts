/**
 * Adam (Kingma and Ba 2014, arXiv 1412.6980) and AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101), as PyTorch computes them. For
 * step t = 1, 2, … and gradient g:
 *
 *     w ← w · (1 − lr · decay)                     AdamW, where the parameter decays
 *     g ← g + decay · w                            Adam, where the parameter decays
 *     m ← β₁·m + (1 − β₁)·g        v ← β₂·v + (1 − β₂)·g²
 *     w ← w − lr · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
 */

import { rowwise } from "../api/rowwise.ts";
import type { TensorStorage } from "../core/device/device.ts";
import { checkCount, refuseValue } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import type { Tensor } from "../core/tensor.ts";
import { storageOf } from "../nn/ops/operand.ts";
import type { Decays, Group, OptimizerStep, StepRates } from "./optimizer.ts";
import { checkNumbers, decayedGradient, Optimizer } from "./optimizer.ts";

/** How Adam and AdamW update. */
export interface AdamWOptions {
  /** Learning rate of steps that do not give one; default 1e-3. */
  readonly lr?: number;
  /** Decay rates of the two moments; default [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
  /** Default 1e-8. */
  readonly eps?: number;
  /** Weight decay; default 0.01 for AdamW, 0 for Adam. */
  readonly weightDecay?: number;
  /** Which parameters decay. Default "all", as in PyTorch; "matrices" leaves out biases and norms. */
  readonly decays?: Decays;
}

/** What one step may change. */
export type AdamWStep = OptimizerStep;

const OPTIONS = ["lr", "betas", "eps", "weightDecay", "decays"] as const;

/** The steps of Adam; `isDecoupled` decays the weights instead of adding the decay to the gradient. */
abstract class Moments extends Optimizer {
  readonly #options: Required<Omit<AdamWOptions, "decays">>;
  readonly #isDecoupled: boolean;

  constructor(
    what: string,
    parameters: ReadonlyMap<string, Tensor> | readonly Tensor[],
    options: AdamWOptions,
    isDecoupled: boolean,
  ) {
    checkOptionNames(what, options, OPTIONS);
    const { lr = 1e-3, betas = [0.9, 0.999], eps = 1e-8, weightDecay = isDecoupled ? 0.01 : 0 } = options;
    const share = (x: unknown) => typeof x === "number" && x >= 0 && x < 1;
    if (!(Array.isArray(betas) && betas.length === 2 && Array.from(betas).every(share)))
      refuseValue(what, "betas", "two numbers in [0, 1)", betas);
    checkNumbers(what, { lr, eps, weightDecay });
    super(what, parameters, { lr, decays: options.decays }, ["m", "v"]);
    this.#options = { lr, betas: [betas[0], betas[1]], eps, weightDecay };
    this.#isDecoupled = isDecoupled;
  }

  /** @internal */
  protected override update(group: Group, gradient: TensorStorage, rates: StepRates): void {
    const { lr, scale } = rates;
    const { betas, eps, weightDecay } = this.#options;
    const [beta1, beta2] = betas;
    const isDecoupled = this.#isDecoupled;
    const isCoupled = !isDecoupled && group.decays && weightDecay !== 0;
    const scalars = {
      scale: isCoupled ? 1 : scale,
      beta1,
      beta2,
      oneMinusBeta1: 1 - beta1,
      oneMinusBeta2: 1 - beta2,
      weightDecayFactor: isDecoupled && group.decays ? 1 - lr * weightDecay : 1,
      rate: lr / (1 - beta1 ** this.steps),
      biasCorrection2: 1 / Math.sqrt(1 - beta2 ** this.steps),
      eps,
    };
    const g = isCoupled ? decayedGradient(group, gradient, rates, weightDecay) : gradient;
    const [w, m, v] = [group.parameter, group.moments.get("m")!, group.moments.get("v")!].map((t) =>
      storageOf(t),
    );
    rowwise({ name: "adamw", w, g, m, v, scalars });
  }
}

/**
 * AdamW: weight decay apart from the gradient.
 *
 * @example
 * const layer = new Linear(8, 8, { seed: 1 });
 * const optimizer = new AdamW(layer.parameters(), { lr: 1e-3 });
 * const tape = new Tape();
 * const loss = tape.run(() => sum(layer.forward(x)));
 * optimizer.step(tape.gradients(loss, [...layer.parameters().values()]));
 */
export class AdamW extends Moments {
  /**
   * @param parameters by name, as `Module.parameters()` gives them, or a list (named "0", "1", …): row-major float32 or
   *   float64 tensors, which are updated in place
   */
  constructor(parameters: ReadonlyMap<string, Tensor> | readonly Tensor[], options: AdamWOptions = {}) {
    checkCount("AdamW", arguments, 2);
    super("AdamW", parameters, options, true);
  }
}

/**
 * Adam: `weightDecay`, 0 by default, is added to the gradient.
 *
 * @example
 * const layer = new Linear(8, 8, { seed: 1 });
 * const optimizer = new Adam(layer.parameters(), { lr: 1e-3 });
 */
export class Adam extends Moments {
  /** @param parameters as those of `AdamW` */
  constructor(parameters: ReadonlyMap<string, Tensor> | readonly Tensor[], options: AdamWOptions = {}) {
    checkCount("Adam", arguments, 2);
    super("Adam", parameters, options, false);
  }
}

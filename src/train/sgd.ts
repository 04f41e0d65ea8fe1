/**
 * Stochastic gradient descent, as PyTorch computes it. For gradient g:
 *
 *     g ← g + decay · w                            where the parameter decays
 *     b ← momentum · b + g                         g ← b, or g + momentum · b (Nesterov)
 *     w ← w − lr · g
 */

import { assign } from "../api/array.ts";
import { rowwise } from "../api/rowwise.ts";
import type { TensorStorage } from "../core/device/device.ts";
import { checkCount, formatValue, OptionError } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import type { Tensor } from "../core/tensor.ts";
import { storageOf } from "../nn/ops/operand.ts";
import type { Decays, Group, StepRates } from "./optimizer.ts";
import { checkNumbers, decayedGradient, Optimizer, sumOf } from "./optimizer.ts";

/** How SGD updates. */
export interface SGDOptions {
  /** Learning rate of steps that do not give one; default 1e-3. */
  readonly lr?: number;
  /** Default 0: no moment is stored. */
  readonly momentum?: number;
  /** True: the gradient is taken ahead of the moment. Default false. */
  readonly nesterov?: boolean;
  /** Weight decay, added to the gradient; default 0. */
  readonly weightDecay?: number;
  /** Which parameters decay. Default "all". */
  readonly decays?: Decays;
}

/**
 * Gradient descent with a momentum.
 *
 * @example
 * const layer = new Linear(8, 8, { seed: 1 });
 * const optimizer = new SGD(layer.parameters(), { lr: 0.1, momentum: 0.9 });
 */
export class SGD extends Optimizer {
  readonly #momentum: number;
  readonly #nesterov: boolean;
  readonly #weightDecay: number;

  /** @param parameters as those of `AdamW` */
  constructor(parameters: ReadonlyMap<string, Tensor> | readonly Tensor[], options: SGDOptions = {}) {
    checkCount("SGD", arguments, 2);
    checkOptionNames("SGD", options, ["lr", "momentum", "nesterov", "weightDecay", "decays"]);
    const { lr = 1e-3, momentum = 0, nesterov = false, weightDecay = 0, decays } = options;
    checkNumbers("SGD", { lr, momentum, weightDecay });
    if (momentum >= 1)
      throw new OptionError(
        "momentum",
        `SGD: momentum must be below 1, or each step adds to all steps before, got ${momentum}`,
        { got: momentum },
      );
    if (typeof nesterov !== "boolean" || (nesterov && momentum === 0))
      throw new OptionError(
        "nesterov",
        `SGD: nesterov must be true or false, and true needs a momentum > 0; got ${formatValue(nesterov)} with momentum ${momentum}`,
        { got: nesterov },
      );
    super("SGD", parameters, { lr, decays }, momentum === 0 ? [] : ["b"]);
    this.#momentum = momentum;
    this.#nesterov = nesterov;
    this.#weightDecay = weightDecay;
  }

  /** @internal */
  protected override update(group: Group, gradient: TensorStorage, rates: StepRates): void {
    const { parameter, moments } = group;
    const momentum = this.#momentum;
    let change = decayedGradient(group, gradient, rates, this.#weightDecay);
    const b = moments.get("b");
    if (b) {
      const next = sumOf(rates, parameter, change, b.storage, momentum);
      assign({ name: "assign", x: next, y: b });
      change = this.#nesterov
        ? sumOf(rates, parameter, change, next.storage, momentum).storage
        : next.storage;
    }
    const w = storageOf(parameter);
    rowwise({ name: "add", a: w, b: change, scale: -rates.lr, y: w });
  }
}

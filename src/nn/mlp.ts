/** Feed-forward networks, applied to each position separately: one hidden layer, plain or gated. */
import { checkCount } from "../core/errors.ts";
import type { TensorLike } from "../core/tensor.ts";
import { checkLayerOptions, checkSizes, generatorOf, type LayerOptions } from "./initialize.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import { type ActivationName, activate, checkActivation, silu } from "./ops/activations.ts";
import { multiply } from "./ops/arithmetic.ts";
import { checkDropout, layerDropout } from "./ops/dropout.ts";
import type { FloatTensorOf } from "./ops/operand.ts";

/**
 * linear2(activation(linear1(x))): Vaswani et al. 2017, equation 2, with GELU in place of ReLU by default.
 *
 * @example
 * new MLP(8, { seed: 1 }).forward(x).shape; // → [2, 3, 8]
 */
export class MLP extends Module {
  readonly linear1: Linear;
  readonly linear2: Linear;
  readonly activation: ActivationName;
  readonly dropoutP: number;

  /** @param options `hidden` size, default 4·size; `activation`, default "gelu"; `dropoutP` of the hidden layer, default 0; `bias`, default true */
  constructor(
    size: number,
    options: LayerOptions & {
      hidden?: number;
      activation?: ActivationName;
      dropoutP?: number;
      bias?: boolean;
    } = {},
  ) {
    super();
    checkLayerOptions("MLP", arguments, 2, options, ["hidden", "activation", "dropoutP", "bias"]);
    checkSizes("MLP", { size });
    const { hidden = 4 * size, activation = "gelu", dropoutP = 0, bias, dtype } = options;
    checkSizes("MLP", { hidden });
    checkActivation("MLP", activation);
    checkDropout("MLP", dropoutP);
    const seed = generatorOf(options.seed);
    this.linear1 = new Linear(size, hidden, { bias, dtype, seed });
    this.linear2 = new Linear(hidden, size, { bias, dtype, seed });
    this.activation = activation;
    this.dropoutP = dropoutP;
  }

  /** x [..., C] to [..., C]. */
  forward<T extends TensorLike>(x: T): FloatTensorOf<T> {
    checkCount("MLP.forward", arguments, 1);
    const inner = activate(this.linear1.forward(x), this.activation) as FloatTensorOf<T>;
    return this.linear2.forward(layerDropout(inner, this.dropoutP)) as FloatTensorOf<T>;
  }
}

/**
 * down_proj(silu(gate_proj(x)) · up_proj(x)): Shazeer 2020, with Llama's names.
 *
 * @example
 * new SwiGLU(8, { seed: 1 }).forward(x).shape; // → [2, 3, 8]
 */
export class SwiGLU extends Module {
  readonly gate_proj: Linear;
  readonly up_proj: Linear;
  readonly down_proj: Linear;

  /** @param options `hidden` size, default 8/3·size rounded up; `bias`, default false */
  constructor(size: number, options: LayerOptions & { hidden?: number; bias?: boolean } = {}) {
    super();
    checkLayerOptions("SwiGLU", arguments, 2, options, ["hidden", "bias"]);
    checkSizes("SwiGLU", { size });
    const { hidden = Math.ceil((8 * size) / 3), bias = false, dtype } = options;
    checkSizes("SwiGLU", { hidden });
    const seed = generatorOf(options.seed);
    this.gate_proj = new Linear(size, hidden, { bias, dtype, seed });
    this.up_proj = new Linear(size, hidden, { bias, dtype, seed });
    this.down_proj = new Linear(hidden, size, { bias, dtype, seed });
  }

  /** x [..., C] to [..., C]. */
  forward<T extends TensorLike>(x: T): FloatTensorOf<T> {
    checkCount("SwiGLU.forward", arguments, 1);
    const gated = multiply(silu(this.gate_proj.forward(x)), this.up_proj.forward(x));
    return this.down_proj.forward(gated) as FloatTensorOf<T>;
  }
}

/** The linear map as a layer: y = x·Wᵀ + b. */
import { checkCount } from "../core/errors.ts";
import type { TensorLike } from "../core/tensor.ts";
import type { LayerOptions } from "./initialize.ts";
import { checkLayerOptions, checkSizes, fillLinear, generatorOf, parameter } from "./initialize.ts";
import { Module } from "./module.ts";
import type { FloatTensor, FloatTensorOf } from "./ops/operand.ts";
import { linear } from "./ops/products.ts";

/**
 * y = x·Wᵀ + b over the last axis. Weight and bias start uniform within ±1/√in.
 *
 * @example
 * new Linear(8, 3, { seed: 1 }).forward(x).shape; // → [2, 3, 3]
 */
export class Linear extends Module {
  /** [out, in] */
  readonly weight: FloatTensor;
  /** [out] */
  readonly bias?: FloatTensor;

  /** @param options `bias: false` leaves the bias out */
  constructor(inputs: number, outputs: number, options: LayerOptions & { bias?: boolean } = {}) {
    super();
    checkLayerOptions("Linear", arguments, 3, options, ["bias"]);
    checkSizes("Linear", { inputs, outputs });
    const { dtype, bias = true } = options;
    const seed = generatorOf(options.seed);
    this.weight = fillLinear(parameter([outputs, inputs], dtype), seed, inputs);
    if (bias) this.bias = fillLinear(parameter([outputs], dtype), seed, inputs);
  }

  /** x [..., in] to [..., out]. */
  forward<T extends TensorLike>(x: T): FloatTensorOf<T> {
    checkCount("Linear.forward", arguments, 1);
    return linear(x, this.weight, this.bias);
  }
}

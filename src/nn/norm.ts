/** Layer norm and RMS norm as layers, with a weight for each of C numbers. */
import { checkCount } from "../core/errors.ts";
import type { TensorLike } from "../core/tensor.ts";
import { checkLayerOptions, checkSizes, fill, type LayerOptions, parameter } from "./initialize.ts";
import { Module } from "./module.ts";
import { checkEps, layerNorm, rmsNorm } from "./ops/normalize.ts";
import type { FloatTensor, FloatTensorOf } from "./ops/operand.ts";

/**
 * (x − mean)/√(variance + eps)·weight + bias over the last axis. Weight starts at 1, bias at 0; `eps` is 1e-5.
 *
 * @example
 * new LayerNorm(8).forward(x).shape; // → [2, 3, 8]
 */
export class LayerNorm extends Module {
  /** [C] */
  readonly weight: FloatTensor;
  /** [C] */
  readonly bias?: FloatTensor;
  readonly eps: number;

  /** @param options `bias: false` leaves the bias out */
  constructor(size: number, options: LayerOptions & { eps?: number; bias?: boolean } = {}) {
    super();
    checkLayerOptions("LayerNorm", arguments, 2, options, ["eps", "bias"]);
    checkSizes("LayerNorm", { size });
    const { dtype, eps = 1e-5, bias = true } = options;
    checkEps("LayerNorm", eps);
    this.weight = fill(parameter([size], dtype), 1);
    if (bias) this.bias = parameter([size], dtype);
    this.eps = eps;
  }

  /** x `[..., C]` normalized over its last axis; the same shape. */
  forward<T extends TensorLike>(x: T): FloatTensorOf<T> {
    checkCount("LayerNorm.forward", arguments, 1);
    return layerNorm(x, this.weight, this.bias, { eps: this.eps });
  }
}

/**
 * x/√(mean(x²) + eps)·weight over the last axis. Weight starts at 1; `eps` is 1e-6.
 *
 * @example
 * new RMSNorm(8).forward(x).shape; // → [2, 3, 8]
 */
export class RMSNorm extends Module {
  /** [C] */
  readonly weight: FloatTensor;
  readonly eps: number;

  constructor(size: number, options: LayerOptions & { eps?: number } = {}) {
    super();
    checkLayerOptions("RMSNorm", arguments, 2, options, ["eps"]);
    checkSizes("RMSNorm", { size });
    const { dtype, eps = 1e-6 } = options;
    checkEps("RMSNorm", eps);
    this.weight = fill(parameter([size], dtype), 1);
    this.eps = eps;
  }

  /** x `[..., C]` divided by its root mean square over the last axis; the same shape. */
  forward<T extends TensorLike>(x: T): FloatTensorOf<T> {
    checkCount("RMSNorm.forward", arguments, 1);
    return rmsNorm(x, this.weight, { eps: this.eps });
  }
}

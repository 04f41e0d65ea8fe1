/**
 * The gated recurrent unit (Cho et al. 2014), in PyTorch's form and names: rows r, z, n of each weight in this order,
 *
 *   r = σ(Wᵢᵣx + bᵢᵣ + Wₕᵣh + bₕᵣ)      z = σ(Wᵢ_z x + bᵢ_z + Wₕ_z h + bₕ_z)
 *   n = tanh(Wᵢₙx + bᵢₙ + r·(Wₕₙh + bₕₙ))      h′ = n + z·(h − n)
 */
import { checkCount, formatTensor, ShapeError } from "../../core/errors.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { sameDevice, type Tensor, type TensorLike } from "../../core/tensor.ts";
import type { LayerOptions } from "../initialize.ts";
import { checkLayerOptions, checkSizes, fillLinear, generatorOf, parameter } from "../initialize.ts";
import { Module } from "../module.ts";
import { sigmoid, tanh } from "../ops/activations.ts";
import { add, multiply, sub } from "../ops/arithmetic.ts";
import type { FloatTensor, FloatTensorOf, Precision, PrecisionOf } from "../ops/operand.ts";
import { checkShapeIs, constantLike, keyMaskOperand, operand, zerosLike } from "../ops/operand.ts";
import { linear } from "../ops/products.ts";
import { where } from "../ops/select.ts";
import { concat, reshape, slice, split } from "../ops/shapes.ts";

/** One step: the gates' inputs Wᵢx + bᵢ [B, 3H] and Wₕh + bₕ [B, 3H], and h [B, H], to h′ [B, H]. */
function gates<T extends FloatTensor>(fromInput: FloatTensor, fromState: FloatTensor, h: T): T {
  const H = h.shape[h.shape.length - 1];
  const [ir, iz, iN] = split(fromInput, [H, H, H]);
  const [hr, hz, hN] = split(fromState, [H, H, H]);
  const r = sigmoid(add(ir, hr));
  const z = sigmoid(add(iz, hz));
  const n = tanh(add(iN, multiply(r, hN)));
  return add(n, multiply(z, sub(h, n))) as FloatTensor as T;
}

/**
 * One step of a GRU. All parameters start uniform within ±1/√hidden.
 *
 * @example
 * new GRUCell(8, 4, { seed: 1 }).forward(ones([2, 8]), zeros([2, 4])).shape; // → [2, 4]
 */
export class GRUCell extends Module {
  /** [3·hidden, inputs] */
  readonly weight_ih: FloatTensor;
  /** [3·hidden, hidden] */
  readonly weight_hh: FloatTensor;
  /** [3·hidden] */
  readonly bias_ih: FloatTensor;
  /** [3·hidden] */
  readonly bias_hh: FloatTensor;

  constructor(inputs: number, hidden: number, options: LayerOptions = {}) {
    super();
    checkLayerOptions("GRUCell", arguments, 3, options);
    checkSizes("GRUCell", { inputs, hidden });
    const seed = generatorOf(options.seed);
    const drawn = (...shape: number[]) => fillLinear(parameter(shape, options.dtype), seed, hidden);
    this.weight_ih = drawn(3 * hidden, inputs);
    this.weight_hh = drawn(3 * hidden, hidden);
    this.bias_ih = drawn(3 * hidden);
    this.bias_hh = drawn(3 * hidden);
  }

  /** x [B, inputs] and h [B, hidden] to the next h. */
  forward<T extends TensorLike>(x: TensorLike, h: T): FloatTensorOf<T> {
    checkCount("GRUCell.forward", arguments, 2);
    const state = operand("GRUCell", "h", h);
    const want = [...operand("GRUCell", "x", x).shape.slice(0, -1), this.weight_hh.shape[1]];
    if (state.shape.join() !== want.join())
      throw new ShapeError("h", `GRUCell: h must be [${want.join(", ")}], got ${formatTensor("h", state)}`);
    return gates(linear(x, this.weight_ih, this.bias_ih), linear(state, this.weight_hh, this.bias_hh), state);
  }
}

/** Result of a GRU over a sequence. */
export interface GruOutput<D extends Precision = Precision> {
  /** [B, N, hidden], or with both directions [B, N, 2·hidden]: the forward direction first. */
  readonly output: FloatTensor<D>;
  /** The state after the last step [B, hidden]; in the reverse direction, after the first position. */
  readonly last: readonly FloatTensor<D>[];
}

/**
 * A GRU over a sequence, in one or both directions; one layer. Parameter names end in `_l0`, or `_l0_reverse` for the reverse
 * direction.
 *
 * @example
 * new GRU(8, 4, { bidirectional: true, seed: 1 }).forward(x).output.shape; // → [2, 3, 8]
 */
export class GRU extends Module {
  readonly weight_ih_l0: FloatTensor;
  readonly weight_hh_l0: FloatTensor;
  readonly bias_ih_l0: FloatTensor;
  readonly bias_hh_l0: FloatTensor;
  readonly weight_ih_l0_reverse?: FloatTensor;
  readonly weight_hh_l0_reverse?: FloatTensor;
  readonly bias_ih_l0_reverse?: FloatTensor;
  readonly bias_hh_l0_reverse?: FloatTensor;
  readonly hidden: number;

  /** @param options `bidirectional`: adds the reverse direction; default false */
  constructor(inputs: number, hidden: number, options: LayerOptions & { bidirectional?: boolean } = {}) {
    super();
    checkLayerOptions("GRU", arguments, 3, options, ["bidirectional"]);
    checkSizes("GRU", { inputs, hidden });
    const seed = generatorOf(options.seed);
    const drawn = (...shape: number[]) => fillLinear(parameter(shape, options.dtype), seed, hidden);
    const one = () => [
      drawn(3 * hidden, inputs),
      drawn(3 * hidden, hidden),
      drawn(3 * hidden),
      drawn(3 * hidden),
    ];
    [this.weight_ih_l0, this.weight_hh_l0, this.bias_ih_l0, this.bias_hh_l0] = one();
    if (options.bidirectional)
      [
        this.weight_ih_l0_reverse,
        this.weight_hh_l0_reverse,
        this.bias_ih_l0_reverse,
        this.bias_hh_l0_reverse,
      ] = one();
    this.hidden = hidden;
  }

  /**
   * x [B, N, inputs]; the state starts at 0.
   *
   * @param options `keyMask` bool [B, N]: padding positions leave the state unchanged
   */
  forward<T extends TensorLike>(x: T, options?: { keyMask?: TensorLike | Tensor }): GruOutput<PrecisionOf<T>>;
  forward(x: TensorLike, options: { keyMask?: TensorLike | Tensor } = {}): GruOutput {
    checkCount("GRU.forward", arguments, 2);
    checkOptionNames("GRU", options, ["keyMask"]);
    const from = operand("GRU", "x", x);
    if (from.shape.length !== 3 || from.shape[1] === 0)
      throw new ShapeError(
        "sequence",
        `GRU: expected [B, N, inputs] with N ≥ 1, got ${formatTensor("x", from)}`,
        { shape: from.shape },
      );
    const real = options.keyMask && realSteps(from, options.keyMask);
    const directions = [
      this.#run(from, real, false, this.weight_ih_l0, this.weight_hh_l0, this.bias_ih_l0, this.bias_hh_l0),
    ];
    if (this.weight_ih_l0_reverse)
      directions.push(
        this.#run(
          from,
          real,
          true,
          this.weight_ih_l0_reverse,
          this.weight_hh_l0_reverse!,
          this.bias_ih_l0_reverse!,
          this.bias_hh_l0_reverse!,
        ),
      );
    const outputs = directions.map(({ output }) => output);
    return {
      output: outputs.length === 1 ? outputs[0] : concat(outputs, -1),
      last: directions.map(({ last }) => last),
    };
  }

  #run(
    x: FloatTensor,
    real: FloatTensor | undefined,
    backwards: boolean,
    weightIn: FloatTensor,
    weightState: FloatTensor,
    biasIn: FloatTensor,
    biasState: FloatTensor,
  ): { output: FloatTensor; last: FloatTensor } {
    const [B, N] = x.shape;
    const fromInput = split(linear(x, weightIn, biasIn), new Array(N).fill(1), 1);
    const steps: FloatTensor[] = new Array(N);
    let h = zerosLike(x, [B, this.hidden]);
    for (let n = 0; n < N; n++) {
      const at = backwards ? N - 1 - n : n;
      const next = gates(reshape(fromInput[at], [B, 3 * this.hidden]), linear(h, weightState, biasState), h);
      // A padding step keeps the state bit for bit.
      h = real ? where(slice(real, 1, at, at + 1), next, h) : next;
      steps[at] = reshape(h, [B, 1, this.hidden]);
    }
    return { output: concat(steps, 1), last: h };
  }
}

/** 1 at real steps, 0 at padding, [B, N], with the dtype and on the device of x. */
function realSteps(x: FloatTensor, keyMask: TensorLike): FloatTensor {
  const mask = keyMaskOperand("GRU", keyMask);
  checkShapeIs("GRU", "keyMask", mask, x.shape.slice(0, 2));
  sameDevice("GRU", [
    ["x", x.device],
    ["keyMask", mask.device],
  ]);
  return where(mask, constantLike(x, 1), constantLike(x, 0));
}

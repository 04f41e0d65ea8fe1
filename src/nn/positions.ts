/** Position encodings as layers: learned vectors, sinusoids, rotations. The formulas are in ops/rope.ts. */
import { checkCount, formatValue, OptionError, refuseValue } from "../core/errors.ts";
import { checkPrecision } from "../core/numbers.ts";
import { checkOptionNames } from "../core/option-names.ts";
import type { TensorLike } from "../core/tensor.ts";
import { checkLayerOptions, checkSizes, fillNormal, type LayerOptions, parameter } from "./initialize.ts";
import { Module } from "./module.ts";
import type { FloatTensor, FloatTensorOf, Precision } from "./ops/operand.ts";
import {
  checkBase,
  checkRope,
  ROPE_OPTIONS,
  ROPE_SYNONYMS,
  type RopeOptions,
  rope,
  sinusoidalPositions,
} from "./ops/rope.ts";
import { slice } from "./ops/shapes.ts";

/**
 * One learned vector per position. Starts with normal numbers of standard deviation `std` (1).
 *
 * @example
 * add(x, new LearnedPositions(64, 8, { seed: 1 }).forward(3)).shape; // → [2, 3, 8]
 */
export class LearnedPositions extends Module {
  /** [length, C] */
  readonly weight: FloatTensor;

  constructor(length: number, size: number, options: LayerOptions & { std?: number } = {}) {
    super();
    checkLayerOptions("LearnedPositions", arguments, 3, options, ["std"]);
    checkSizes("LearnedPositions", { length, size });
    this.weight = fillNormal(parameter([length, size], options.dtype), options.seed, options.std);
  }

  /** Vectors of positions offset … offset + N − 1: [N, C], to be added to [..., N, C]. */
  forward(N: number, offset = 0): FloatTensor {
    checkCount("LearnedPositions.forward", arguments, 2);
    const length = this.weight.shape[0];
    if (!(Number.isInteger(N) && Number.isInteger(offset) && offset >= 0 && N >= 0 && offset + N <= length))
      throw new OptionError(
        "positions",
        `LearnedPositions: there are ${length} positions; got N = ${formatValue(N)} from offset ${formatValue(offset)} on${Number.isInteger(N) ? "" : "; N is a count, such as x.shape.at(-2)"}`,
        { length, N, offset },
      );
    return slice(this.weight, 0, offset, offset + N);
  }
}

/**
 * Sinusoids, C numbers per position; there are no parameters.
 *
 * @example
 * add(x, new SinusoidalPositions(8).forward(3)).shape; // → [2, 3, 8]
 */
export class SinusoidalPositions extends Module {
  readonly size: number;
  readonly base: number;
  readonly dtype: Precision;

  constructor(size: number, options: { base?: number; dtype?: Precision } = {}) {
    super();
    checkCount("SinusoidalPositions", arguments, 2);
    checkOptionNames("SinusoidalPositions", options, ["base", "dtype"]);
    const { base = 10_000, dtype = "float32" } = options;
    checkSizes("SinusoidalPositions", { size });
    if (size % 2 !== 0) refuseValue("SinusoidalPositions", "size", "even", size);
    checkBase("SinusoidalPositions", base);
    checkPrecision("SinusoidalPositions", dtype);
    this.size = size;
    this.base = base;
    this.dtype = dtype;
  }

  /** Sinusoids of positions offset … offset + N − 1: [N, C], to be added to [..., N, C]. */
  forward(N: number, offset = 0): FloatTensor {
    checkCount("SinusoidalPositions.forward", arguments, 2);
    return sinusoidalPositions(N, this.size, {
      base: this.base,
      dtype: this.dtype,
      device: this.device,
      offset,
    });
  }
}

/**
 * Rotary positions for queries and keys; there are no parameters.
 *
 * @example
 * new MultiHeadAttention(8, 2, { rope: new Rope() }).forward(x).output.shape; // → [2, 3, 8]
 */
export class Rope extends Module {
  readonly options: Readonly<Omit<RopeOptions, "offset" | "positions">>;

  /** @param options as `rope` takes them: layout, base, rotaryDim, frequencies, axis */
  constructor(options: Omit<RopeOptions, "offset" | "positions"> = {}) {
    super();
    checkCount("Rope", arguments, 1);
    checkOptionNames("Rope", options, ROPE_OPTIONS, ROPE_SYNONYMS);
    checkRope("Rope", options);
    this.options = options;
  }

  /** Rotates each pair of x [..., H, N, D] by its position's angle. Row 0 is at position `at`, or row n at `at[n]`. */
  forward<T extends TensorLike>(x: T, at: number | ArrayLike<number> = 0): FloatTensorOf<T> {
    checkCount("Rope.forward", arguments, 2);
    return rope(x, { ...this.options, ...(typeof at === "number" ? { offset: at } : { positions: at }) });
  }
}

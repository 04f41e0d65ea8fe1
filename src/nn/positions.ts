/** What tells a model where a token stands: learned vectors, sinusoids, rotations. Formulas: ops/rope.ts. */
import { formatValue, OptionError } from "../core/errors.ts";
import { checkOptionNames } from "../core/option-names.ts";
import type { TensorLike } from "../core/tensor.ts";
import { checkLayerOptions, checkSizes, fillNormal, type LayerOptions, parameter } from "./initialize.ts";
import { Module } from "./module.ts";
import type { FloatTensor, Precision } from "./ops/operand.ts";
import { ROPE_OPTIONS, type RopeOptions, rope, sinusoidalPositions } from "./ops/rope.ts";
import { slice } from "./ops/shapes.ts";

/**
 * One learned vector a position. Starts with normal numbers of standard deviation `std` (1).
 *
 * @example
 * add(x, new LearnedPositions(64, 8, { seed: 1 }).forward(3)).shape; // → [2, 3, 8]
 */
export class LearnedPositions extends Module {
  /** [length, C] */
  readonly weight: FloatTensor;

  constructor(length: number, size: number, options: LayerOptions & { std?: number } = {}) {
    super();
    checkLayerOptions("LearnedPositions", options, ["std"]);
    checkSizes("LearnedPositions", { length, size });
    this.weight = fillNormal(parameter([length, size], options.dtype), options.seed, options.std);
  }

  /** Vectors of positions offset … offset + N − 1: [N, C], to be added to [..., N, C]. */
  forward(N: number, offset = 0): FloatTensor {
    const length = this.weight.shape[0];
    if (!(Number.isInteger(N) && Number.isInteger(offset) && offset >= 0 && N >= 0 && offset + N <= length))
      throw new OptionError(
        "positions",
        `LearnedPositions: there are ${length} positions, asked for ${formatValue(N)} from ${formatValue(offset)} on`,
        { length, N, offset },
      );
    return slice(this.weight, 0, offset, offset + N);
  }
}

/**
 * Sinusoids of C numbers a position; nothing is learned.
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
    checkOptionNames("SinusoidalPositions", options, ["base", "dtype"]);
    const { base = 10_000, dtype = "float32" } = options;
    checkSizes("SinusoidalPositions", { size });
    this.size = size;
    this.base = base;
    this.dtype = dtype;
  }

  /** Waves of positions offset … offset + N − 1: [N, C], to be added to [..., N, C]. */
  forward(N: number, offset = 0): FloatTensor {
    return sinusoidalPositions(N, this.size, {
      base: this.base,
      dtype: this.dtype,
      device: this.device,
      offset,
    });
  }
}

/**
 * Rotary positions for queries and keys; nothing is learned.
 *
 * @example
 * new MultiHeadAttention(8, 2, { rope: new Rope() }).forward(x).output.shape; // → [2, 3, 8]
 */
export class Rope extends Module {
  readonly options: Readonly<Omit<RopeOptions, "offset" | "positions">>;

  /** @param options as `rope` takes them: layout, base, rotaryDim, frequencies, axis */
  constructor(options: Omit<RopeOptions, "offset" | "positions"> = {}) {
    super();
    checkOptionNames("Rope", options, ROPE_OPTIONS);
    this.options = options;
  }

  /** x [..., H, N, D], row 0 at position `at`, or row n at `at[n]`; each pair turned by its position's angle. */
  forward(x: TensorLike, at: number | ArrayLike<number> = 0): FloatTensor {
    return rope(x, { ...this.options, ...(typeof at === "number" ? { offset: at } : { positions: at }) });
  }
}

/**
 * Initial values of parameters, drawn from a seed by PyTorch's rules. Every value is a float32 number, in float64 tensors too,
 * so a float64 model with the same seed is the oracle of the float32 model.
 */

import { checkOnCpu } from "../core/device/device.ts";
import {
  checkArgument,
  checkCount,
  checkSeed,
  formatTensor,
  isList,
  refuseGot,
  refuseValue,
} from "../core/errors.ts";
import { checkPrecision } from "../core/numbers.ts";
import { checkOptionNames } from "../core/option-names.ts";
import { Generator, generatorOf, type Seed } from "../core/random/generator.ts";
import { markChanged } from "../core/recording/changes.ts";
import { setKind, type TensorKind } from "../core/recording/kinds.ts";
import { checkShape, sizeOf, type Tensor, type TensorLike } from "../core/tensor.ts";
import type { FloatTensor, FloatTensorOf, Precision } from "./ops/operand.ts";
import { copyOf, numbers, operand, tensorFrom } from "./ops/operand.ts";

export { generatorOf };

/** Options that all layers with parameters take. */
export interface LayerOptions {
  /** Dtype of the parameters, and so of what the layer computes. Default "float32". */
  dtype?: Precision;
  /**
   * Seed of the initial values: an integer, or a Generator that a larger module passes to its parts. Default: the next
   * numbers of the sequence that all layers share (`withSeed`), so two layers built one after the other differ.
   */
  seed?: Seed;
}

/**
 * A parameter: a tensor that a layer trains and saves. From lengths, zeros; from a tensor or nested arrays, a copy of its numbers.
 *
 * @example
 * fillNormal(parameter([8, 8]), 1, 0.02);
 * parameter(ones([2])).toArray(); // → [1, 1]
 */
export function parameter<D extends Precision = "float32">(
  shape: readonly number[],
  dtype?: D,
): FloatTensor<D>;
export function parameter<T extends TensorLike>(values: T): FloatTensorOf<T>;
export function parameter(values: readonly number[] | TensorLike, dtype?: Precision): FloatTensor {
  checkCount("parameter", arguments, 2);
  return layerTensor("parameter", values, dtype);
}

/**
 * A buffer: a tensor that a layer saves and does not train, such as a table of positions. From lengths, zeros; from a tensor, a
 * copy of its numbers.
 *
 * @example
 * buffer(arange(4)).toArray(); // → [0, 1, 2, 3]
 */
export function buffer<D extends Precision = "float32">(shape: readonly number[], dtype?: D): FloatTensor<D>;
export function buffer<T extends TensorLike>(values: T): FloatTensorOf<T>;
export function buffer(values: readonly number[] | TensorLike, dtype?: Precision): FloatTensor {
  checkCount("buffer", arguments, 2);
  return layerTensor("buffer", values, dtype);
}

function layerTensor(
  kind: TensorKind,
  values: readonly number[] | TensorLike,
  dtype: Precision = "float32",
): FloatTensor {
  checkPrecision(kind, dtype);
  // Lengths; deeper lists are numbers.
  if (Array.isArray(values) && !Array.isArray(values[0])) {
    if (values.some((n) => typeof n === "number" && !Number.isInteger(n)))
      refuseValue(kind, "a flat list", "lengths, or numbers as a tensor: tensor([0.5, 2])", values);
    checkShape(kind, values);
    return setKind(tensorFrom(numbers(dtype, sizeOf(values)), values), kind);
  }
  checkArgument(
    typeof values === "object" && values !== null,
    kind,
    "a list of lengths, a tensor or nested arrays",
    values,
  );
  return setKind(copyOf(operand(kind, "values", values as TensorLike)), kind);
}

/**
 * Fills a row-major tensor of the CPU with one number. Returns it.
 *
 * @example
 * fill(zeros([2]), 3); // → [3, 3]
 */
export function fill<T extends Tensor>(t: T, value: number): T {
  checkCount("fill", arguments, 2);
  checkArgument(typeof value === "number", "fill", "a number as value", value);
  checkFillable("fill", t);
  if (t.dtype === "int64") refuseValue("fill", "dtype", "other than int64", t.dtype);
  (t.data as Float32Array).fill(value, t.offset, t.offset + t.size);
  markChanged(t);
  return t;
}

/**
 * Fills a row-major tensor of the CPU with numbers uniform in (low, high). Returns it.
 *
 * @example
 * fillUniform(zeros([2]), 1, -0.1, 0.1).shape; // → [2]
 */
export function fillUniform<T extends Tensor>(
  t: T,
  seed: LayerOptions["seed"],
  low: number,
  high: number,
): T {
  checkCount("fillUniform", arguments, 4);
  checkArgument(
    Number.isFinite(low) && Number.isFinite(high) && low <= high,
    "fillUniform",
    "two numbers after the seed, low ≤ high, as in fillUniform(t, 1, -0.1, 0.1)",
    [low, high],
  );
  return drawUniform("fillUniform", t, seed, low, high);
}

/**
 * Fills a row-major tensor of the CPU with normal numbers of mean 0 and standard deviation `std`. Returns it.
 *
 * @example
 * fillNormal(zeros([2, 3]), 1).shape; // → [2, 3]
 */
export function fillNormal<T extends Tensor>(t: T, seed: LayerOptions["seed"], std = 1): T {
  checkCount("fillNormal", arguments, 3);
  checkArgument(Number.isFinite(std) && std >= 0, "fillNormal", "a number ≥ 0 as std", std);
  const random = generatorOf(seed);
  return draw("fillNormal", t, () => std * random.normal());
}

/**
 * Uniform within ±√(6/(in + out)) for a weight [out, in]: Glorot & Bengio 2010. Returns it.
 *
 * @example
 * fillXavierUniform(zeros([8, 8]), 1).shape; // → [8, 8]
 */
export function fillXavierUniform<T extends Tensor>(t: T, seed: LayerOptions["seed"]): T {
  checkCount("fillXavierUniform", arguments, 2);
  checkFillable("fillXavierUniform", t);
  checkArgument(t.shape.length === 2, "fillXavierUniform", "a weight [out, in]", t.shape);
  const bound = Math.sqrt(6 / Math.max(1, t.shape[0] + t.shape[1]));
  return drawUniform("fillXavierUniform", t, seed, -bound, bound);
}

/**
 * Uniform within ±1/√fanIn: what PyTorch's Linear does for weight and bias (He et al. 2015 with slope √5). Returns it.
 *
 * @example
 * fillLinear(zeros([8, 4]), 1, 4).shape; // → [8, 4]
 */
export function fillLinear<T extends Tensor>(t: T, seed: LayerOptions["seed"], fanIn: number): T {
  checkCount("fillLinear", arguments, 3);
  checkArgument(
    Number.isFinite(fanIn) && fanIn >= 0,
    "fillLinear",
    "a number ≥ 0 as fanIn, the inputs of the layer, after the seed",
    fanIn,
  );
  const bound = 1 / Math.sqrt(Math.max(1, fanIn));
  return drawUniform("fillLinear", t, seed, -bound, bound);
}

function drawUniform<T extends Tensor>(
  what: string,
  t: T,
  seed: LayerOptions["seed"],
  low: number,
  high: number,
): T {
  const random = generatorOf(seed);
  return draw(what, t, () => low + (high - low) * ((random.bits() + 0.5) / 2 ** 32));
}

function checkFillable(what: string, t: Tensor): void {
  checkArgument(
    isList((t as Partial<Tensor> | undefined)?.shape),
    what,
    "a tensor, as zeros([2, 3]) returns",
    t,
  );
  checkOnCpu(what, "t", t);
}

function draw<T extends Tensor>(what: string, t: T, next: () => number): T {
  checkFillable(what, t);
  checkArgument(
    t.dtype === "float32" || t.dtype === "float64",
    what,
    "a float32 or float64 tensor",
    formatTensor("t", t),
  );
  const data = t.data as Float32Array;
  for (let n = 0; n < t.size; n++) data[t.offset + n] = Math.fround(next());
  markChanged(t);
  return t;
}

/** Throws where a constructor has more than `maximum` arguments, or an option that the layer does not have. */
export function checkLayerOptions<O extends LayerOptions>(
  what: string,
  got: IArguments,
  maximum: number,
  options: O,
  names: readonly (string & Exclude<keyof O, keyof LayerOptions>)[] = [],
): void {
  checkCount(what, got, maximum);
  checkOptionNames(what, options, [...names, "dtype", "seed"]);
  const { bias } = options as { bias?: unknown };
  if (bias !== undefined && typeof bias !== "boolean") refuseValue(what, "bias", "true or false", bias);
  checkPrecision(what, options.dtype ?? "float32");
  if (options.seed !== undefined && !(options.seed instanceof Generator)) checkSeed(what, options.seed);
}

/** Throws unless each named size is an integer ≥ 1. */
export function checkSizes(what: string, sizes: Readonly<Record<string, number>>): void {
  for (const [name, n] of Object.entries(sizes))
    if (!(Number.isInteger(n) && n >= 1))
      refuseGot("size", `${what}: ${name} must be an integer ≥ 1`, n, { [name]: n });
}

/** Tensors with computed elements: constants, ranges, random numbers. */

import { checkDType, type DType, isFloat, writerOf } from "../dtype.ts";
import { checkCount, DTypeError, formatValue, OptionError, refuseValue, ShapeError } from "../errors.ts";
import { checkOptionNames } from "../option-names.ts";
import { type Generator, generatorOf, type Seed } from "../random/generator.ts";
import type { Tensor } from "../tensor.ts";
import { zerosFor } from "./construct.ts";
import { checkIntegers } from "./nested.ts";

/** Dtype and seed of a random tensor. */
export interface RandomOptions<D extends DType = DType> {
  /** Default "float32" ("int32" for `randint`). */
  dtype?: D;
  /** An integer, or a Generator to continue. Default: the generator that the program shares. */
  seed?: Seed;
}

/** Names of `RandomOptions`. */
const RANDOM_OPTIONS: readonly (keyof RandomOptions)[] = ["dtype", "seed"];

/**
 * Every element is `value`.
 *
 * @example
 * full([2], 0.5); // → [0.5, 0.5]
 */
export function full<D extends DType = "float32">(
  shape: readonly number[],
  value: number,
  dtype: D = "float32" as D,
): Tensor<D> {
  checkCount("full", arguments, 3);
  if (typeof value !== "number") refuseValue("full", "value", "a number", value);
  return filled("full", shape, dtype, () => value);
}

/**
 * Every element is 1.
 *
 * @example
 * ones([2, 2]); // → [[1, 1], [1, 1]]
 */
export function ones<D extends DType = "float32">(
  shape: readonly number[],
  dtype: D = "float32" as D,
): Tensor<D> {
  checkCount("ones", arguments, 2);
  return filled("ones", shape, dtype, () => 1);
}

/**
 * The identity matrix [n, n].
 *
 * @example
 * eye(2); // → [[1, 0], [0, 1]]
 */
export function eye<D extends DType = "float32">(n: number, dtype: D = "float32" as D): Tensor<D> {
  checkCount("eye", arguments, 2);
  if (!(Number.isSafeInteger(n) && n >= 0))
    throw new ShapeError("shape", `eye: n must be an integer ≥ 0, got ${formatValue(n)}`, { got: n });
  return filled("eye", [n, n], dtype, (i) => (Math.floor(i / n) === i % n ? 1 : 0));
}

/**
 * 0, 1, … below `end`; or `start`, `start + step`, … before `end`.
 *
 * @example
 * arange(4);                       // [0, 1, 2, 3]
 * arange(0, 1, { step: 0.25 });    // [0, 0.25, 0.5, 0.75]
 * arange(10, { dtype: "int32" });  // positions
 */
export function arange<D extends DType = "float32">(end: number, options?: ArangeOptions<D>): Tensor<D>;
export function arange<D extends DType = "float32">(
  start: number,
  end: number,
  options?: ArangeOptions<D>,
): Tensor<D>;
export function arange(first: number, second?: number | ArangeOptions, third?: ArangeOptions): Tensor {
  checkCount("arange", arguments, 3);
  const [start, end] = typeof second === "number" ? [first, second] : [0, first];
  if (typeof third === "number")
    throw new OptionError("options", `arange: the step is an option: { step: ${third} }`, { got: third });
  const { 0: options = {} } = [typeof second === "number" ? third : second];
  checkOptionNames("arange", options, ["step", "dtype"]);
  const { step = 1, dtype = "float32" } = options;
  for (const [name, x] of Object.entries({ start, end, step }))
    if (typeof x !== "number" || !Number.isFinite(x) || (name === "step" && x === 0))
      refuseValue("arange", name, `a finite number${name === "step" ? " other than 0" : ""}`, x);
  return filled("arange", [Math.max(0, Math.ceil((end - start) / step))], dtype, (i) => start + i * step);
}

/** Step and dtype of `arange`. */
export interface ArangeOptions<D extends DType = DType> {
  /** Default 1. */
  step?: number;
  /** Default "float32". */
  dtype?: D;
}

/**
 * `count` evenly spaced numbers from `start` to `end`, both included.
 *
 * @example
 * linspace(0, 1, 3); // → [0, 0.5, 1]
 */
export function linspace<D extends DType = "float32">(
  start: number,
  end: number,
  count: number,
  dtype: D = "float32" as D,
): Tensor<D> {
  checkCount("linspace", arguments, 4);
  for (const [name, x] of Object.entries({ start, end }))
    if (!Number.isFinite(x)) refuseValue("linspace", name, "a finite number", x);
  if (!(Number.isInteger(count) && count >= 0)) refuseValue("linspace", "count", "an integer ≥ 0", count);
  const last = count - 1;
  return filled("linspace", [count], dtype, (i) =>
    i === last ? (count === 1 ? start : end) : start + (i * (end - start)) / last,
  );
}

/**
 * Uniform numbers in [0, 1).
 *
 * @example
 * rand([2, 3], { seed: 1 }).shape; // → [2, 3]
 */
export function rand<D extends DType = "float32">(
  shape: readonly number[],
  options: RandomOptions<D> = {},
): Tensor<D> {
  checkCount("rand", arguments, 2);
  return random("rand", shape, options, (generator) => generator.uniform());
}

/**
 * Standard normal numbers: mean 0, variance 1.
 *
 * @example
 * const query = randn([2, 4, 8]);               // the next numbers of the program's sequence
 * const key = randn([2, 4, 8], { seed: 7 });    // the same on every run and machine
 */
export function randn<D extends DType = "float32">(
  shape: readonly number[],
  options: RandomOptions<D> = {},
): Tensor<D> {
  checkCount("randn", arguments, 2);
  return random("randn", shape, options, (generator) => generator.normal());
}

/**
 * Integers from `low` to below `high`, uniform; int32 by default.
 *
 * @example
 * randint(0, 10, [4], { seed: 1 }).dtype; // → "int32"
 */
export function randint<D extends DType = "int32">(
  low: number,
  high: number,
  shape: readonly number[],
  options: RandomOptions<D> = {},
): Tensor<D> {
  checkCount("randint", arguments, 4);
  if (!(Number.isSafeInteger(low) && Number.isSafeInteger(high) && low < high && high - low <= 2 ** 32))
    throw new OptionError(
      "range",
      `randint: low and high must be integers with low < high, at most 2^32 apart, got ${formatValue(low)} and ${formatValue(high)}`,
      { low, high },
    );
  checkOptionNames("randint", options, RANDOM_OPTIONS);
  const generator = generatorOf(options.seed);
  const dtype = options.dtype ?? ("int32" as D);
  checkDType("randint", dtype);
  checkIntegers("randint", [low, high - 1], dtype);
  return filled("randint", shape, dtype, () => low + generator.below(high - low));
}

function random<D extends DType>(
  what: string,
  shape: readonly number[],
  options: RandomOptions<D>,
  draw: (generator: Generator) => number,
): Tensor<D> {
  // For randn(3, 4), `zeros` reports the shape, not the options.
  if (Array.isArray(shape)) checkOptionNames(what, options, RANDOM_OPTIONS);
  const { dtype = "float32" as D, seed } = options ?? {};
  if (!isFloat(dtype))
    throw new DTypeError(
      "dtype",
      `${what}: dtype must be a float dtype, got ${formatValue(dtype)}; see randint`,
      { dtype },
    );
  const generator = generatorOf(seed);
  // float64 tensors hold float32 numbers, as the parameters of layers do: the same seed gives the same numbers in both.
  return filled(what, shape, dtype, () => Math.fround(draw(generator)));
}

/** A row-major tensor whose element i is `value(i)`, rounded once; a fraction is an error for integer dtypes. */
function filled<D extends DType>(
  what: string,
  shape: readonly number[],
  dtype: D,
  value: (i: number) => number,
): Tensor<D> {
  const t = zerosFor(what, shape, dtype);
  const write = writerOf(dtype, t.data);
  for (let i = 0; i < t.size; i++) {
    const x = value(i);
    checkIntegers(what, [x], dtype);
    write(i, x);
  }
  return t;
}

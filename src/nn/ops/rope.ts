/**
 * Rotary and sinusoidal position encodings.
 *
 * Rotary positions (Su et al. 2021): pair i of a head's elements, at position n, is rotated by the angle n·base^(−2i/R), so
 * q·k depends only on the distance between their positions. Checkpoints use one of two layouts:
 *
 *   "half"         pair i is (x[i], x[i + R/2])     Llama, GPT-NeoX, Hugging Face's rotate_half
 *   "interleaved"  pair i is (x[2i], x[2i + 1])     the paper, GPT-J
 *
 * The first R of a head's D elements are rotated (R = D by default), the rest is unchanged. A rotation keeps lengths (times
 * `amplitude`); its gradient is the inverse rotation.
 *
 * Sinusoidal positions (Vaswani et al. 2017, section 3.5): PE[n, 2i] = sin(n·base^(−2i/C)), PE[n, 2i + 1] = cos(the same).
 */
import { rope as rotatePairs } from "../../api/array.ts";
import { placed } from "../../core/device/device.ts";
import {
  checkCount,
  checkInteger,
  formatTensor,
  formatValue,
  OptionError,
  refuseValue,
  ShapeError,
} from "../../core/errors.ts";
import { checkPrecision } from "../../core/numbers.ts";
import { checkOptionNames } from "../../core/option-names.ts";
import { eachRow, sizeOf, type Tensor, type TensorLike } from "../../core/tensor.ts";
import type { FloatTensor, FloatTensorOf, Precision } from "./operand.ts";
import { axisOf, numbers, operand, recordUnary, resultLike, tensorFrom } from "./operand.ts";

/** Which two elements of a head form a pair. */
export type RopeLayout = "half" | "interleaved";

/** Options of `rope`; all optional. */
export interface RopeOptions {
  /** Which elements form a pair. Default "half". */
  layout?: RopeLayout;
  /** The slowest pair rotates by about 1/base per position. Default 10,000. */
  base?: number;
  /** Position of row 0. Default 0. */
  offset?: number;
  /** Position of every row, [N], instead of `offset`: the rows of a shard. Default offset + row. */
  positions?: ArrayLike<number>;
  /** Number of elements of each head that are rotated, starting with the first; even. Default all. */
  rotaryDim?: number;
  /** Angle per position of each pair, [rotaryDim/2], in place of base^(−2i/rotaryDim): for scaled variants. */
  frequencies?: ArrayLike<number>;
  /** Multiplies the rotated elements: the attention factor of YaRN and LongRoPE. Default 1. */
  amplitude?: number;
  /** AxisArgument of positions: −2 for [..., H, N, D] (default), −3 for [..., N, H, D]. */
  axis?: number;
}

/** Names of the `RopeOptions` that a layer stores; each call gives the positions. */
/** Names of other libraries. */
export const ROPE_SYNONYMS = { rotaryDim: "dim headdim", base: "theta ropetheta" };

export const ROPE_OPTIONS: readonly (keyof RopeOptions)[] = [
  "layout", "base", "rotaryDim", "frequencies", "amplitude", "axis",
]; // biome-ignore format: one list

/**
 * Rotates every pair of x [..., N, D] by its position's angle.
 *
 * @example
 * rope(q).shape; // → [1, 2, 4, 8]
 */
export function rope<T extends TensorLike>(x: T, options: RopeOptions = {}): FloatTensorOf<T> {
  checkCount("rope", arguments, 2);
  checkOptionNames("rope", options, [...ROPE_OPTIONS, "offset", "positions"], ROPE_SYNONYMS);
  const from = operand("rope", "x", x);
  const rank = from.shape.length;
  checkRope("rope", options);
  const { layout = "half", base = 10_000, offset = 0, positions, amplitude = 1, axis = -2 } = options;
  const at = axisOf("rope", axis, rank);
  const D = from.shape[rank - 1];
  const { rotaryDim = D } = options;
  if (
    at === rank - 1 ||
    !(Number.isInteger(rotaryDim) && rotaryDim >= 0 && rotaryDim % 2 === 0 && rotaryDim <= D)
  )
    throw new ShapeError(
      "rotary",
      `rope: rotaryDim must be even and at most the last axis, got ${formatValue(rotaryDim)}; ${formatTensor("x", from)}`,
      { rotaryDim, shape: from.shape },
    );
  if (!Number.isFinite(offset)) refuseValue("rope", "offset", "a number", offset);
  const N = from.shape[at];
  const list = positions === undefined ? undefined : positionList(positions, N, options.offset);
  const angles = rotations(N, rotaryDim, base, list ?? offset, options.frequencies);
  // `repeat` consecutive rows have the same position: the axes between the axis of positions and the last one.
  const repeat = sizeOf(from.shape.slice(at + 1, -1));
  const rotate = (x: Tensor, y: Tensor, sign: 1 | -1) =>
    rotatePairs({ name: "rope", x, y, ...angles, N, repeat, R: rotaryDim, layout, amplitude, sign });
  const y = resultLike(from, from.shape);
  rotate(from, y, 1);
  recordUnary("rope", from, y, (dy, dx) => rotate(dy, dx, -1));
  return y;
}

/** A checked list of positions. */
function positionList(positions: ArrayLike<number>, N: number, offset: number | undefined): Float64Array {
  if (offset !== undefined)
    throw new OptionError("positions", "rope: positions and offset exclude each other; give one of them");
  if (positions === null || typeof positions !== "object" || positions.length !== N)
    throw new ShapeError(
      "positions",
      `rope: positions must be a list of ${N} numbers, one for each row, got ${formatValue(positions)}`,
      { got: positions, want: N },
    );
  return Float64Array.from(positions, (x) => {
    if (!Number.isFinite(x)) refuseValue("rope", "positions", "finite numbers", x);
    return x;
  });
}

/** cos and sin of every position and pair, [N, R/2] each. */
interface Rotations {
  readonly cos: Float64Array;
  readonly sin: Float64Array;
}

/** The latest tables: queries and keys of all layers read the same one, or one of two where layers differ. */
const cache: { readonly key: string; readonly rotations: Rotations }[] = [];
const CACHE_SIZE = 2;

function rotations(
  N: number,
  R: number,
  base: number,
  at: number | Float64Array,
  values: ArrayLike<number> | undefined,
): Rotations {
  const frequencies = values ? Float64Array.from(values) : frequenciesOf(R, base, "rope");
  if (frequencies.length !== R / 2)
    throw new ShapeError(
      "frequencies",
      `rope: frequencies must be one for each of ${R / 2} pairs, got ${formatValue(values)}`,
      { got: frequencies.length, want: R / 2 },
    );
  const key = [N, typeof at === "number" ? at : `[${at.join()}]`, ...frequencies].join();
  const cached = cache.find((entry) => entry.key === key);
  if (cached) return cached.rotations;
  const cos = new Float64Array((N * R) / 2);
  const sin = new Float64Array((N * R) / 2);
  for (let n = 0, into = 0; n < N; n++)
    for (let i = 0; i < R / 2; i++, into++) {
      const angle = (typeof at === "number" ? at + n : at[n]) * frequencies[i];
      cos[into] = Math.cos(angle);
      sin[into] = Math.sin(angle);
    }
  const rotations = { cos, sin };
  if (cache.unshift({ key, rotations }) > CACHE_SIZE) cache.pop();
  return rotations;
}

/** Throws where an option of a rotation that no tensor is needed to check is wrong. */
export function checkRope(
  what: string,
  { layout = "half", base = 10_000, amplitude = 1, rotaryDim = 2, axis = -2 }: RopeOptions,
): void {
  checkInteger(what, "rotaryDim", rotaryDim, 2);
  if (!Number.isSafeInteger(axis)) refuseValue(what, "axis", "an integer", axis);
  if (layout !== "half" && layout !== "interleaved")
    refuseValue(what, "layout", '"half" or "interleaved"', layout);
  checkBase(what, base);
  if (!Number.isFinite(amplitude)) refuseValue(what, "amplitude", "a number", amplitude);
}

/** Throws unless `base` is a number above 0. */
export function checkBase(what: string, base: number): void {
  if (!(typeof base === "number" && base > 0 && Number.isFinite(base)))
    refuseValue(what, "base", "a number above 0", base);
}

/** base^(−2i/C) for i < C/2. */
function frequenciesOf(C: number, base: number, what: string): Float64Array {
  checkBase(what, base);
  return Float64Array.from({ length: C / 2 }, (_, i) => base ** ((-2 * i) / C));
}

/**
 * Sinusoidal positions offset … offset + N − 1, [N, C]: sines in even columns, cosines in odd ones; on `device`, the CPU by
 * default.
 *
 * @example
 * sinusoidalPositions(4, 8).shape; // → [4, 8]
 */
export function sinusoidalPositions(
  N: number,
  C: number,
  options: { base?: number; offset?: number; dtype?: Precision; device?: string } = {},
): FloatTensor {
  checkCount("sinusoidalPositions", arguments, 3);
  checkOptionNames("sinusoidalPositions", options, ["base", "offset", "dtype", "device"]);
  const { base = 10_000, offset = 0, dtype = "float32", device = "cpu" } = options;
  if (!(Number.isInteger(C) && C >= 0 && C % 2 === 0 && Number.isInteger(N) && N >= 0 && N * C < 2 ** 40))
    throw new ShapeError(
      "positions",
      `sinusoidalPositions: expected N ≥ 0 positions of an even C numbers, got ${formatValue(N)} and ${formatValue(C)}`,
      { N, C },
    );
  if (!Number.isFinite(offset)) refuseValue("sinusoidalPositions", "offset", "a number", offset);
  checkPrecision("sinusoidalPositions", dtype);
  const frequencies = frequenciesOf(C, base, "sinusoidalPositions");
  const out = numbers(dtype, N * C);
  eachRow([N, C], [C, 1], 0, (start) => {
    for (let i = 0; i < C / 2; i++) {
      const angle = (offset + start / C) * frequencies[i];
      out[start + 2 * i] = Math.sin(angle);
      out[start + 2 * i + 1] = Math.cos(angle);
    }
  });
  return placed("sinusoidalPositions", tensorFrom(out, [N, C]), device);
}

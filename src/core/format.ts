/** Tensors as nested arrays, as JSON, and as text in the style of NumPy. */

import { type DType, isInteger, readerOf, type TypedData } from "./dtype.ts";
import { refuseValue } from "./errors.ts";
import { checkKnown } from "./known-names.ts";

/** A tensor, by the fields that are read here. */
interface Elements {
  readonly data: TypedData;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly size: number;
}

/** Options of `Tensor.toString`. */
export interface FormatOptions {
  /** Digits after the decimal point, at most; 20 are the most. Default 4. */
  precision?: number;
  /** Tensors with more elements are shortened to their edges. Default 1000. */
  threshold?: number;
  /** Entries at each edge of a shortened axis. Default 3. */
  edge?: number;
}

/** Elements in nested arrays: numbers, booleans for bool, bigints for int64 numbers above 2^53. A number alone for shape []. */
export type NestedValues = number | boolean | bigint | NestedValues[];

/** The elements as nested arrays. */
export function nestedArray(t: Elements): NestedValues {
  const read = valueReader(t);
  const build = (axis: number, at: number): NestedValues =>
    axis === t.shape.length
      ? read(at)
      : Array.from({ length: t.shape[axis] }, (_, i) => build(axis + 1, at + i * t.strides[axis]));
  return build(0, t.offset);
}

/** A tensor in JSON; `tensor` and every function of heed read it. Numbers that JSON lacks are strings. */
export interface TensorJson {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Row-major; NaN, Infinity and integers above 2^53 as strings. */
  readonly data: readonly (number | boolean | string)[];
}

/** The tensor as JSON. */
export function tensorJson(t: Elements): TensorJson {
  const flat = [nestedArray(t)].flat(Number.POSITIVE_INFINITY as 1) as (number | boolean | bigint)[];
  const data = flat.map((x) =>
    typeof x === "bigint" || (typeof x === "number" && !Number.isFinite(x)) ? String(x) : x,
  );
  return { dtype: t.dtype, shape: t.shape, data };
}

/**
 * The tensor as text: its shape and dtype, then aligned rows. All numbers have the same number of digits; numbers of very
 * different sizes are written with exponents.
 */
export function tensorText(t: Elements, options: FormatOptions = {}): string {
  checkKnown("Tensor.toString", options, ["precision", "threshold", "edge"]);
  const { precision = 4, threshold = 1000, edge = 3 } = options;
  for (const [name, value] of Object.entries({ precision, threshold, edge }))
    if (!(value === Infinity || (Number.isInteger(value) && value >= 0)))
      refuseValue("Tensor.toString", name, "an integer ≥ 0", value);
  const head = `tensor [${t.shape.join(", ")}] ${t.dtype}`;
  if (t.size === 0) return `${head}, empty`;
  const read = valueReader(t);
  const isShort = t.size > threshold;
  /** Indices shown along an axis; −1 is the gap. */
  const shown = t.shape.map((n) =>
    isShort && n > 2 * edge + 1
      ? [...Array(edge).keys(), -1, ...Array.from({ length: edge }, (_, i) => n - edge + i)]
      : [...Array(n).keys()],
  );
  const values: (number | boolean | bigint)[] = [];
  const visit = (axis: number, at: number): void => {
    if (axis === t.shape.length) values.push(read(at));
    else for (const i of shown[axis]) if (i >= 0) visit(axis + 1, at + i * t.strides[axis]);
  };
  visit(0, t.offset);
  const write = isInteger(t.dtype) ? String : writerFor(values, Math.min(precision, 20));
  const width = values.reduce<number>((longest, x) => Math.max(longest, write(x).length), 0);
  const rank = t.shape.length;
  /** Entries in a line of 80 characters, between the brackets of all axes. */
  const perLine = Math.max(1, Math.trunc((82 - 2 * rank) / (width + 2)));
  const build = (axis: number, at: number): string => {
    if (axis === rank) return write(read(at)).padStart(width);
    const down = rank - 1 - axis;
    const gap = `,${"\n".repeat(down || 1)}${" ".repeat(axis + 1)}`;
    const entry = (i: number, n: number) =>
      (n === 0 ? "" : down === 0 && n % perLine > 0 ? ", " : gap) +
      (i < 0 ? "…" : build(axis + 1, at + i * t.strides[axis]));
    return `[${shown[axis].map(entry).join("")}]`;
  };
  return `${head}\n${build(0, t.offset)}`;
}

function valueReader(t: Elements): (at: number) => number | boolean | bigint {
  const read = readerOf(t.dtype, t.data);
  if (t.dtype === "bool") return (at) => read(at) !== 0;
  if (t.dtype === "int64")
    return (at) => {
      const n = read(at);
      return Number.isSafeInteger(n) ? n : (t.data as BigInt64Array)[at];
    };
  return read;
}

/** One format for all numbers, with the fewest digits that show each of them to `precision`. */
function writerFor(
  values: readonly (number | boolean | bigint)[],
  precision: number,
): (x: number | boolean | bigint) => string {
  const sizes = values
    .filter((x): x is number => typeof x === "number" && Number.isFinite(x) && x !== 0)
    .map(Math.abs)
    .sort((a, b) => a - b);
  const [least, largest] = [sizes[0], sizes[sizes.length - 1]];
  const isWide = largest >= 1e8 || largest < 10 ** -precision || (largest / least > 1e6 && largest >= 1e4);
  // Trailing zeros that all numbers have are dropped, unless a nonzero number would look like 0.
  const digits = sizes.reduce((longest, x) => {
    const text = x.toFixed(precision);
    const count = Number(text) === 0 ? precision : (text.replace(/\.?0+$/, "").split(".")[1]?.length ?? 0);
    return Math.max(longest, count);
  }, 0);
  return (x) => {
    if (typeof x !== "number" || !Number.isFinite(x)) return String(x);
    if (isWide) return x === 0 ? "0" : x.toExponential(precision);
    return x.toFixed(digits).replace(/^-(0(?:\.0*)?)$/, "$1");
  };
}

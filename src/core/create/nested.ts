/** Nested arrays as tensors: `[[1, 2], [3, 4]]` is a [2, 2] tensor. */
import { arrayFor, DTYPES, type DType, dtypeNamed, type TypedData, writerOf } from "../dtype.ts";
import { DTypeError, formatValue, ShapeError } from "../errors.ts";

/** Numbers in nested arrays, all rows of one length; a number alone is a tensor of shape []. */
export type NestedNumbers = number | readonly NestedNumbers[];
/** Booleans in nested arrays. */
export type NestedBooleans = boolean | readonly NestedBooleans[];
/** Integers in nested arrays, as bigints. */
export type NestedBigints = bigint | readonly NestedBigints[];

/** True for arrays, nested or flat, of numbers, booleans or bigints, with at least one entry. Inner rows are not checked. */
export function isNested(x: unknown): x is readonly unknown[] {
  if (!Array.isArray(x) || x.length === 0 || !x.every((entry) => Array.isArray(entry) || isValue(entry)))
    return false;
  let first: unknown = x;
  while (Array.isArray(first)) {
    if (first.length === 0) return true;
    first = first[0];
  }
  return isValue(first);
}

const isValue = (x: unknown): boolean =>
  typeof x === "number" || typeof x === "boolean" || typeof x === "bigint";

/**
 * The elements of nested arrays in row-major order, with their shape. Numbers become float32, booleans bool, bigints
 * int64, unless `dtype` is given; values are rounded once to the dtype.
 *
 * @throws ShapeError where rows differ in length, DTypeError where kinds are mixed
 */
export function fromNested(
  what: string,
  rows: unknown,
  dtype?: string,
): { data: TypedData; shape: number[]; dtype: DType } {
  const shape: number[] = [];
  for (let at: unknown = rows; Array.isArray(at); at = at[0]) shape.push(at.length);
  const values: (number | boolean | bigint)[] = [];
  let kind: string | undefined;
  const visit = (x: unknown, axis: number, path: string): void => {
    if (axis < shape.length) {
      if (!Array.isArray(x) || x.length !== shape[axis])
        throw new ShapeError(
          "ragged",
          `${what}: rows must have one length; [0]${"[0]".repeat(axis - 1)} has ${shape[axis]} entries, ${path} ${Array.isArray(x) ? `has ${x.length}` : `is ${formatValue(x)}`}`,
          { path, expected: shape[axis] },
        );
      for (const [n, entry] of x.entries()) visit(entry, axis + 1, `${path}[${n}]`);
      return;
    }
    if (typeof x !== "number" && typeof x !== "boolean" && typeof x !== "bigint")
      throw Array.isArray(x)
        ? new ShapeError(
            "ragged",
            `${what}: rows must have one length; ${path} is an array, others are not`,
            { path },
          )
        : new DTypeError(
            "dtype",
            `${what}: expected numbers or booleans, got ${formatValue(x)}${path && ` at ${path}`}${
              typeof x === "object" && x !== null
                ? "; tensors and typed arrays are joined by stack of heed/nn"
                : ""
            }`,
            { got: x, path },
          );
    kind ??= typeof x;
    if (typeof x !== kind)
      throw new DTypeError(
        "dtype-mixed",
        `${what}: entries must be of one kind; the first is a ${kind}, ${path} is ${formatValue(x)}`,
        { path, got: x },
      );
    values.push(x);
  };
  visit(rows, 0, "");
  const target =
    dtypeNamed(what, dtype) ?? (kind === "boolean" ? "bool" : kind === "bigint" ? "int64" : "float32");
  const data = arrayFor(target, values.length);
  checkIntegers(what, values, target);
  const write = writerOf(target, data);
  // A bigint is stored directly: as a number it would lose digits above 2^53.
  for (const [n, x] of values.entries())
    if (target === "int64" && typeof x === "bigint") (data as BigInt64Array)[n] = x;
    else write(n, Number(x));
  return { data, shape, dtype: target };
}

/** The elements of a flat list, and their dtype. Strings represent the values that JSON lacks: "NaN", "Infinity", "-Infinity", integers above 2^53. */
export function fromFlat(what: string, data: readonly unknown[], dtype: DType | undefined) {
  const isText = data.some((x) => typeof x === "string");
  const values = isText ? data.map((x) => fromText(x, dtype)) : data;
  for (const x of values)
    if (typeof x !== "number" && typeof x !== "boolean" && typeof x !== "bigint")
      throw new DTypeError(
        "dtype",
        `${what}: data is an array that holds ${formatValue(x)}; expected numbers or booleans, flat`,
        { got: x },
      );
  return fromNested(what, values, dtype ?? (typeof values[0] === "boolean" ? "bool" : "float32"));
}

function fromText(x: unknown, dtype: string | undefined): unknown {
  if (x === "NaN" || x === "Infinity" || x === "-Infinity") return Number(x);
  return dtype === "int64" && /^-?\d+$/.test(String(x)) ? BigInt(String(x)) : x;
}

/** Throws where an integer dtype cannot hold a value; other dtypes hold all of them, rounded. */
export function checkIntegers(
  what: string,
  values: readonly (number | boolean | bigint)[],
  dtype: DType,
): void {
  const { range } = DTYPES[dtype];
  if (!range) return;
  for (const x of values) {
    const n = Number(x);
    if (typeof x === "number" && !Number.isInteger(n))
      throw new DTypeError("dtype", `${what}: ${dtype} holds integers, got ${formatValue(x)}`, { got: x });
    if (!(n >= range[0] && n < range[1]))
      throw new DTypeError("dtype", `${what}: ${formatValue(x)} does not fit ${dtype}`, { got: x });
  }
}

/** Tables: numbers that expressions read by index, such as slopes, lengths and biases. */

import { fromNested, type NestedNumbers } from "../../core/create/nested.ts";
import { checkOnCpu } from "../../core/device/device.ts";
import { DTYPES } from "../../core/dtype.ts";
import { checkCount, DTypeError, isList, OptionError, refuseGot, ShapeError } from "../../core/errors.ts";
import { checkKnown } from "../../core/known-names.ts";
import { asTensor, sizeOf, Tensor, type TensorLike } from "../../core/tensor.ts";
import { lift, NumberExpression, type Table } from "./expr.ts";

const isFlag = (x: unknown) => typeof x === "boolean";

/** What an option must be, and its test; the table in core/option-names.ts would be in the bundle of every call. */
const ABOUT: Readonly<Record<string, readonly [kind: string, passes: (x: unknown) => boolean]>> = {
  name: ["a text", (x) => typeof x === "string"],
  strict: ["true or false", isFlag],
  exact: ["a list of true or false", (x) => isList(x) && Array.from(x as unknown[]).every(isFlag)],
  highest: ["a number", Number.isFinite],
};

/**
 * A table that expressions read: `table(values).at(h)` or `table(values).at(q, k)`. Values are a tensor, a flat list or nested
 * arrays. An index out of range reads the nearest edge.
 *
 * @example
 * const strength = table([0.5, 2]); // a number for each head
 * scaledDotProductAttention(q, k, v, { scoreMod: scoreMod(({ score, h }) => score.mul(strength.at(h))) });
 */
export function table(
  values: TensorLike | ArrayLike<number> | NestedNumbers,
  about: { name?: string; strict?: boolean; exact?: readonly boolean[]; highest?: number } = {},
): {
  /** The table itself. */
  readonly table: Table;
  /** The entry at these indices, one for each axis. */
  at(...index: (NumberExpression | number)[]): NumberExpression;
} {
  checkCount("table", arguments, 2);
  checkKnown("table", about, Object.keys(ABOUT), undefined, (option, x) =>
    ABOUT[option][1](x) ? undefined : ABOUT[option][0],
  );
  const { name = "table" } = about;
  const source = isTensorLike(values)
    ? asTensor(name, values)
    : asTensor(name, tensorFromList(name, values as ArrayLike<number> | NestedNumbers));
  const { kind } = DTYPES[source.dtype];
  if (kind === "stored")
    throw new DTypeError(
      "dtype",
      `${name}: a table of ${source.dtype} is not read; pass cast(x, "float32")`,
      { dtype: source.dtype },
    );
  const type = kind === "float" ? "float" : "int";
  // Plans read integers on the CPU: they decide which cells are visible and which entries are read.
  if (type === "int") checkOnCpu(name, "its integers", source);
  const numbers = source.device === "cpu" ? source.toFloat64() : undefined;
  const large = type === "int" && numbers?.find((x) => Math.abs(x) >= 2 ** 31);
  if (large) throw new OptionError("table", `${name}: ${large} does not fit a 32-bit integer`);
  // Numbers of a tensor may be learned: NaN propagates, as in the formula.
  if (type === "float" && !(values instanceof Tensor) && numbers?.some(Number.isNaN))
    throw new OptionError("table", `${name}: expected numbers, got NaN`, { got: Number.NaN });
  const List = type === "int" ? Int32Array : source.dtype === "float32" ? Float32Array : Float64Array;
  return tableOf(source, numbers && List.from(numbers), about);
}

/** A table of a tensor whose numbers are in `data`: without a copy, nobody may change them while the table is in use. */
export function tableOf(
  source: Tensor,
  data: Table["data"] | undefined,
  about: Pick<Partial<Table>, "name" | "strict" | "exact" | "highest"> = {},
): ReturnType<typeof table> {
  const { name = "table", strict = false, exact, highest } = about;
  const { shape, dtype } = source;
  const type = data instanceof Int32Array ? "int" : "float";
  const stored = { data, type, shape, name, strict, exact, highest, dtype, source } as Table;
  // Reading the data of a tensor on another device throws.
  if (!data) Object.defineProperty(stored, "data", { get: () => source.data });
  return {
    table: stored,
    at(...index) {
      if (index.length !== stored.shape.length)
        throw new ShapeError(
          "table",
          `${name}: ${index.length} indices for a table of ${stored.shape.length} axes`,
        );
      const args = index.map(lift);
      if (args.some((x) => x.type !== "int"))
        throw new OptionError("table", `${name}: an index must be an integer expression`);
      return new NumberExpression("table", type, args, stored);
    },
  };
}

function isTensorLike(x: unknown): x is TensorLike {
  return typeof x === "object" && x !== null && ("shape" in x || "dims" in x) && "data" in x;
}

/** A list of integers becomes a table of integers, any other list one of floats. */
function tensorFromList(name: string, values: ArrayLike<number> | NestedNumbers): TensorLike {
  if (Array.isArray(values) && Array.isArray(values[0])) {
    const { data, shape } = fromNested(name, values, "float64");
    const numbers = data as Float64Array;
    const isInteger = numbers.every((x) => Number.isInteger(x) && Math.abs(x) < 2 ** 31);
    return { data: isInteger ? Int32Array.from(numbers) : numbers, shape };
  }
  return tensorFromFlatList(name, values as ArrayLike<number>);
}

function tensorFromFlatList(name: string, values: ArrayLike<number>): TensorLike {
  if (typeof values !== "object" || values === null || !(typeof values.length === "number"))
    refuseGot("table", `${name}: expected a list of numbers or a tensor`, values);
  const list = Array.from(values);
  for (const x of list) if (typeof x !== "number") refuseGot("table", `${name}: expected numbers`, x);
  const isFloats = values instanceof Float32Array || values instanceof Float64Array;
  const isInteger = !isFloats && list.every((x) => Number.isInteger(x) && Math.abs(x) < 2 ** 31);
  return {
    data: isFloats ? values : isInteger ? Int32Array.from(list) : Float64Array.from(list),
    shape: [list.length],
  };
}

/** Checks a list of ids or lengths: integers in a list, or rows of them in nested arrays or a tensor. */
export function integers(
  what: string,
  values: TensorLike | ArrayLike<number> | NestedNumbers,
): ReturnType<typeof table> {
  const stored = table(values, { name: what, strict: true, exact: [true, true] });
  if (stored.table.type !== "int")
    throw new DTypeError("dtype", `${what}: expected integers, got ${sizeOf(stored.table.shape)} floats`);
  return stored;
}

/** New tensors: from nested arrays and lists, over typed arrays, or filled with zeros. */
import { arrayFor, checkDType, type DType, type TypedData } from "../dtype.ts";
import { checkCount, formatValue, ShapeError, UnsupportedError } from "../errors.ts";
import { checkKinds } from "../option-names.ts";
import { asTensor, checkShape, sizeOf, Tensor, type TensorLike } from "../tensor.ts";
import { fromNested, type NestedBigints, type NestedBooleans, type NestedNumbers } from "./nested.ts";

/**
 * A tensor from nested arrays, or over a typed array without a copy.
 *
 * `shape` is the list of axis lengths, outermost first; omit it for nested arrays; −1 is not allowed here. `dtype` is
 * required for a Uint16Array (`"float16"` or `"bfloat16"`) and for bytes (`"bool"`, `"uint8"`, …); otherwise it defaults to the
 * dtype of the array.
 *
 * @example
 * tensor([[1, 2], [3, 4]]);                      // [2, 2] float32
 * tensor([[true, false], [true, true]]);         // [2, 2] bool
 * tensor([[1, 2], [3, 4]], "float64");           // in another dtype
 * tensor(new Float32Array(24), [2, 3, 4]);       // no copy; without a shape [24]
 * tensor(new Uint16Array(4), [2, 2], "bfloat16"); // 16-bit bits
 * tensor(new Uint8Array(12), [2, 2, 3], "uint8"); // pixels; "bool" for a mask
 * const text = JSON.stringify(tensor([1, 2]));
 * tensor(JSON.parse(text)); // → [1, 2]
 *
 * @param data nested arrays of numbers (float32), booleans (bool) or bigints (int64), or a typed array
 * @throws ShapeError, DTypeError
 */
export function tensor(data: NestedNumbers): Tensor<"float32">;
export function tensor(data: NestedBooleans): Tensor<"bool">;
export function tensor(data: NestedBigints): Tensor<"int64">;
export function tensor<D extends DType>(
  data: NestedNumbers | NestedBooleans | NestedBigints,
  dtype: D,
): Tensor<D>;
export function tensor(like: TensorLike): Tensor;
export function tensor(data: readonly number[], shape: readonly number[]): Tensor<"float32">;
export function tensor(data: readonly boolean[], shape: readonly number[]): Tensor<"bool">;
export function tensor<D extends DType = DType>(
  data: TypedData | ArrayLike<number> | ArrayLike<boolean>,
  shape: readonly number[],
  dtype: D,
  view?: { strides?: readonly number[]; offset?: number },
): Tensor<D>;
export function tensor(data: Float32Array, shape?: readonly number[]): Tensor<"float32">;
export function tensor(data: Float64Array, shape?: readonly number[]): Tensor<"float64">;
export function tensor(data: Int32Array, shape?: readonly number[]): Tensor<"int32">;
export function tensor(data: BigInt64Array, shape?: readonly number[]): Tensor<"int64">;
export function tensor(
  data: TypedData | ArrayLike<number> | ArrayLike<boolean>,
  shape: readonly number[],
  dtype?: DType,
  view?: { strides?: readonly number[]; offset?: number },
): Tensor;
export function tensor(
  data: unknown,
  shape?: readonly number[] | DType,
  dtype?: DType,
  view: { strides?: readonly number[]; offset?: number } = {},
): Tensor {
  checkCount("tensor", arguments, 4);
  const isScalar = typeof data === "number" || typeof data === "boolean" || typeof data === "bigint";
  const isList = Array.isArray(data);
  if (isScalar || (isList && !Array.isArray(shape) && !ArrayBuffer.isView(shape))) {
    if (shape !== undefined && typeof shape !== "string")
      throw new ShapeError(
        "shape",
        `tensor: expected a shape or a dtype, as in tensor([1, 2], "float64"), got ${formatValue(shape)}`,
        { got: shape },
      );
    const nested = fromNested("tensor", data, shape);
    return new Tensor(nested.data, nested.shape, nested.dtype);
  }
  if (shape === undefined && typeof data === "object" && data !== null && "data" in data)
    return asTensor("tensor", data as TensorLike);
  if (isList && data.some((row) => Array.isArray(row)))
    throw new ShapeError(
      "shape",
      "tensor: nested arrays have a shape of their own; leave the second argument out, or pass a flat array with it",
    );
  if (data === undefined)
    throw new ShapeError(
      "tensor",
      "tensor: expected numbers, got undefined; a name that a Map or an object does not have gives undefined",
    );
  // As in NumPy, an array is one row; bytes and 16-bit numbers need their dtype, which asTensor says.
  if (
    ArrayBuffer.isView(data) &&
    !(data instanceof DataView) &&
    (shape === undefined || typeof shape === "string")
  )
    return asTensor("tensor", {
      data,
      shape: [(data as Float32Array).length],
      dtype: shape as string | undefined,
    });
  if (shape === undefined || typeof shape === "string")
    throw new ShapeError(
      "shape",
      `tensor: ${formatValue(data)} needs a shape: tensor(data, [rows, columns]); only nested arrays have one of their own`,
      { got: data },
    );
  if (typeof data === "object" && data !== null && "data" in data)
    throw new ShapeError(
      "shape",
      `tensor: ${formatValue(data)} has a shape of its own; tensor(t) reads it, and reshape(t, ${formatValue(shape)}) of heed/nn gives it another`,
      { got: shape },
    );
  checkKinds("tensor: the fourth argument", view, { "a list": "strides", "": "offset" });
  return asTensor("tensor", { data, shape, dtype, ...view });
}

/**
 * A zero-filled tensor in ordinary memory.
 *
 * @example
 * zeros([2, 2]); // → [[0, 0], [0, 0]]
 */
export function zeros<D extends DType = "float32">(
  shape: readonly number[],
  dtype: D = "float32" as D,
): Tensor<D> {
  checkCount("zeros", arguments, 2);
  return zerosFor("zeros", shape, dtype);
}

/** `zeros` for the function `what`, which errors name. */
export function zerosFor<D extends DType>(what: string, shape: readonly number[], dtype: D): Tensor<D> {
  checkShape(what, shape);
  checkDType(what, dtype);
  const size = sizeOf(shape);
  try {
    return new Tensor(arrayFor(dtype, size), [...shape], dtype);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const error = new UnsupportedError(
      "memory",
      `${what}: cannot allocate [${shape.join(", ")}], ${size} elements of ${dtype}`,
      { shape, dtype },
    );
    throw Object.assign(error, { cause });
  }
}

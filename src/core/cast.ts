/** Conversion between dtypes. */
import { arrayFor, checkDType, type DType, isFloat, narrow, readerOf, writerOf } from "./dtype.ts";
import { DTypeError, formatValue } from "./errors.ts";
import { record } from "./record.ts";
import { asTensor, eachRow, Tensor, type TensorLike } from "./tensor.ts";

/**
 * The elements in another dtype, rounded once to nearest even. The same tensor where it has that dtype. To `bool`
 * every number but 0 is true; to integers the fraction is truncated. Recorded between float dtypes.
 *
 * @example
 * cast(tensor([[1, 0], [1, 1]]), "bool");   // a 0/1 mask as attnMask takes it
 * cast(weights, "bfloat16").data;           // the bits, in a Uint16Array
 * cast(half, "float32");                    // back to numbers
 *
 * @throws DTypeError for an unknown dtype, and for a number that an integer dtype cannot hold
 */
export function cast<D extends DType>(x: TensorLike, dtype: D): Tensor<D> {
  const from = asTensor("cast: x", x);
  checkDType("cast", dtype);
  if (from.dtype === dtype) return from as Tensor as Tensor<D>;
  const to = converted(from, dtype);
  if (isFloat(from.dtype) && isFloat(dtype))
    record({
      name: "cast",
      inputs: [from],
      outputs: [to],
      backward: ([d]) => [d && converted(d, from.dtype)],
    });
  return to as Tensor<D>;
}

function converted(x: Tensor, dtype: DType): Tensor {
  const { size } = x;
  const out = arrayFor(dtype, size);
  if (x.dtype === "float32" && (dtype === "float16" || dtype === "bfloat16")) {
    const { data, offset } = x.dense() as Tensor<"float32">;
    narrow(dtype, data.subarray(offset, offset + size), out as Uint16Array);
    return new Tensor(out, x.shape, dtype);
  }
  const read = readerOf(x.dtype, x.data);
  const write = writerOf(dtype, out);
  const isInteger = dtype === "int32" || dtype === "int64";
  let next = 0;
  eachRow(x.shape, x.strides, x.offset, (start, count, step) => {
    for (let n = 0; n < count; n++, next++) {
      const value = read(start + n * step);
      if (dtype === "bool") write(next, value === 0 ? 0 : 1);
      else if (isInteger) write(next, wholeNumber(value, dtype));
      else write(next, value);
    }
  });
  return new Tensor(out, x.shape, dtype);
}

function wholeNumber(value: number, dtype: DType): number {
  const n = Math.trunc(value) + 0;
  const limit = dtype === "int32" ? 2 ** 31 : 2 ** 63;
  if (!(n >= -limit && n < limit))
    throw new DTypeError("cast-range", `cast: ${dtype} cannot hold ${formatValue(value)}`, {
      got: value,
      dtype,
    });
  return n;
}

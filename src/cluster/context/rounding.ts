/** dtypes of a call over shards: partial results are float32 or float64; results have the dtype of the input, rounded once. */
import { arrayFor, type FloatDType, isHalf, readerOf, writerOf } from "../../core/dtype.ts";
import { Tensor } from "../../core/tensor.ts";

/** A tensor in the dtype of another, rounded once. */
export function likeInput(t: Tensor, like: Tensor): Tensor {
  if (t.dtype === like.dtype) return t;
  const dense = t.dense();
  const data = new (like.data.constructor as new (n: number) => Tensor["data"])(t.size);
  const [read, write] = [readerOf(dense.dtype, dense.data), writerOf(like.dtype, data)];
  for (let n = 0; n < t.size; n++) write(n, read(dense.offset + n));
  return new Tensor(data, t.shape, like.dtype);
}

/** 16-bit tensors as float32, exactly; other tensors unchanged. */
export function widened(t: Tensor): Tensor {
  if (!isHalf(t.dtype)) return t;
  return likeInput(t, new Tensor(arrayFor("float32", 0), [0], "float32"));
}

/** dtype of gradients and accumulators. */
export const exactDtype = (dtype: FloatDType | string): "float32" | "float64" =>
  dtype === "float64" ? "float64" : "float32";

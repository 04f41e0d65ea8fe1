/** Conversion between dtypes, on the device of the tensor. */

import { isDeviceData } from "../core/device/device.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { arrayFor, checkDType, type DType, isFloat, isInteger } from "../core/dtype.ts";
import { checkCount, UnsupportedError } from "../core/errors.ts";
import { record } from "../core/recording/record.ts";
import { asTensor, type Tensor, type TensorLike } from "../core/tensor.ts";
import { cast as convert } from "./array.ts";

/**
 * The elements in another dtype, rounded once to nearest even. The same tensor where it has that dtype. To `bool`
 * every number but 0 is true; to integers the fraction is truncated. Recorded between float dtypes.
 *
 * @example
 * cast(tensor([[1, 0], [1, 1]]), "bool");   // a 0/1 mask as attnMask takes it
 * const half = cast(tensor([0.5, 1]), "bfloat16"); // half.data has the bits, in a Uint16Array
 * cast(half, "float32"); // → [0.5, 1]
 *
 * @throws DTypeError for an unknown dtype, and for a number that an integer dtype cannot hold; UnsupportedError for numbers of
 *   another device to an integer dtype, since only the CPU can check them
 */
export function cast<D extends DType>(x: TensorLike, dtype: D): Tensor<D> {
  checkCount("cast", arguments, 2);
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
  const { storage, size } = x;
  if (isDeviceData(storage) && isInteger(dtype) && x.dtype !== "bool")
    throw new UnsupportedError(
      "device",
      `cast: ${x.dtype} to ${dtype} needs a check of every number, which the device "${x.device}" does not make; move the tensor: await tensor.to("cpu")`,
      { device: x.device, dtype },
    );
  const y = isDeviceData(storage) ? storage.device.allocate(dtype, size) : arrayFor(dtype, size);
  const to = tensorOver(y, x.shape, dtype);
  convert({ name: "cast", x, y: to });
  return to;
}

/** Copies tensors of the CPU to a device. */
import type { DType, Tensor } from "heed";
import { type Device, tensorOver, viewOf } from "heed/backend";

/** A function that copies a tensor to a device, with its strides and offset. */
export const placeOn =
  (device: Device) =>
  <D extends DType>(t: Tensor<D>): Tensor<D> => {
    const storage = device.allocate(t.dtype, t.data.length);
    device.write(storage, t.data);
    const all = tensorOver(storage, [t.data.length], t.dtype);
    const view = viewOf(all, t.shape, t.strides, t.offset);
    all.dispose();
    return view;
  };

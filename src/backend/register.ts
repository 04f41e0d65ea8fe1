/** Registers the backend of a device, and makes tensors over its storage. Apart from registered.ts, so that a page without such a device does not load it. */
import { type Device, type DeviceData, setPlacement, type TensorStorage } from "../core/device/device.ts";
import { tensorOver as unchecked } from "../core/device/tensor.ts";
import { checkArray, checkDType, type DType, type TypedData } from "../core/dtype.ts";
import { checkArgument, OptionError, refuseGot } from "../core/errors.ts";
import { checkShape, rowMajor as rowMajorOf, type Tensor, sizeOf as uncheckedSize } from "../core/tensor.ts";
import type { Backend } from "./contract.ts";
import { backends } from "./registered.ts";

/**
 * Registers a backend and its device: `tensor.to(device.name)` moves tensors to the device, and their operations run on the
 * backend. Replaces a backend of the same device.
 *
 * @throws OptionError where the two do not name the same device, or name the CPU
 * @beta
 */
export function registerBackend(backend: Backend, device: Device): void {
  if (typeof backend?.device !== "string" || typeof device?.name !== "string")
    refuseGot(
      "backend",
      "registerBackend: expected a backend with the name of its device, and that device",
      backend,
    );
  if (backend.device !== device.name || device.name === "cpu")
    throw new OptionError(
      "device",
      `registerBackend: backend ${backend.name} names the device "${backend.device}", the device is "${device.name}"; they must be equal and not "cpu"`,
    );
  setPlacement({
    device,
    place<D extends DType>(data: TypedData, shape: readonly number[], dtype: D): Tensor<D> {
      const storage = device.allocate(dtype, data.length);
      device.write(storage, data);
      return unchecked(storage, shape, dtype);
    },
  });
  backends.set(device.name, backend);
}

/**
 * A tensor over storage of any device; nothing is copied.
 *
 * @throws unless `storage` is a handle or a typed array of this dtype with an element for each of the shape
 * @beta
 */
export function tensorOver<D extends DType>(
  storage: TensorStorage,
  shape: readonly number[],
  dtype: D,
): Tensor<D> {
  checkShape("tensorOver", shape);
  const size = uncheckedSize(shape);
  checkDType("tensorOver", dtype);
  const { device, dtype: stored = dtype, length } = Object(storage) as Partial<DeviceData>;
  if (device === undefined) checkArray("tensorOver", storage, dtype);
  const isRight = stored === dtype && Number(length) >= size;
  checkArgument(isRight, "tensorOver", `storage of ${size} elements of ${dtype}`, storage);
  return unchecked(storage, shape, dtype);
}

/** Strides of a row-major tensor. @beta */
export function rowMajor(shape: readonly number[]): number[] {
  checkShape("rowMajor", shape);
  return rowMajorOf(shape);
}

/** Number of elements of a shape. @beta */
export function sizeOf(shape: readonly number[]): number {
  checkShape("sizeOf", shape);
  return uncheckedSize(shape);
}

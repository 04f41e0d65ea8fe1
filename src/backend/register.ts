/** Registers the backend of a device. Apart from registered.ts, so that a page without such a device does not load it. */
import { type Device, setPlacement } from "../core/device/device.ts";
import { tensorOver } from "../core/device/tensor.ts";
import type { DType, TypedData } from "../core/dtype.ts";
import { formatValue, OptionError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
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
    throw new OptionError(
      "backend",
      `registerBackend: expected a backend with the name of its device and that device, registerBackend(backend, device), got ${formatValue(backend)} and ${formatValue(device)}`,
      { backend, device },
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
      return tensorOver(storage, shape, dtype);
    },
  });
  backends.set(device.name, backend);
}

/** Tensors on devices other than the CPU: their storage is a handle, which only their device reads. */

import { RELEASE } from "../arena.ts";
import type { DataOf, DType } from "../dtype.ts";
import { UnsupportedError } from "../errors.ts";
import { COPY, denseOf, rowMajor, Tensor, VIEW } from "../tensor.ts";
import { type DeviceData, isDeviceData, type TensorStorage } from "./device.ts";

/** Number of undisposed tensors over each storage; views share a storage. */
const users = /* @__PURE__ */ new WeakMap<DeviceData, number>();

/** The `data` of a device tensor while it is constructed; then reading `data` throws. */
const NO_DATA = /* @__PURE__ */ new Float32Array(0);

/** A tensor on another device: reading its `data` throws. */
class DeviceTensor<D extends DType = DType> extends Tensor<D> {
  readonly #storage: DeviceData;

  constructor(
    storage: DeviceData,
    shape: readonly number[],
    dtype: D,
    strides?: readonly number[],
    offset?: number,
  ) {
    super(NO_DATA, shape, dtype, strides ?? rowMajor(shape), offset);
    this.#storage = storage;
    users.set(storage, (users.get(storage) ?? 0) + 1);
    Object.defineProperty(this, "data", { get: () => throwNotOnCpu(storage) });
  }

  override get device(): string {
    return this.#storage.device.name;
  }

  override get storage(): TensorStorage {
    return this.#storage;
  }

  override [VIEW](shape: readonly number[], strides?: readonly number[], offset?: number): DeviceTensor<D> {
    return new DeviceTensor(this.storage as DeviceData, shape, this.dtype, strides, offset);
  }

  override [COPY](): DeviceTensor<D> {
    const { device } = this.#storage;
    const copied = device.copy(this.storage, this.shape, this.strides, this.offset);
    return new DeviceTensor(copied as DeviceData, this.shape, this.dtype);
  }

  [RELEASE](): void {
    const left = (users.get(this.#storage) ?? 1) - 1;
    users.set(this.#storage, left);
    if (left === 0) this.#storage.device.dispose(this.#storage);
  }

  override async read(): Promise<DataOf<D>> {
    const { storage, offset, size } = denseOf(this);
    const data = await this.#storage.device.read(storage);
    return data.slice(offset, offset + size) as DataOf<D>;
  }
}

function throwNotOnCpu({ device }: DeviceData): never {
  throw new UnsupportedError(
    "device",
    `the elements of this tensor are on the device "${device.name}"; get them with await tensor.read(), or move the tensor with await tensor.to("cpu")`,
    { device: device.name },
  );
}

/** A tensor over storage of any device; nothing is copied, and nothing checked. */
export function tensorOver<D extends DType>(
  storage: TensorStorage,
  shape: readonly number[],
  dtype: D,
): Tensor<D> {
  return isDeviceData(storage) ? new DeviceTensor(storage, shape, dtype) : new Tensor(storage, shape, dtype);
}

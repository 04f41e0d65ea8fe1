/**
 * Devices: where the numbers of a tensor are stored. On the CPU that is a typed array, which every function reads directly.
 * On another device (a GPU) it is an opaque handle: calls enqueue work on it, and only `read` returns numbers,
 * asynchronously. A backend owns the storage of its device; this file holds the interface and the registry of names.
 */
import { zeroArray } from "../arena.ts";
import { arrayFor, type DType, dtypeOf, type TypedData } from "../dtype.ts";
import { formatValue, OptionError, UnsupportedError } from "../errors.ts";

/** Numbers on a device other than the CPU: a handle. @beta */
export interface DeviceData {
  readonly device: Device;
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
}

/** Storage of a tensor: a typed array on the CPU, a handle on another device. @beta */
export type TensorStorage = TypedData | DeviceData;

/** Storage of one device. All methods except `prepare` and `read` return immediately; the device runs them in order. @beta */
export interface Device {
  /** The name that `tensor.to(name)` takes. */
  readonly name: string;
  /** Starts the device, for example awaits the adapter of a GPU; repeated calls start it once. `prepare` and `Tensor.to` call it. */
  prepare?(): Promise<void>;
  /** Zero-filled storage of `length` elements. */
  allocate(dtype: DType, length: number): TensorStorage;
  /** Copies numbers to the device, one for each element of `target`. `values` may be changed afterwards. */
  write(target: TensorStorage, values: TypedData): void;
  /** A copy of the numbers, once all work enqueued before has run. */
  read(source: TensorStorage): Promise<TypedData>;
  /** A row-major copy of a view of `source`. */
  copy(
    source: TensorStorage,
    shape: readonly number[],
    strides: readonly number[],
    offset: number,
  ): TensorStorage;
  /** Releases storage that no tensor uses any more, after the work that is already enqueued. */
  dispose(storage: TensorStorage): void;
}

/** Moves tensors to a device. This file does not import Tensor, which imports it. */
export interface Placement {
  readonly device: Device;
  /** A Tensor on the device with a copy of row-major elements. */
  place(data: TypedData, shape: readonly number[], dtype: DType): unknown;
}

const placements = new Map<string, Placement>();

/** Registers the placement of a device; `registerBackend` calls it. */
export function setPlacement(placement: Placement): void {
  placements.set(placement.device.name, placement);
}

/** The placement of the device with this name. */
export function placementOn(caller: string, name: string): Placement {
  const placement = placements.get(name);
  if (!placement)
    throw new OptionError(
      "device",
      `${caller}: unknown device ${formatValue(name)}; expected one of ${["cpu", ...placements.keys()].join(", ")}${dtypeOf(name) ? `; cast(x, ${formatValue(name)}) changes the dtype` : "; a GPU is await webgpu() of heed/webgpu"}`,
      { got: name },
    );
  return placement;
}

/** Moves a CPU tensor, which the caller passed as numbers or arrays, to the device of a call. */
export const placed = <
  T extends { readonly data: TypedData; readonly shape: readonly number[]; readonly dtype: DType },
>(
  caller: string,
  t: T,
  device: string,
): T => (device === "cpu" ? t : (placementOn(caller, device).place(t.data, t.shape, t.dtype) as T));

/** Throws unless a tensor is on the CPU: for tensors that a call reads before it enqueues work. */
export function checkOnCpu(caller: string, name: string, { device }: { readonly device: string }): void {
  if (device !== "cpu")
    throw new UnsupportedError(
      "device",
      `${caller}: ${name} must be on the CPU, this tensor is on "${device}"; move it: await tensor.to("cpu")`,
      { device },
    );
}

/** True for storage that JavaScript cannot read. @beta */
export const isDeviceData = (storage: TensorStorage): storage is DeviceData => !ArrayBuffer.isView(storage);

/** Zero-filled storage on the device of `like`. */
export const allocateLike = (like: TensorStorage, dtype: DType, length: number): TensorStorage =>
  isDeviceData(like)
    ? like.device.allocate(dtype, length)
    : dtype === "float32"
      ? zeroArray(length)
      : arrayFor(dtype, length);

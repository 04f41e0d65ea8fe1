/**
 * The rule that chooses the backend of an operation, by the device of its tensors and the settings. On the CPU it chooses
 * `wasm` where that supports the operation, else `reference`; on another device the backend of that device. Each of the other
 * files in this folder imports the kernels of one kind of operation, so that a program loads only those that it calls.
 */
import type { Backend, BackendPart, Operation } from "../../backend/contract.ts";
import { registeredBackend } from "../../backend/registered.ts";
import { storageOf } from "../../backend/rowwise.ts";
import { settings } from "../../backend/settings.ts";
import { isDeviceData } from "../../core/device/device.ts";
import { UnsupportedError } from "../../core/errors.ts";
import { sameDevice } from "../../core/tensor.ts";

/** An operation that both backends of the CPU have a part for. */
export type Computation = Exclude<Operation, { kind: "array" }>;

/** The backend for an operation, and why a faster one was not chosen. */
export interface BackendChoice<K extends keyof Backend> {
  readonly backend: BackendPart<K>;
  readonly fallbackReason?: string;
}

/**
 * The rule: which backend runs an operation. `kernels` and `loops` are the parts of the CPU's two backends that it needs.
 *
 * @throws OptionError where its tensors are on different devices, UnsupportedError where the device's backend, or the one
 * that `configure({ backend })` names, does not support it
 */
export function backendFor<K extends keyof Backend>(
  operation: Computation,
  kernels: BackendPart<K>,
  loops: BackendPart<K>,
): BackendChoice<K> {
  const device = deviceOf(operation);
  if (device !== "cpu") return { backend: deviceBackend(device, callerOf(operation), operation) };
  const { backend } = settings();
  if (backend === "reference") return { backend: loops, fallbackReason: 'backend: "reference" was chosen' };
  const fallbackReason = kernels.supports(operation);
  if (fallbackReason === undefined) return { backend: kernels };
  if (backend === "wasm" && operation.kind !== "rowwise")
    throw new UnsupportedError(
      "backend",
      `${callerOf(operation)}: the wasm backend does not support this call: ${fallbackReason}; configure({ backend: "auto" }) runs it on the reference backend`,
      { reason: fallbackReason },
    );
  return { backend: loops, fallbackReason };
}

/** The rule for one kind of operation: a function from the operation to its backend. */
export const chooserOf =
  <K extends keyof Backend>(kernels: BackendPart<K>, loops: BackendPart<K>) =>
  (operation: Computation): BackendPart<K> =>
    backendFor(operation, kernels, loops).backend;

/** The backend of a device, where it supports an operation. */
export function deviceBackend(device: string, caller: string, operation: Operation): Backend {
  const backend = registeredBackend(device);
  const reason = backend ? backend.supports(operation) : "no backend is registered for it";
  if (backend && reason === undefined) return backend;
  throw new UnsupportedError(
    "device",
    `${caller}: not available on the device "${device}": ${reason}; move the tensors to the CPU with await tensor.to("cpu")`,
    { device, reason },
  );
}

/** The device that all tensors of an operation are on. */
function deviceOf(operation: Computation): string {
  if (operation.kind === "rowwise") {
    const { operation: rowwise } = operation;
    // Fast path: all storage is on the CPU.
    if (!Object.values(rowwise).some(isOnDevice)) return "cpu";
    return sameDevice(
      rowwise.name,
      Object.entries(storageOf(rowwise)).map(([name, s]) => [name, isDeviceData(s) ? s.device.name : "cpu"]),
    );
  }
  if (operation.kind === "matmul") {
    const { a, b, bias, accumulate } = operation.product;
    const tensors = { a: a.tensor, b: b.tensor, bias: bias?.tensor, accumulate };
    return sameDevice(operation.product.caller, devicesOf(tensors));
  }
  const { caller, shape, tensors, deviceSinks, deviceTables } = operation.problem;
  const [query, key, value] = [shape.query.tensor, shape.key.tensor, shape.value.tensor];
  const masks = tensors.map((t, n) => [`attnMask[${n}]`, t.tensor.device] as const);
  const tables = deviceTables.map(({ name, source }) => [name, source.device] as const);
  return sameDevice(caller, [...devicesOf({ query, key, value, sinks: deviceSinks }), ...masks, ...tables]);
}

const isOnDevice = (field: unknown): boolean =>
  typeof field === "object" && !ArrayBuffer.isView(field) && field !== null && "device" in field;

/** The devices of named tensors. */
export const devicesOf = (tensors: Record<string, { readonly device: string } | undefined>) =>
  Object.entries(tensors).flatMap(([name, t]) => (t ? [[name, t.device] as const] : []));

const callerOf = (operation: Computation): string =>
  operation.kind === "rowwise"
    ? operation.operation.name
    : operation.kind === "matmul"
      ? operation.product.caller
      : operation.problem.caller;

/**
 * The rule that chooses the backend of an operation, by the device of its tensors and the settings. On the CPU it chooses
 * `wasm` where that supports the operation, else `reference`; on another device the backend of that device. Each of the other
 * files in this folder imports the kernels of one kind of operation, so that a program loads only those that it calls.
 */
import type { AttentionOperation, Backend, BackendPart, Operation } from "../../backend/contract.ts";
import { registeredBackend } from "../../backend/registered.ts";
import { settings } from "../../backend/settings.ts";
import { UnsupportedError } from "../../core/errors.ts";
import { sameDevice } from "../../core/tensor.ts";

/** An operation that both backends of the CPU have a part for. */
export type Computation = Exclude<Operation, { kind: "array" }>;

/** The public function of an operation, and the devices of its tensors with their names; none: all are on the CPU. */
export type Devices = readonly [caller: string, devices: readonly (readonly [string, string])[]];

/** The backend for an operation, and why a faster one was not chosen. */
type BackendChoice<K extends keyof Backend> = { backend: BackendPart<K>; fallbackReason?: string };

/**
 * The rule: which backend runs an operation. `kernels` and `loops` are the parts of the CPU's two backends that it needs.
 *
 * @throws OptionError where its tensors are on different devices, UnsupportedError where the device's backend, or the one
 * that `configure({ backend })` names, does not support it
 */
export function backendFor<K extends keyof Backend>(
  operation: Computation,
  [caller, devices]: Devices,
  kernels: BackendPart<K>,
  loops: BackendPart<K>,
): BackendChoice<K> {
  const device = devices.length > 0 ? sameDevice(caller, devices) : "cpu";
  if (device !== "cpu") return { backend: deviceBackend(device, caller, operation) };
  const { backend } = settings();
  if (backend === "reference") return { backend: loops, fallbackReason: 'backend: "reference" was chosen' };
  const fallbackReason = kernels.supports(operation);
  if (fallbackReason === undefined) return { backend: kernels };
  if (backend === "wasm" && operation.kind !== "rowwise")
    throw new UnsupportedError(
      "backend",
      `${caller}: the wasm backend does not support this call: ${fallbackReason}; configure({ backend: "auto" }) runs it on the reference backend`,
      { reason: fallbackReason },
    );
  return { backend: loops, fallbackReason };
}

/** The rule for one kind of operation: a function from the operation to its backend. */
export const chooserOf =
  <K extends keyof Backend, O extends Computation>(
    kernels: BackendPart<K>,
    loops: BackendPart<K>,
    devices: (operation: O) => Devices,
  ) =>
  (operation: O): BackendPart<K> =>
    backendFor(operation, devices(operation), kernels, loops).backend;

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

/** The devices of a matrix product. */
export function productDevices({ product }: Extract<Operation, { kind: "matmul" }>): Devices {
  const { a, b, bias, accumulate } = product;
  return [product.caller, devicesOf({ a: a.tensor, b: b.tensor, bias: bias?.tensor, accumulate })];
}

/** The devices of an attention call. */
export function attentionDevices({ problem }: AttentionOperation): Devices {
  const { caller, shape, tensors, deviceSinks, deviceTables } = problem;
  const [query, key, value] = [shape.query.tensor, shape.key.tensor, shape.value.tensor];
  const masks = tensors.map((t, n) => [`attnMask[${n}]`, t.tensor.device] as const);
  const tables = deviceTables.map(({ name, source }) => [name, source.device] as const);
  return [caller, [...devicesOf({ query, key, value, sinks: deviceSinks }), ...masks, ...tables]];
}

/** The devices of named tensors. */
export const devicesOf = (tensors: Record<string, { readonly device: string } | undefined>) =>
  Object.entries(tensors).flatMap(([name, t]) => (t ? [[name, t.device] as const] : []));

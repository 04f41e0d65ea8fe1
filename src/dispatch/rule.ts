/**
 * Which backend runs an operation: decided here, once, by where its tensors are and by the settings. Tensors on the CPU go to
 * `wasm` where it supports the operation and to `reference` elsewhere; tensors on another device go to its backend. The files
 * beside this one name the kernels of one kind of operation each, so that a program loads those that it calls.
 */
import type { Backend, BackendPart, Operation } from "../backend/contract.ts";
import { storageOf } from "../backend/rowwise.ts";
import { settings } from "../backend/settings.ts";
import { type Device, isDeviceData } from "../core/device.ts";
import { registerDevice } from "../core/device-tensor.ts";
import { OptionError, UnsupportedError } from "../core/errors.ts";

const backends = new Map<string, Backend>();

/** Makes a backend and its device known: `tensor.to(device.name)` moves tensors there, and their operations run on the backend. */
export function registerBackend(backend: Backend, device: Device): void {
  if (backend.device !== device.name || device.name === "cpu")
    throw new OptionError(
      "device",
      `registerBackend: backend ${backend.name} names the device "${backend.device}", the device is "${device.name}"; they must be equal and not "cpu"`,
    );
  registerDevice(device);
  backends.set(device.name, backend);
}

/** A backend for an operation, and why a faster one was not chosen. */
export interface Choice<K extends keyof Backend> {
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
  operation: Operation,
  kernels: BackendPart<K>,
  loops: BackendPart<K>,
): Choice<K> {
  const device = deviceOf(operation);
  if (device !== "cpu") return { backend: deviceBackend(device, operation) };
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
  (operation: Operation): BackendPart<K> =>
    backendFor(operation, kernels, loops).backend;

function deviceBackend(device: string, operation: Operation): Backend {
  const backend = backends.get(device);
  const reason = backend ? backend.supports(operation) : "no backend is registered for it";
  if (backend && reason === undefined) return backend;
  throw new UnsupportedError(
    "device",
    `${callerOf(operation)}: not available on the device "${device}": ${reason}; move the tensors to the CPU with await tensor.to("cpu")`,
    { device, reason },
  );
}

/** The device that all tensors of an operation are on. */
function deviceOf(operation: Operation): string {
  if (operation.kind === "rowwise") {
    const { operation: rowwise } = operation;
    // The common case, without a list of names: all of it is on the CPU.
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
  const { caller, shape, tensors } = operation.problem;
  const [query, key, value] = [shape.query.tensor, shape.key.tensor, shape.value.tensor];
  const masks = tensors.map((t, n) => [`attnMask[${n}]`, t.tensor.device] as const);
  return sameDevice(caller, [...devicesOf({ query, key, value }), ...masks]);
}

const isOnDevice = (field: unknown): boolean =>
  typeof field === "object" && !ArrayBuffer.isView(field) && field !== null && "device" in field;

const devicesOf = (tensors: Record<string, { readonly device: string } | undefined>) =>
  Object.entries(tensors).flatMap(([name, t]) => (t ? [[name, t.device] as const] : []));

/** The one device of some tensors, or an error that names the conversion. */
export function sameDevice(caller: string, tensors: readonly (readonly [string, string])[]): string {
  const [[first, device]] = tensors;
  for (const [name, other] of tensors)
    if (other !== device)
      throw new OptionError(
        "device",
        `${caller}: ${first} is on the device "${device}", but ${name} is on "${other}"; move one of them, e.g. await ${name}.to("${device}")`,
        { devices: Object.fromEntries(tensors) },
      );
  return device;
}

const callerOf = (operation: Operation): string =>
  operation.kind === "rowwise"
    ? operation.operation.name
    : operation.kind === "matmul"
      ? operation.product.caller
      : operation.problem.caller;

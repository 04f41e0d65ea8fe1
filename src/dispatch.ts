/**
 * Which backend runs an operation: decided here, once, by where its tensors are and by the settings. Tensors on the CPU go to
 * `wasm` where it supports the operation and to `reference` elsewhere; tensors on another device go to its backend.
 */
import type { AttentionOperation, Backend, BackendPart, Operation } from "./backend/contract.ts";
import type { PackedDType, PackedMatrix } from "./backend/packed.ts";
import { type Plan, printPlan } from "./backend/plan.ts";
import type { Problem } from "./backend/problem.ts";
import type { Product } from "./backend/product.ts";
import { type RowwiseOperation, storageOf } from "./backend/rowwise.ts";
import { settings } from "./backend/settings.ts";
import type { Arena } from "./core/arena.ts";
import { type Device, isDeviceData } from "./core/device.ts";
import { registerDevice } from "./core/device-tensor.ts";
import type { DType } from "./core/dtype.ts";
import { formatValue, OptionError, ShapeError, UnsupportedError } from "./core/errors.ts";
import type { Tensor } from "./core/tensor.ts";
import {
  referenceBackward,
  referenceForward,
  referenceMatmul,
  referencePlans,
  referenceRowwise,
  referenceWeights,
} from "./reference/backend.ts";
import {
  empty as emptyWasm,
  packedMatrix,
  packedProduct,
  prepare as prepareWasm,
  stepArena as stepArenaWasm,
  wasmAttentionPlans,
  wasmBackward,
  wasmForward,
  wasmMatmul,
  wasmMatmulPlans,
  wasmRowwise,
  wasmWeights,
} from "./wasm/backend.ts";

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

/** The backend of an attention call's forward pass. */
export const forwardBackend = (problem: Problem): BackendPart<"forward"> =>
  backendFor({ kind: "forward", problem }, wasmForward, referenceForward).backend;

/** The backend that rebuilds weights of an attention call. */
export const weightsBackend = (problem: Problem): BackendPart<"weights"> =>
  backendFor({ kind: "weights", problem }, wasmWeights, referenceWeights).backend;

/** The backend of an attention call's backward pass. */
export const backwardBackend = (problem: Problem): BackendPart<"backward"> =>
  backendFor({ kind: "backward", problem }, wasmBackward, referenceBackward).backend;

/** The backend of a matrix product. */
export const matmulBackend = (product: Product): BackendPart<"matmul"> =>
  backendFor({ kind: "matmul", product }, wasmMatmul, referenceMatmul).backend;

/** The backend of a row-wise operation. */
export const rowwiseBackend = (operation: RowwiseOperation): BackendPart<"rowwise"> =>
  backendFor({ kind: "rowwise", operation }, wasmRowwise, referenceRowwise).backend;

/** A backend for an operation, and why a faster one was not chosen. */
interface Choice<K extends keyof Backend> {
  readonly backend: BackendPart<K>;
  readonly fallbackReason?: string;
}

/**
 * The rule: which backend runs an operation. `kernels` and `loops` are the parts of the CPU's two backends that it needs.
 *
 * @throws OptionError where its tensors are on different devices, UnsupportedError where the device's backend, or the one
 * that `configure({ backend })` names, does not support it
 */
function backendFor<K extends keyof Backend>(
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

/** A plan that prints. */
export type PrintablePlan = Plan & {
  /** The plan as lines of text. */
  toString(): string;
};

/** The plan of an attention call, with the reason where a faster backend was not chosen. */
export const planOfAttention = (operation: AttentionOperation): PrintablePlan =>
  planOf(operation, wasmAttentionPlans);

/** The plan of a matrix product, with the reason where a faster backend was not chosen. */
export const planOfProduct = (product: Product): PrintablePlan =>
  planOf({ kind: "matmul", product }, wasmMatmulPlans);

function planOf(operation: Operation, kernels: BackendPart<"plan">): PrintablePlan {
  const { backend, fallbackReason } = backendFor(operation, kernels, referencePlans);
  const plan = { ...backend.plan(operation), ...(fallbackReason === undefined ? {} : { fallbackReason }) };
  return Object.defineProperty(plan, "toString", { value: () => printPlan(plan), enumerable: false });
}

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

/**
 * A zero-filled tensor in the memory of the CPU's kernels, which use it where it is: a key/value cache is not copied at each
 * step. The memory is released when the tensor and all views of its `data` are collected in the thread that made it; keep
 * the tensor there for as long as another thread uses it. Without shared memory (a page that is not cross-origin isolated, a policy
 * against WebAssembly) it is an ordinary tensor, and calls copy it.
 *
 * @example
 * const cache = empty([1, 2, 1024, 8], "bfloat16"); // keys of 1,024 positions, used where they are
 */
export function empty<D extends DType = "float32">(
  shape: readonly number[],
  dtype: D = "float32" as D,
): Tensor<D> {
  if (!Array.isArray(shape))
    throw new ShapeError("shape", `empty: shape must be a list of lengths, got ${formatValue(shape)}`, {
      got: shape,
    });
  return emptyWasm(shape, dtype);
}

/**
 * Starts worker threads and selects the SIMD level ahead of the first call, and resolves, without blocking, to the number of
 * threads that are ready. Calls work without it; the first ones then run on fewer threads.
 *
 * @example
 * await prepare(); // the threads run before the first call
 */
export async function prepare(): Promise<number> {
  return settings().backend === "reference" ? 1 : prepareWasm();
}

/** A packed matrix of zeros [N, K]; undefined where no backend of the CPU packs matrices. */
export const allocatePacked = (
  shape: readonly [number, number],
  dtype: PackedDType,
): PackedMatrix | undefined => (settings().backend === "reference" ? undefined : packedMatrix(shape, dtype));

/** Fills a product with a packed matrix; false where the settings ask for another backend than the one that packed it. */
export const fillPacked = (product: Parameters<typeof packedProduct>[0]): boolean =>
  settings().backend !== "reference" && packedProduct(product);

/** The arena for the results of a scope (core/arena.ts); undefined where no backend has one. */
export function stepArena(): Arena | undefined {
  return settings().backend === "reference" ? undefined : stepArenaWasm();
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

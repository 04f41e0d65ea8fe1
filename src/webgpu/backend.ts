/** The backend of the device `"webgpu"`: which operations it runs, and the functions that enqueue them. */
import type { Backend } from "../backend/contract.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { sizeOf } from "../core/tensor.ts";
import { forward } from "./attention/forward.ts";
import { backward } from "./attention/gradients.ts";
import { map } from "./attention/map.ts";
import { weights } from "./attention/weights.ts";
import { device, session } from "./device.ts";
import { runArrayOperation } from "./ops/array.ts";
import { matmul } from "./ops/matmul.ts";
import { runRowwise } from "./ops/rowwise.ts";
import { plan } from "./plan.ts";
import type { TestedOperation } from "./self-test/cases.ts";
import { checked } from "./self-test/first-use.ts";
import type { GpuSession } from "./session.ts";
import { supports } from "./supports.ts";

/** The backend. */
export const backend: Backend = {
  name: "webgpu",
  device: device.name,
  supports,
  allocate: (shape, dtype) => tensorOver(device.allocate(dtype, sizeOf(shape)), shape, dtype),
  plan,
  forward: (problem) => use({ kind: "forward", problem }, (on) => forward(on, problem)),
  weights: (problem, lse, selection) => use({ kind: "weights", problem }, (on) => weights(on, problem, lse, selection)),
  map: (problem, lse, cells) => use({ kind: "map", problem }, (on) => map(on, problem, lse, cells)),
  backward: (problem, tensors, wanted) => use({ kind: "backward", problem, tensors, wanted }, (on) => backward(on, problem, tensors, wanted)),
  matmul: (product) => use({ kind: "matmul", product }, (on) => matmul(on, product)),
  rowwise: (operation) => use({ kind: "rowwise", operation }, (on) => runRowwise(on, operation)),
  array: (operation) => use({ kind: "array", operation }, (on) => runArrayOperation(on, operation)),
}; // biome-ignore format: a row an operation

/** Runs an operation on the session. At the first use of its kernels they are tested. */
function use<T>(operation: TestedOperation, work: (on: GpuSession) => T): T {
  const on = session();
  return checked(on, operation, () => work(on));
}

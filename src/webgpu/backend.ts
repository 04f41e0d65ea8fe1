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
import { supports } from "./supports.ts";

/** The backend. */
export const backend: Backend = {
  name: "webgpu",
  device: device.name,
  supports,
  allocate: (shape, dtype) => tensorOver(device.allocate(dtype, sizeOf(shape)), shape, dtype),
  plan,
  forward: (problem) => forward(session(), problem),
  weights: (problem, lse, selection) => weights(session(), problem, lse, selection),
  map: (problem, lse, cells) => map(session(), problem, lse, cells),
  backward: (problem, tensors, wanted) => backward(session(), problem, tensors, wanted),
  matmul: (product) => matmul(session(), product),
  rowwise: (operation) => runRowwise(session(), operation),
  array: (operation) => runArrayOperation(session(), operation),
};

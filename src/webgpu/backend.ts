/** The backend of the device `"webgpu"`: which operations it runs, and the functions that enqueue them. */
import type { Backend, Operation } from "../backend/contract.ts";
import { tensorOver } from "../core/device/tensor.ts";
import { UnsupportedError } from "../core/errors.ts";
import { sizeOf } from "../core/tensor.ts";
import { forward } from "./attention/forward.ts";
import { device, session } from "./device.ts";
import { plan } from "./plan.ts";
import { supports } from "./supports.ts";

const refuse = (operation: Operation): never => {
  throw new UnsupportedError("device", `the device "webgpu": ${supports(operation)}`);
};

/** The backend. */
export const backend: Backend = {
  name: "webgpu",
  device: device.name,
  supports,
  allocate: (shape, dtype) => tensorOver(device.allocate(dtype, sizeOf(shape)), shape, dtype),
  plan,
  forward: (problem) => forward(session(), problem),
  weights: (problem) => refuse({ kind: "weights", problem }),
  backward: (problem) => refuse({ kind: "backward", problem }),
  matmul: (product) => refuse({ kind: "matmul", product }),
  rowwise: (operation) => refuse({ kind: "rowwise", operation }),
  array: (operation) => refuse({ kind: "array", operation }),
};

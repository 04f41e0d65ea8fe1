/** The two sides of a self-test: the GPU, and the CPU in float64. */
import { mapByRows } from "../../backend/map.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { arrayFor, type DType } from "../../core/dtype.ts";
import { sizeOf, Tensor } from "../../core/tensor.ts";
import { referenceMatmul, referenceRowwise } from "../../reference/backend.ts";
import { arrayOperation } from "../../reference/order.ts";
import { rowStats } from "../attention/backward.ts";
import { forward } from "../attention/forward.ts";
import { backward, extraGradients } from "../attention/gradients.ts";
import { map } from "../attention/map.ts";
import { weights } from "../attention/weights.ts";
import { device, gpuStorage, uninitialized } from "../device.ts";
import { runArrayOperation } from "../ops/array.ts";
import { copyView } from "../ops/copy.ts";
import { matmul } from "../ops/matmul.ts";
import { runRowwise } from "../ops/rowwise.ts";
import type { GpuSession } from "../session.ts";
import type { Maker } from "./cases.ts";
import * as formula from "./formula.ts";

const numbers = (seed: number, shape: readonly number[], f: (x: number) => number = (x) => x): Float32Array =>
  Float32Array.from({ length: sizeOf(shape) }, (_, n) => f(Math.sin(seed + 1.7 * n * (1 + seed / 7))));

/** The CPU: the same numbers, computed in float64. */
export const onCpu: Maker = {
  ...referenceMatmul,
  ...referenceRowwise,
  array: arrayOperation,
  forward: formula.forward,
  weights: (problem, lse, { heads, rows }) => formula.weights(problem, lse, heads, rows),
  map: (problem, lse, cells) => mapByRows(problem, cells, ({ heads, rows }) => formula.weights(problem, lse, heads, rows)),
  backward: formula.backward,
  extraGradients: formula.backward,
  input: (seed, shape, f) => new Tensor(Float64Array.from(numbers(seed, shape, f)), shape, "float64"),
  result(shape, dtype = "float32") {
    const wide: DType = dtype === "float32" ? "float64" : dtype;
    return new Tensor(arrayFor(wide, sizeOf(shape)), shape, wide);
  },
  copy: (view) => view.contiguous(),
  exactState: (problemOf) => formula.forward(problemOf(onCpu)),
}; // biome-ignore format: a row an operation

/** The GPU; every tensor that it makes is added to `tensors`. */
export function onGpu(session: GpuSession, tensors: Tensor[]): Maker {
  const result: Maker["result"] = (shape, dtype = "float32") => {
    const t = tensorOver(uninitialized(dtype, sizeOf(shape)), shape, dtype);
    tensors.push(t);
    return t;
  };
  const filled = (values: Float32Array, shape: readonly number[]): Tensor => {
    const t = result(shape);
    device.write(t.storage, values);
    return t;
  };
  return {
    result,
    input: (seed, shape, f) => filled(numbers(seed, shape, f), shape),
    copy(view) {
      const target = result(view.shape, view.dtype);
      copyView(session, gpuStorage(view.storage), view, gpuStorage(target.storage));
      return target;
    },
    exactState(problemOf) {
      const { output, lse } = onCpu.exactState(problemOf);
      const [o, l] = [output, lse].map((t) => filled(Float32Array.from(t.toFloat64()), t.shape));
      return { output: o, lse: l };
    },
    forward: (problem, shape) => forward(session, problem, shape),
    weights: (problem, lse, selection) => weights(session, problem, lse, selection),
    map: (problem, lse, cells) => map(session, problem, lse, cells),
    backward: (problem, tensors, wanted) => backward(session, problem, tensors, wanted),
    extraGradients(problem, tensors) {
      const stats = rowStats(session, problem, tensors);
      const gradients = extraGradients(session, problem, tensors.dOutput, stats, ["mask", "sinks", "tables"]);
      stats.memory.dispose(stats);
      return gradients;
    },
    matmul: (product) => matmul(session, product),
    rowwise: (operation) => runRowwise(session, operation),
    array: (operation) => runArrayOperation(session, operation),
  };
}

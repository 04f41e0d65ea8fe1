/** The two sides of a self-test: the GPU, and the CPU in float64. */
import { mapByRows } from "../../backend/map.ts";
import { tensorOver } from "../../core/device/tensor.ts";
import { arrayFor, type DType, isFloat, type TypedData, writerOf } from "../../core/dtype.ts";
import { sizeOf, Tensor } from "../../core/tensor.ts";
import { referenceMatmul, referenceRowwise } from "../../reference/backend.ts";
import { arrayOperation } from "../../reference/order.ts";
import { forward } from "../attention/forward.ts";
import { backward } from "../attention/gradients.ts";
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

/** Numbers as they are stored in a dtype. */
function stored(length: number, dtype: DType, numberAt: (n: number) => number): TypedData {
  const data = arrayFor(dtype, length);
  const write = writerOf(dtype, data);
  for (let n = 0; n < length; n++) write(n, numberAt(n));
  return data;
}

const numbers = (
  seed: number,
  shape: readonly number[],
  f: (x: number) => number = (x) => x,
  dtype: DType = "float32",
) => stored(sizeOf(shape), dtype, (n) => f(Math.sin(seed + 1.7 * n * (1 + seed / 7))));

/** The CPU: the same numbers, computed in float64; `shift` as in formula.ts. */
export const onCpu = (shift = 0): Maker => ({
  ...referenceMatmul,
  ...referenceRowwise,
  array: arrayOperation,
  forward: (problem) => formula.forward(problem, shift),
  weights: (problem, lse, selection) => formula.weights(problem, lse, selection, shift),
  map: (problem, lse, cells) => mapByRows(problem, cells, (part) => formula.weights(problem, lse, part, shift)),
  backward: (problem, tensors) => formula.backward(problem, tensors, shift),
  input(seed, shape, f, dtype = "float32") {
    const stored = new Tensor(numbers(seed, shape, f, dtype), shape, dtype);
    return isFloat(dtype) ? new Tensor(new Float64Array(stored.toFloat64()), shape, "float64") : stored;
  },
  result(shape, dtype = "float32") {
    const wide: DType = dtype === "float32" ? "float64" : dtype;
    return new Tensor(arrayFor(wide, sizeOf(shape)), shape, wide);
  },
  copy: (view) => view.contiguous(),
  exactState: (problemOf) => formula.forward(problemOf(onCpu())),
}); // biome-ignore format: a row an operation

/** The GPU; every tensor that it makes is added to `tensors`. */
export function onGpu(session: GpuSession, tensors: Tensor[]): Maker {
  const result: Maker["result"] = (shape, dtype = "float32") => {
    const t = tensorOver(uninitialized(dtype, sizeOf(shape)), shape, dtype);
    tensors.push(t);
    return t;
  };
  const filled = (values: TypedData, shape: readonly number[], dtype?: DType): Tensor => {
    const t = result(shape, dtype);
    device.write(t.storage, values);
    return t;
  };
  return {
    result,
    input: (seed, shape, f, dtype) => filled(numbers(seed, shape, f, dtype), shape, dtype),
    copy(view) {
      const target = result(view.shape, view.dtype);
      copyView(session, gpuStorage(view.storage), view, gpuStorage(target.storage));
      return target;
    },
    exactState(problemOf, dtype = "float32") {
      const { output, lse } = onCpu().exactState(problemOf);
      const placed = (t: Tensor, as: DType) =>
        filled(
          stored(t.size, as, (n) => t.data[n] as number),
          t.shape,
          as,
        );
      return { output: placed(output, dtype), lse: placed(lse, "float32") };
    },
    forward: (problem, shape) => forward(session, problem, shape),
    weights: (problem, lse, selection) => weights(session, problem, lse, selection),
    map: (problem, lse, cells) => map(session, problem, lse, cells),
    backward: (problem, tensors, wanted) => backward(session, problem, tensors, wanted),
    matmul: (product) => matmul(session, product),
    rowwise: (operation) => runRowwise(session, operation),
    array: (operation) => runArrayOperation(session, operation),
  };
}

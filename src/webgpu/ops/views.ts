/** Views in kernels: the index of an element in a storage, from its index in row-major order. */
import { rowMajor, type Tensor } from "../../core/tensor.ts";
import type { KernelParams } from "../kernel.ts";

/** Where the elements of a view are. */
export interface StridedView {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** The view of a tensor broadcast to a shape, aligned at the last axes. */
export function broadcast(t: Tensor, shape: readonly number[]): StridedView {
  const missing = shape.length - t.shape.length;
  const strides = shape.map((_, axis) =>
    axis < missing || t.shape[axis - missing] === 1 ? 0 : t.strides[axis - missing],
  );
  return { shape, strides, offset: t.offset };
}

/** A view with as few axes as possible: adjacent axes that are one run of elements become one axis. */
function collapsed({ shape, strides, offset }: StridedView): StridedView {
  const lengths: number[] = [];
  const steps: number[] = [];
  shape.forEach((length, axis) => {
    if (length === 1) return;
    const last = lengths.length - 1;
    if (last >= 0 && steps[last] === strides[axis] * length) {
      lengths[last] *= length;
      steps[last] = strides[axis];
    } else {
      lengths.push(length);
      steps.push(strides[axis]);
    }
  });
  return { shape: lengths, strides: steps, offset };
}

/** A function `NAME(n)`: the index in the storage of element n in row-major order. */
export function indexFunction(params: KernelParams, name: string, view: StridedView): string {
  const { shape, strides, offset } = collapsed(view);
  const from = params.i32(offset);
  const dense = rowMajor(shape);
  if (shape.length === 0 || (shape.length === 1 && strides[0] === 1))
    return `fn ${name}(n: i32) -> i32 { return n + ${from}; }`;
  const lines = shape.map((_, axis) => {
    const step = params.i32(strides[axis]);
    if (axis === shape.length - 1) return `at += rest * ${step};`;
    const size = params.i32(dense[axis]);
    return `at += (rest / ${size}) * ${step}; rest = rest % ${size};`;
  });
  return `fn ${name}(n: i32) -> i32 {\n  var rest = n;\n  var at = ${from};\n  ${lines.join("\n  ")}\n  return at;\n}`;
}

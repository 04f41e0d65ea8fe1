/**
 * Tensors on their way into and out of a backward pass: outputs and lse checked against the call, gradients brought into
 * the shape, layout and dtype of what they are the gradient of.
 */
import { arrayFor, type FloatDType, isFloat, readerOf, writerOf } from "../core/dtype.ts";
import { DTypeError, formatTensor, ShapeError } from "../core/errors.ts";
import { batchBases, type Operand, operandOf, outputShape, rowShape, type Shape } from "../core/shape.ts";
import { asTensor, rowMajor, sizeOf, Tensor, type TensorLike, transposed } from "../core/tensor.ts";
import type { LseReader } from "./contract.ts";
import type { Problem } from "./problem.ts";

/** What came back from the forward pass, or the gradient of it, checked against the call. */
export function checkOutputLike(what: string, name: string, like: TensorLike, problem: Problem): Operand {
  const t = asTensor(`${what}: ${name}`, like);
  const want = outputShape(problem.shape);
  if (t.shape.join() !== want.join())
    throw new ShapeError(
      name,
      `${what}: ${name} must have the shape of the output, [${want.join(", ")}], got ${formatTensor(name, t)}`,
      { got: t.shape, want },
    );
  if (!isFloat(t.dtype) || (t.dtype === "float64") !== (problem.dtype === "float64"))
    throw new DTypeError(
      name,
      `${what}: ${name} must be ${problem.dtype === "float64" ? "float64" : "float32, float16 or bfloat16"} as the call is, got ${formatTensor(name, t)}`,
      { got: t.dtype, want: problem.dtype },
    );
  return operandOf(problem.shape, t);
}

/** lse [..., Hq, Nq] as a reader, checked against the call. */
export function lseReader(what: string, like: TensorLike, problem: Problem): LseReader {
  const t = asTensor(`${what}: lse`, like);
  const { shape } = problem;
  const want = rowShape(shape);
  const dtype = problem.dtype === "float64" ? "float64" : "float32";
  if (t.shape.join() !== want.join() || t.dtype !== dtype)
    throw new ShapeError(
      "lse",
      `${what}: lse must be [${want.join(", ")}] ${dtype}, got ${formatTensor("lse", t)}`,
      {
        got: t.shape,
        dtype: t.dtype,
      },
    );
  const dense = t.dense();
  const read = readerOf(dense.dtype, dense.data);
  return (b: number, h: number, row: number) => read(dense.offset + (b * shape.Hq + h) * shape.Nq + row);
}

/** The gradient of one input: in its layout, in its dtype, summed over the batch axes it was broadcast along. */
export function reduceToInput(
  full: Float32Array | Float64Array,
  shape: Shape,
  input: Operand,
  H: number,
  N: number,
  D: number,
): Tensor<FloatDType> {
  const own = input.tensor.shape;
  const dtype = input.tensor.dtype as FloatDType;
  const each = H * N * D;
  const lead = own.slice(0, Math.max(0, own.length - (shape.heads ? 3 : 2)));
  const bases = batchBases(0, lead, rowMajor([...lead, each]).slice(0, lead.length), shape.batch);
  const count = sizeOf(lead);
  const plain = full.length === count * each && shape.layout === "bhsd";
  if (plain && (dtype === "float32" || dtype === "float64")) return new Tensor(full, own, dtype);
  const sum = full.length === count * each ? full : new Float64Array(count * each);
  if (sum !== full)
    for (let b = 0; b < shape.B; b++) for (let n = 0; n < each; n++) sum[bases[b] + n] += full[b * each + n];
  const source = new Tensor(sum, [count, H, N, D], sum instanceof Float64Array ? "float64" : "float32");
  const turned = shape.layout === "bshd" ? transposed(source, 1, 2).dense() : source;
  return castTo(turned.data as Float64Array, own, dtype);
}

/** Numbers in a dtype, rounded once. */
export function castTo(
  data: Float32Array | Float64Array,
  shape: readonly number[],
  dtype: FloatDType,
): Tensor<FloatDType> {
  const exact = data instanceof Float64Array ? "float64" : "float32";
  if (dtype === exact) return new Tensor(data, shape, dtype);
  const out = arrayFor(dtype, data.length);
  const write = writerOf(dtype, out);
  for (let n = 0; n < data.length; n++) write(n, data[n]);
  return new Tensor(out, shape, dtype);
}

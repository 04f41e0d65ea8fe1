/** Gradients of a backward pass: allocates their arrays, and returns them as tensors. Results of a forward pass: results.ts. */
import { arrayFor, type FloatDType, isFloat, writerOf } from "../core/dtype.ts";
import { DTypeError, formatTensor, ShapeError } from "../core/errors.ts";
import { batchBases, cellStrides, type Operand, operandOf, outputShape, type Shape } from "../core/shape.ts";
import type { WorkSlices } from "../core/slices.ts";
import { asTensor, denseOf, rowMajor, sizeOf, Tensor, type TensorLike, transposed } from "../core/tensor.ts";
import { type Table, tablesOf } from "../masks/expression/expr.ts";
import type {
  BackwardInputs,
  BackwardResult,
  BackwardTensors,
  Extra,
  Gradients,
  MaskGradient,
} from "./contract.ts";
import type { MaskTensor, Problem } from "./problem.ts";
import { lseReader, zeros } from "./results.ts";

/** A tensor of the output's shape, checked: the output itself or its gradient. */
export function checkOutputLike(what: string, name: string, like: TensorLike, problem: Problem): Tensor {
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
  return t;
}

/** Allocates the gradients, has `pass` fill them slice by slice, and returns each in the shape and dtype of its tensor. */
export function* computeGradients(
  problem: Problem,
  tensors: BackwardTensors,
  wanted: readonly Extra[],
  pass: (inputs: BackwardInputs, gradients: Gradients) => Generator<number, void>,
): WorkSlices<BackwardResult> {
  const { shape } = problem;
  const { Hq, Hkv, Nq, Nk, dk, dv } = shape;
  const gradients = allocateGradients(problem, wanted);
  const inputs = {
    dOutput: operandOf(shape, tensors.dOutput),
    output: operandOf(shape, tensors.output),
    lse: lseReader(shape, tensors.lse),
  };
  yield* pass(inputs, gradients);
  return {
    dQuery: reduceToInput(gradients.dQuery, shape, shape.query, Hq, Nq, dk),
    dKey: reduceToInput(gradients.dKey, shape, shape.key, Hkv, Nk, dk),
    dValue: reduceToInput(gradients.dValue, shape, shape.value, Hkv, Nk, dv),
    masks: gradients.masks.map((g, n) => {
      const { tensor } = problem.tensors[n];
      return g && castTo(g.data, tensor.shape, tensor.dtype as FloatDType);
    }),
    ...(gradients.sinks && {
      sinks: castTo(gradients.sinks, [Hq], problem.dtype === "float64" ? "float64" : "float32"),
    }),
    tables: new Map(
      [...gradients.tables].map(([t, data]) => [t, castTo(data, t.shape, t.dtype as FloatDType)]),
    ),
  };
}

/** Arrays for all gradients, zero. */
function allocateGradients(problem: Problem, wanted: readonly Extra[]): Gradients {
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = problem.shape;
  const numbers = (n: number) => (problem.dtype === "float64" ? new Float64Array(n) : zeros(n));
  const tables = wanted.includes("tables") ? floatTables(problem) : [];
  return {
    dQuery: numbers(B * Hq * Nq * dk),
    dKey: numbers(B * Hkv * Nk * dk),
    dValue: numbers(B * Hkv * Nk * dv),
    masks: problem.tensors.map((t) =>
      wanted.includes("mask") && t.kind === "float" ? allocateMaskGradient(t, problem.shape) : undefined,
    ),
    ...(wanted.includes("sinks") && problem.sinks && { sinks: new Float64Array(Hq) }),
    tables: new Map(tables.map((t) => [t, new Float64Array(t.data.length)])),
  };
}

/** The tables of floats that the score mods read: only these have a gradient. */
export const floatTables = (problem: Problem): Table[] =>
  problem.score ? tablesOf(problem.score).filter((t) => t.type === "float") : [];

/** The gradient of a mask tensor, zero: row-major, in the shape of the tensor. */
function allocateMaskGradient({ tensor }: MaskTensor, shape: Shape): MaskGradient {
  return { data: new Float64Array(tensor.size), ...cellStrides(shape, tensor.shape, rowMajor(tensor.shape)) };
}

/** The gradient of one input in its layout and dtype, summed over its broadcast batch axes. */
export function reduceToInput(
  full: Float32Array | Float64Array,
  shape: Shape,
  input: Operand,
  H: number,
  N: number,
  D: number,
): Tensor<FloatDType> {
  const inputShape = input.tensor.shape;
  const dtype = input.tensor.dtype as FloatDType;
  const each = H * N * D;
  const lead = inputShape.slice(0, Math.max(0, inputShape.length - (shape.heads ? 3 : 2)));
  const bases = batchBases(0, lead, rowMajor([...lead, each]).slice(0, lead.length), shape.batch);
  const count = sizeOf(lead);
  const plain = full.length === count * each && shape.layout === "bhsd";
  // Second derivatives of float32 tensors are computed in float64, and rounded.
  const isStored = dtype === (full instanceof Float64Array ? "float64" : "float32");
  if (plain && isStored) return new Tensor(full, inputShape, dtype);
  const sum = full.length === count * each ? full : new Float64Array(count * each);
  if (sum !== full)
    for (let b = 0; b < shape.B; b++) for (let n = 0; n < each; n++) sum[bases[b] + n] += full[b * each + n];
  const source = new Tensor(sum, [count, H, N, D], sum instanceof Float64Array ? "float64" : "float32");
  const turned = shape.layout === "bshd" ? denseOf(transposed(source, 1, 2)) : source;
  return castTo(turned.data as Float64Array, inputShape, dtype);
}

/** Numbers in a dtype, rounded once. */
function castTo(
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

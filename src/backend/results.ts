/** Results of a forward pass on the CPU: arrays for the output, lse and weights, and the check of an lse that a caller passes. */
import { activeScope, zeroArray } from "../core/arena.ts";
import { arrayLike, DTYPES, readerOf, type TypedData } from "../core/dtype.ts";
import { formatTensor, ShapeError, UnsupportedError } from "../core/errors.ts";
import { outputShape, rowShape, type Shape, selectionShape } from "../core/shape.ts";
import type { WorkSlices } from "../core/slices.ts";
import type { State } from "../core/state.ts";
import { asTensor, denseOf, sizeOf, Tensor, type TensorLike } from "../core/tensor.ts";
import type { LseReader, Result, Selection } from "./contract.ts";
import type { Problem } from "./problem.ts";

/** Computes all slices, without a pause. */
export function computeAll<T>(slices: WorkSlices<T>): T {
  for (;;) {
    const { done, value } = slices.next();
    if (done) return value;
  }
}

/** Has `pass` fill output and lse slice by slice, and returns them as tensors. */
export function* computeState(
  problem: Problem,
  pass: (result: Result) => Generator<number, void>,
): WorkSlices<State> {
  const { shape, dtype } = problem;
  const result = new StateArrays(problem);
  yield* pass(result);
  return {
    output: new Tensor(result.output, outputShape(shape), dtype),
    lse: new Tensor(result.lse, rowShape(shape), dtype === "float64" ? "float64" : "float32"),
  };
}

/** Maximum elements of an output that a pass may make after its work: a larger one is allocated, or refused, before. */
const MAX_COPIED = 2 ** 22;

/** The output and lse of a call: zeros, or copies of what the pass computed in its own memory. */
class StateArrays implements Result {
  readonly batch: number;
  readonly head: number;
  readonly row: number;
  readonly #problem: Problem;
  #output: TypedData | undefined;
  #lse: Float32Array | Float64Array | undefined;

  constructor(problem: Problem) {
    const { Hq, Nq, dv, layout } = problem.shape;
    this.#problem = problem;
    this.batch = Hq * Nq * dv;
    [this.head, this.row] = layout === "bshd" ? [dv, Hq * dv] : [Nq * dv, dv];
    if (activeScope || problem.dtype !== "float32" || this.#size > MAX_COPIED) this.#allocate();
  }

  get output(): TypedData {
    return this.#output ?? this.#allocate().output;
  }

  get lse(): Float32Array | Float64Array {
    return this.#lse ?? this.#allocate().lse;
  }

  get #size(): number {
    return sizeOf(outputShape(this.#problem.shape));
  }

  #allocate(): { output: TypedData; lse: Float32Array | Float64Array } {
    const problem = this.#problem;
    const { B, Hq, Nq } = problem.shape;
    const rows = B * Hq * Nq;
    const output = allocateLikeQuery(problem, "output", this.#size);
    const lse = allocateOrThrow(problem, "lse", rows, () =>
      problem.dtype === "float64" ? new Float64Array(rows) : zeros(rows),
    );
    [this.#output, this.#lse] = [output, lse];
    return { output, lse };
  }

  copyFrom(output: Float32Array, lse: Float32Array): boolean {
    if (this.#output || this.#lse) return false;
    this.#output = allocateOrThrow(this.#problem, "output", output.length, () => new Float32Array(output));
    this.#lse = new Float32Array(lse);
    return true;
  }
}

/** Allocates weights [..., heads, rows, Nk], has `pass` fill them [B, heads, rows, Nk], and returns them as a tensor. */
export function computeWeights(
  problem: Problem,
  lse: Tensor,
  { heads, rows }: Selection,
  pass: (lse: LseReader, data: TypedData) => void,
): Tensor {
  const { shape } = problem;
  const data = allocateLikeQuery(problem, "weights", shape.B * heads.length * rows.length * shape.Nk);
  pass(lseReader(shape, lse), data);
  return new Tensor(data, selectionShape(shape, { heads, rows }), problem.dtype);
}

/** Float32 zeros for a result, in the scope's arena where there is one. */
export const zeros = (length: number): Float32Array =>
  activeScope ? zeroArray(length) : new Float32Array(length);

/** A new zero-filled array of the query's dtype: a native Float16Array where the query is one. */
function allocateLikeQuery(problem: Problem, name: string, size: number): TypedData {
  const query = problem.shape.query.tensor;
  return allocateOrThrow(problem, name, size, () =>
    query.dtype === "float32" ? zeros(size) : arrayLike(query.data, query.dtype, size),
  );
}

/** What `make` returns, or a typed error where this process cannot allocate it. */
function allocateOrThrow<T>(problem: Problem, name: string, size: number, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    const error = new UnsupportedError(
      "memory",
      `${problem.caller}: cannot allocate ${name}: ${size} ${problem.dtype} elements; compute fewer rows or heads at a time`,
      { requested: size * DTYPES[problem.dtype].bytes },
    );
    throw Object.assign(error, { cause });
  }
}

/** lse [..., Hq, Nq], checked against the call, row-major. */
export function checkLse(what: string, like: TensorLike, problem: Problem): Tensor {
  const t = asTensor(`${what}: lse`, like);
  const want = rowShape(problem.shape);
  const dtype = problem.dtype === "float64" ? "float64" : "float32";
  if (t.shape.join() !== want.join() || t.dtype !== dtype)
    throw new ShapeError(
      "lse",
      `${what}: lse must be [${want.join(", ")}] ${dtype}, got ${formatTensor("lse", t)}`,
      { got: t.shape, dtype: t.dtype },
    );
  return denseOf(t);
}

/** lse [..., Hq, Nq], row-major, by batch entry, head and row. */
export function lseReader(shape: Shape, lse: Tensor): LseReader {
  const read = readerOf(lse.dtype, lse.data);
  return (b, h, row) => read(lse.offset + (b * shape.Hq + h) * shape.Nq + row);
}

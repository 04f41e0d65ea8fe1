/**
 * A matrix product with its shapes checked once: C[M, N] = A[M, K]·B[K, N] for each of `batch` entries. The result
 * says where each element of A and B is stored and where C is written; backends trust it.
 */

import { resultArray } from "../core/arena.ts";
import { arrayFor, isFloat } from "../core/dtype.ts";
import { DTypeError, formatTensor, formatValue, OptionError, ShapeError } from "../core/errors.ts";
import { checkKnown } from "../core/known-names.ts";
import type { Operand } from "../core/shape.ts";
import { asTensor, elementRange, sizeOf, Tensor, type TensorLike } from "../core/tensor.ts";

/** Options of a matrix product. */
export interface MatmulOptions {
  /** `a` is given as [..., K, M]. Default false. */
  readonly transposeA?: boolean;
  /** `b` is given as [..., N, K]: the layout of PyTorch's linear weights. Default false. */
  readonly transposeB?: boolean;
  /** [N], added to every row. Default none. */
  readonly bias?: TensorLike;
  /** A row-major [..., M, N] of the result's dtype: the product is added to it, and it is returned. Default: a new tensor. */
  readonly accumulate?: Tensor;
}

/** Rows that a kernel may write past the end of a new result; its array has that many rows of padding. */
export const STRIP_ROWS = 8;

/** The product, resolved. Element (i, j) of entry t of an operand is base[t] + i·row + j·column, of A in M × K, of B in K × N. @beta */
export interface Product {
  readonly caller: string;
  readonly dtype: "float32" | "float64";
  readonly batch: number;
  readonly M: number;
  readonly N: number;
  readonly K: number;
  readonly a: Operand;
  readonly b: Operand;
  readonly bias?: Operand;
  /** Shape of the result: [..., M, N]. */
  readonly shape: readonly number[];
  /** The tensor that the product is added to; undefined where the result is a new tensor. */
  readonly accumulate?: Tensor;
}

/** A product with the array it fills, as the CPU backends compute it. */
export interface ProductInto extends Product {
  /** Where C goes, row-major, from `start` on: written, or added to where `accumulate` is given. */
  readonly out: Float32Array | Float64Array;
  readonly start: number;
}

const OPTIONS = ["transposeA", "transposeB", "bias", "accumulate"];

/** Checks operands and options. */
export function resolveProduct(
  what: string,
  left: TensorLike,
  right: TensorLike,
  options: MatmulOptions,
): Product {
  checkKnown(what, options, OPTIONS, undefined, (name, x) =>
    name.startsWith("transpose") && typeof x !== "boolean" ? "true or false" : undefined,
  );
  const [a, b] = [asTensor(`${what}: a`, left), asTensor(`${what}: b`, right)];
  const both = () => `${formatTensor("a", a)}, ${formatTensor("b", b)}`;
  const fail = (code: string, text: string): never => {
    throw new ShapeError(code, `${what}: ${text}; ${both()}`, { a: a.shape, b: b.shape });
  };
  for (const [name, t] of Object.entries({ a, b })) {
    if (!isFloat(t.dtype))
      throw new DTypeError(
        "dtype",
        `${what}: ${name} must be float32, float64, float16 or bfloat16; ${both()}`,
        { dtype: t.dtype },
      );
    if (t.shape.length < 2) fail("rank", `${name} has ${t.shape.length} axes, expected at least two`);
  }
  const dtype = a.dtype === "float64" ? "float64" : "float32";
  if ((b.dtype === "float64") !== (dtype === "float64"))
    throw new DTypeError("dtype", `${what}: float64 multiplies float64 only; ${both()}`, {
      a: a.dtype,
      b: b.dtype,
    });
  const [x, y] = [axesOf(a, options.transposeA), axesOf(b, options.transposeB)];
  if (x.columns !== y.rows)
    fail(
      "inner",
      `a has ${x.columns} columns and b ${y.rows} rows${options.transposeA || options.transposeB ? " after transposing" : ""}, which must be equal`,
    );
  if (x.lead.length > 0 && y.lead.length > 0 && x.lead.join() !== y.lead.join())
    fail(
      "batch",
      `leading axes [${x.lead.join(", ")}] and [${y.lead.join(", ")}] must be equal, or one of the two must have none`,
    );
  const lead = x.lead.length > 0 ? x.lead : y.lead;
  const shape = [...lead, x.rows, y.columns];
  const bias = options.bias === undefined ? undefined : biasOf(what, options.bias, y.columns, dtype);
  const added = options.accumulate;
  if (added) checkAccumulate(what, added, shape, dtype, { a, b });
  let batch = sizeOf(lead);
  let M = x.rows;
  let base = basesOf(a, x.lead, batch);
  // One b for all entries: where the rows of a continue from entry to entry, this is a single tall product.
  if (batch > 1 && y.lead.length === 0 && base.every((at, t) => at === base[0] + t * M * x.row)) {
    M *= batch;
    base = base.slice(0, 1);
    batch = 1;
  }
  return {
    caller: what,
    dtype,
    batch,
    M,
    N: y.columns,
    K: x.columns,
    a: { tensor: a, base, head: 0, row: x.row, column: x.column },
    b: { tensor: b, base: basesOf(b, y.lead, batch), head: 0, row: y.row, column: y.column },
    bias,
    shape,
    ...(added && { accumulate: added }),
  };
}

/** The product with its result on the CPU: a new tensor, or `accumulate`. */
export function allocateResult(product: Product): {
  product: ProductInto;
  result: Tensor<"float32" | "float64">;
} {
  const { dtype, shape, K, N, accumulate } = product;
  // An empty sum is 0. Any other result is written in full; a kernel may write full tiles, up to STRIP_ROWS rows past the end.
  const allocate = () =>
    dtype === "float32" && K > 0
      ? resultArray(sizeOf(shape), STRIP_ROWS * N)
      : arrayFor(dtype, sizeOf(shape));
  const result = (accumulate ?? new Tensor(allocate(), shape, dtype)) as Tensor<"float32" | "float64">;
  return { product: { ...product, out: result.data, start: result.offset }, result };
}

/** The last two axes as rows and columns, exchanged if requested; and the axes before them. */
function axesOf(t: Tensor, transposed = false) {
  const n = t.shape.length;
  const [i, j] = transposed ? [n - 1, n - 2] : [n - 2, n - 1];
  return {
    lead: t.shape.slice(0, n - 2),
    rows: t.shape[i],
    columns: t.shape[j],
    row: t.strides[i],
    column: t.strides[j],
  };
}

/** First element of each entry; all the same where the tensor has no leading axes. */
function basesOf(t: Tensor, lead: readonly number[], batch: number): Float64Array {
  const bases = new Float64Array(batch).fill(t.offset);
  if (lead.length === 0) return bases;
  for (let n = 0; n < batch; n++)
    for (let axis = lead.length - 1, rest = n; axis >= 0; axis--) {
      bases[n] += (rest % lead[axis]) * t.strides[axis];
      rest = Math.floor(rest / lead[axis]);
    }
  return bases;
}

function biasOf(what: string, biasLike: TensorLike, N: number, dtype: "float32" | "float64"): Operand {
  const bias = asTensor(`${what}: bias`, biasLike);
  if (bias.shape.length !== 1 || bias.shape[0] !== N)
    throw new ShapeError("bias", `${what}: bias must be [${N}], got ${formatTensor("bias", bias)}`, {
      got: bias.shape,
    });
  if (!isFloat(bias.dtype) || (bias.dtype === "float64") !== (dtype === "float64"))
    throw new DTypeError("dtype", `${what}: a ${dtype} product takes no ${formatTensor("bias", bias)}`, {
      dtype: bias.dtype,
    });
  return { tensor: bias, base: Float64Array.of(bias.offset), head: 0, row: 0, column: bias.strides[0] };
}

function checkAccumulate(
  what: string,
  into: Tensor,
  shape: readonly number[],
  dtype: "float32" | "float64",
  operands: Readonly<Record<string, Tensor>>,
): void {
  const want = `accumulate must be a row-major Tensor [${shape.join(", ")}] ${dtype}`;
  if (!(into instanceof Tensor))
    throw new ShapeError("accumulate", `${what}: ${want}, got ${formatValue(into)}`, { got: into });
  if (into.dtype !== dtype)
    throw new DTypeError("dtype", `${what}: ${want}, got ${formatTensor("accumulate", into)}`, {
      dtype: into.dtype,
    });
  if (into.shape.join() !== shape.join() || !into.isContiguous())
    throw new ShapeError(
      "accumulate",
      `${what}: ${want}, got ${formatTensor("accumulate", into)}${into.isContiguous() ? "" : " with strides"}`,
      { got: into.shape, strides: into.strides },
    );
  for (const [name, t] of Object.entries(operands))
    if (t.device === "cpu" && t.data.buffer === into.data.buffer && overlap(t, into))
      throw new OptionError("overlap", `${what}: accumulate shares memory with ${name}`, { name });
}

/** True where the byte ranges of two tensors over one buffer overlap. */
function overlap(x: Tensor, y: Tensor): boolean {
  const [a, b] = [x, y].map((t) => {
    const [low, high] = elementRange(t);
    const bytes = t.data.BYTES_PER_ELEMENT;
    return {
      from: t.data.byteOffset + low * bytes,
      to: t.data.byteOffset + (high + 1) * bytes,
      size: t.size,
    };
  });
  return a.size > 0 && b.size > 0 && a.from < b.to && b.from < a.to;
}

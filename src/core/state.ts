/**
 * A partial result: the output over some of the keys with its log-sum-exp. States over disjoint keys join into the
 * state over all of them, in any order: threads, split keys, caches, pages and machines all use this one function.
 *
 *   lse = log Σ exp(lseᵢ)        output = Σ exp(lseᵢ − lse)·outputᵢ
 *
 * The identity is lse −∞ (no keys): its output is not read. FlashInfer, "recursive attention".
 */
import { arrayFor, arrayName, readerOf, type TypedData, writerOf } from "./dtype.ts";
import { formatTensor, formatValue, OptionError, ShapeError } from "./errors.ts";
import { recordWithoutDerivative } from "./record.ts";
import { asTensor, sizeOf, Tensor, type TensorLike, transposed } from "./tensor.ts";

/** Output [..., Nq, dv] with the log-sum-exp of its rows [..., Nq]. */
export interface State {
  readonly output: Tensor;
  readonly lse: Tensor;
}

/**
 * Joins states over disjoint keys. All outputs have one shape and dtype, all lse the shape without the last axis.
 *
 * @example
 * const left = scaledDotProductAttention(q, k, v, { attnMask: keyLengths(2) });
 * const right = scaledDotProductAttention(q, k, v, { attnMask: not(keyLengths(2)) });
 * const whole = mergeStates([left, right]); // as if over all keys at once
 */
export function mergeStates(
  states: readonly { readonly output: TensorLike; readonly lse: TensorLike }[],
  options: { layout?: "bhsd" | "bshd" } = {},
): State {
  if (!Array.isArray(states) || states.length === 0)
    throw new OptionError(
      "states",
      `mergeStates: expected a list of one or more states, mergeStates([a, b]) of { output, lse }, got ${formatValue(states)}`,
      { got: states },
    );
  if (options === null || typeof options !== "object" || Array.isArray(options))
    throw new OptionError("options", `mergeStates: options must be an object, got ${formatValue(options)}`, {
      got: options,
    });
  for (const name of Object.keys(options))
    if (name !== "layout")
      throw new OptionError(
        "option-name",
        `mergeStates: no option ${formatValue(name)}; the option is layout`,
        {
          option: name,
        },
      );
  for (const [n, state] of states.entries())
    if (state === null || typeof state !== "object")
      throw new OptionError(
        "states",
        `mergeStates: states[${n}] must be { output, lse }, got ${formatValue(state)}`,
        { got: state },
      );
  const { layout = "bhsd" } = options;
  if (layout !== "bhsd" && layout !== "bshd")
    throw new OptionError(
      "layout",
      `mergeStates: layout must be "bhsd" or "bshd", got ${formatValue(layout)}`,
      {
        got: layout,
      },
    );
  const parts = states.map(({ output, lse }, n) => ({
    output: asTensor(`mergeStates: states[${n}].output`, output),
    lse: asTensor(`mergeStates: states[${n}].lse`, lse),
  }));
  const first = parts[0];
  const shape = first.output.shape;
  // lse is [..., H, N] in both layouts; in `bshd` the output's rows come as [..., N, H].
  const rows = shape.slice(0, -1);
  const lseShape =
    layout === "bshd" ? [...rows.slice(0, -2), rows[rows.length - 1], rows[rows.length - 2]] : rows;
  parts.forEach((part, n) => {
    if (
      part.output.shape.join() !== shape.join() ||
      part.lse.shape.join() !== lseShape.join() ||
      shape.length < 1
    )
      throw new ShapeError(
        "states",
        `mergeStates: states[${n}] must have output [${shape.join(", ")}] and lse [${lseShape.join(", ")}], got ${formatTensor("output", part.output)}, ${formatTensor("lse", part.lse)}`,
      );
    if (part.output.dtype !== first.output.dtype || part.lse.dtype !== first.lse.dtype)
      throw new ShapeError(
        "states",
        `mergeStates: states[${n}] has other dtypes than states[0]: ${formatTensor("output", part.output)}, ${formatTensor("lse", part.lse)}`,
      );
  });

  const dv = shape[shape.length - 1];
  const count = sizeOf(rows);
  const native = arrayName(first.output.data) === "Float16Array";
  const data: TypedData = native
    ? new (first.output.data.constructor as new (n: number) => TypedData)(count * dv)
    : arrayFor(first.output.dtype, count * dv);
  const total = new Float64Array(count).fill(-Infinity);
  const lses = parts.map((part) => (layout === "bshd" ? transposed(part.lse) : part.lse).toFloat64());
  for (let row = 0; row < count; row++) total[row] = logSumExp(lses, row);
  const outputs = parts.map(({ output }) => output.dense());
  const readers = outputs.map(({ dtype, data }) => readerOf(dtype, data));
  const write = writerOf(first.output.dtype, data);
  const sum = new Float64Array(dv);
  for (let row = 0; row < count; row++) {
    sum.fill(0);
    for (let n = 0; n < outputs.length; n++) {
      const part = lses[n][row];
      if (part === -Infinity) continue;
      const { data: numbers, offset } = outputs[n];
      const share = Math.exp(part - total[row]);
      const start = offset + row * dv;
      // Without a function call an element: 1 ns instead of 20 (bench of 4096 rows of 64).
      if (numbers instanceof Float32Array) addScaled32(sum, numbers, start, share);
      else if (numbers instanceof Float64Array) addScaled64(sum, numbers, start, share);
      else for (let e = 0; e < dv; e++) sum[e] += share * readers[n](start + e);
    }
    if (data instanceof Float32Array) store32(data, row * dv, sum);
    else if (data instanceof Float64Array) data.set(sum, row * dv);
    else for (let e = 0; e < dv; e++) write(row * dv + e, sum[e]);
  }
  const lse = arrayFor(first.lse.dtype, count);
  const writeLse = writerOf(first.lse.dtype, lse);
  for (let row = 0; row < count; row++) writeLse(row, total[row]);
  const joined = new Tensor(lse, rows, first.lse.dtype);
  const merged = {
    output: new Tensor(data, shape, first.output.dtype),
    lse: layout === "bshd" ? transposed(joined).dense() : joined,
  };
  recordWithoutDerivative(
    "mergeStates",
    parts.flatMap((part) => [part.output, part.lse]),
    [merged.output, merged.lse],
    "attend over all keys in one call of scaledDotProductAttention where a gradient is needed",
  );
  return merged;
}

/** sum ← sum + share·row. One function a type, so that each stays monomorphic. */
function addScaled32(sum: Float64Array, row: Float32Array, start: number, share: number): void {
  for (let e = 0; e < sum.length; e++) sum[e] += share * row[start + e];
}
function addScaled64(sum: Float64Array, row: Float64Array, start: number, share: number): void {
  for (let e = 0; e < sum.length; e++) sum[e] += share * row[start + e];
}

function store32(data: Float32Array, start: number, row: Float64Array): void {
  for (let e = 0; e < row.length; e++) data[start + e] = row[e];
}

function logSumExp(lses: readonly Float64Array[], row: number): number {
  let m = -Infinity;
  for (const lse of lses) if (!(lse[row] <= m)) m = lse[row];
  if (m === -Infinity || m !== m) return m;
  let sum = 0;
  for (const lse of lses) sum += Math.exp(lse[row] - m);
  return m + Math.log(sum);
}

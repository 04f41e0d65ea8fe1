/**
 * Array operations in plain loops: these define each operation and run it on the CPU. One function each, so that a program
 * bundles only those that it calls. Those that compare elements are in order.ts. Sums are in float64, rounded once when stored.
 */
import type { ArrayOperation, ElementFunction } from "../backend/array.ts";
import { DTYPES, type DType, narrow, readerOf, writerOf } from "../core/dtype.ts";
import { DTypeError, formatValue } from "../core/errors.ts";
import { type Numbers, numbersOf, type Precision, uninitialized } from "../core/numbers.ts";
import { cellBits, dropoutThreshold, headKey, rowKey } from "../core/random/random.ts";
import { denseOf, eachRow, rowMajor, sizeOf, Tensor } from "../core/tensor.ts";

/** The operation of a name. */
export type Named<N extends ArrayOperation["name"]> = Extract<ArrayOperation, { name: N }>;

/** The elements of a result, which is row-major and starts at the first element of its array. */
export const resultOf = (y: Tensor): Numbers => y.data as Numbers;

/** `t` broadcast to `shape`, in row-major order. For reading only: the tensor's own array where nothing repeats. */
export function broadcastTo(t: Tensor, shape: readonly number[]): Numbers {
  const size = sizeOf(shape);
  if (t.size === size) return numbersOf(t);
  const out = uninitialized(t.dtype as Precision, size);
  const from = t.data as Numbers;
  const innerShape = t.shape.slice(t.shape.findIndex((n) => n !== 1));
  const isSuffix =
    t.size === 1 || innerShape.every((n, i) => n === shape[i - innerShape.length + shape.length]);
  if (isSuffix && t.size > 0) {
    // For example a bias: repeats one row. Each copy doubles the filled part.
    const row = numbersOf(t);
    if (size > 0) out.set(row);
    for (let n = row.length; n < size; n *= 2) out.copyWithin(n, 0, Math.min(n, size - n));
    return out;
  }
  const strides = shape.map((_, i) => {
    const axis = i - shape.length + t.shape.length;
    return axis < 0 || t.shape[axis] === 1 ? 0 : t.strides[axis];
  });
  let next = 0;
  eachRow(shape, strides, t.offset, (start, count, step) => {
    for (let n = 0; n < count; n++) out[next + n] = from[start + n * step];
    next += count;
  });
  return out;
}

/** y = a ∘ b. */
export function binary({ function: f, a, b, y }: Named<"binary">): void {
  const [p, q, out] = [broadcastTo(a, y.shape), broadcastTo(b, y.shape), resultOf(y)];
  switch (f) {
    case "add":
      for (let n = 0; n < out.length; n++) out[n] = p[n] + q[n];
      break;
    case "sub":
      for (let n = 0; n < out.length; n++) out[n] = p[n] - q[n];
      break;
    case "multiply":
      for (let n = 0; n < out.length; n++) out[n] = p[n] * q[n];
      break;
    case "divide":
      for (let n = 0; n < out.length; n++) out[n] = p[n] / q[n];
      break;
  }
}

/** db = −dy·y/b. */
export function divideBackward({ dy, y, b, db }: Named<"divide-backward">): void {
  const [upstream, quotient, divisor, out] = [
    numbersOf(dy),
    numbersOf(y),
    broadcastTo(b, db.shape),
    resultOf(db),
  ];
  for (let n = 0; n < out.length; n++) out[n] = (-upstream[n] * quotient[n]) / divisor[n];
}

/** y = x in the dtype of y. */
export function cast({ x, y }: Named<"cast">): void {
  const { dtype } = y;
  const { bits, range } = DTYPES[dtype];
  if (x.dtype === "float32" && bits) {
    narrow(dtype, numbersOf(x) as Float32Array, y.data);
    return;
  }
  const read = readerOf(x.dtype, x.data);
  const write = writerOf(dtype, y.data);
  let next = 0;
  eachRow(x.shape, x.strides, x.offset, (start, count, step) => {
    for (let n = 0; n < count; n++, next++) {
      const value = read(start + n * step);
      write(next, range ? integerOf(value, dtype, range) : value);
    }
  });
}

function integerOf(value: number, dtype: DType, [low, end]: readonly [number, number]): number {
  const n = Math.trunc(value) + 0;
  if (!(n >= low && n < end))
    throw new DTypeError("cast-range", `cast: ${dtype} cannot hold ${formatValue(value)}`, {
      got: value,
      dtype,
    });
  return n;
}

/** y = condition ? a : b. */
export function where({ condition, a, b, y }: Named<"where">): void {
  const flags = broadcastTo(new Tensor(condition.toFloat64(), condition.shape, "float64"), y.shape);
  const [p, q, out] = [broadcastTo(a, y.shape), broadcastTo(b, y.shape), resultOf(y)];
  for (let n = 0; n < out.length; n++) out[n] = flags[n] === 0 ? q[n] : p[n];
}

/** y = a^b. */
export function power({ a, b, y }: Named<"power">): void {
  const [p, q, out] = [broadcastTo(a, y.shape), broadcastTo(b, y.shape), resultOf(y)];
  for (let n = 0; n < out.length; n++) out[n] = p[n] ** q[n];
}

/** y = factor·x. */
export function scale({ x, factor, y }: Named<"scale">): void {
  const [from, out] = [numbersOf(x), resultOf(y)];
  for (let n = 0; n < out.length; n++) out[n] = from[n] * factor;
}

/** Functions with their derivatives by x and y = f(x). */
const FUNCTIONS: Readonly<
  Record<ElementFunction, readonly [(x: number) => number, (x: number, y: number) => number]>
> = {
  exp: [Math.exp, (_, y) => y],
  log: [Math.log, (x) => 1 / x],
  sqrt: [Math.sqrt, (_, y) => 0.5 / y],
  square: [(x) => x * x, (x) => 2 * x],
  abs: [Math.abs, (x) => Math.sign(x)],
};

/** y = f(x). */
export function elementwise({ function: name, x, y }: Named<"elementwise">): void {
  const [from, out] = [numbersOf(x), resultOf(y)];
  const [f] = FUNCTIONS[name];
  for (let n = 0; n < out.length; n++) out[n] = f(from[n]);
}

/** dx = f′(x)·dy. */
export function elementwiseBackward({ function: name, ...operands }: Named<"elementwise-backward">): void {
  const [x, y, dy, dx] = [
    numbersOf(operands.x),
    numbersOf(operands.y),
    numbersOf(operands.dy),
    resultOf(operands.dx),
  ];
  const [, derivative] = FUNCTIONS[name];
  for (let n = 0; n < dx.length; n++) dx[n] = dy[n] === 0 ? 0 : dy[n] * derivative(x[n], y[n]);
}

/** y = Σ x. */
export function sum({ x, y }: Named<"sum">): void {
  const total = new Float64Array(y.size);
  const outStrides = rowMajor(y.shape);
  const strides = x.shape.map((_, i) => {
    const axis = i - x.shape.length + y.shape.length;
    return axis < 0 || y.shape[axis] === 1 ? 0 : outStrides[axis];
  });
  const from = numbersOf(x);
  let next = 0;
  eachRow(x.shape, strides, 0, (start, count, step) => {
    for (let n = 0; n < count; n++) total[start + n * step] += from[next + n];
    next += count;
  });
  resultOf(y).set(total);
}

/** y = softmax(x) over the last axis. */
export function softmax({ x, y }: Named<"softmax">): void {
  const [input, output] = [numbersOf(x), resultOf(y)];
  const C = x.shape[x.shape.length - 1];
  for (let at = 0; at < input.length; at += C) {
    let max = -Infinity;
    for (let n = 0; n < C; n++) if (!(input[at + n] <= max)) max = input[at + n];
    if (max === -Infinity) {
      output.fill(0, at, at + C);
      continue;
    }
    let total = 0;
    for (let n = 0; n < C; n++) total += Math.exp(input[at + n] - max);
    for (let n = 0; n < C; n++) output[at + n] = Math.exp(input[at + n] - max) / total;
  }
}

/** dx = y·(dy − Σ dy·y). */
export function softmaxBackward(operands: Named<"softmax-backward">): void {
  const [y, dy, dx] = [numbersOf(operands.y), numbersOf(operands.dy), resultOf(operands.dx)];
  const C = operands.y.shape[operands.y.shape.length - 1];
  for (let at = 0; at < y.length; at += C) {
    let dot = 0;
    for (let n = 0; n < C; n++) dot += y[at + n] * dy[at + n];
    for (let n = 0; n < C; n++) dx[at + n] = y[at + n] === 0 ? 0 : y[at + n] * (dy[at + n] - dot);
  }
}

/** Copies x into the view y. */
export function assign({ x, y }: Named<"assign">): void {
  const from = broadcastTo(x, y.shape);
  const to = y.data as Numbers;
  const { shape, strides } = y;
  // The last axes are contiguous up to `outer`: each `block` of elements is one copy.
  let block = 1;
  let outer = shape.length;
  while (outer > 0 && (strides[outer - 1] === block || shape[outer - 1] === 1)) block *= shape[--outer];
  if (from.length === 0) return;
  let next = 0;
  const copy = (at: number) => {
    to.set(block === from.length ? from : from.subarray(next, next + block), at);
    next += block;
  };
  eachRow(shape.slice(0, outer), strides.slice(0, outer), y.offset, (start, count, step) => {
    if (block === 1) for (let n = 0; n < count; n++) to[start + n * step] = from[next++];
    else for (let n = 0; n < count; n++) copy(start + n * step);
  });
}

/** y = rows of a table. */
export function embedding({ table, ids, y }: Named<"embedding">): void {
  const [from, out] = [numbersOf(table), resultOf(y)];
  const D = table.shape[1];
  for (let n = 0; n < ids.length; n++) out.set(from.subarray(ids[n] * D, (ids[n] + 1) * D), n * D);
}

/** dTable = the sum of the rows of dy that read each row. */
export function embeddingBackward({ dy, ids, dTable }: Named<"embedding-backward">): void {
  const [upstream, total] = [numbersOf(dy), resultOf(dTable).fill(0)];
  const D = dTable.shape[1];
  for (let n = 0; n < ids.length; n++)
    for (let e = 0, to = ids[n] * D, at = n * D; e < D; e++) total[to + e] += upstream[at + e];
}

/** y = x with pairs of columns rotated by the angles of their row's position. */
export function rope({ x, y, cos, sin, N, repeat, R, layout, amplitude, sign }: Named<"rope">): void {
  const [from, out] = [numbersOf(x), resultOf(y)];
  const D = x.shape[x.shape.length - 1];
  out.set(from);
  const half = R / 2;
  // Pair i is the columns i·step and i·step + apart.
  const [step, apart] = layout === "half" ? [1, half] : [2, 1];
  const count = D === 0 ? 0 : from.length / D;
  for (let row = 0; row < count; row++) {
    const angle = (Math.floor(row / repeat) % N) * half;
    for (let i = 0, a = row * D; i < half; i++, a += step) {
      const u = from[a];
      const v = from[a + apart];
      const c = amplitude * cos[angle + i];
      const s = sign * amplitude * sin[angle + i];
      out[a] = u * c - v * s;
      out[a + apart] = u * s + v * c;
    }
  }
}

/** y = x/(1 − p) where an element is kept, else 0. */
export function dropout({ x, p, seed, rows, y }: Named<"dropout">): void {
  const [from, out] = [numbersOf(x), resultOf(y)];
  const head = headKey(seed, 0, 0);
  const threshold = dropoutThreshold(p);
  const scale = 1 / (1 - p);
  // Runs of elements that are adjacent in the whole: rows of a part, or all.
  const { positions = [0], length = 1 } = rows ?? {};
  const width = rows ? x.shape[x.shape.length - 1] : from.length;
  for (let first = 0; first < from.length; first += width) {
    const count = first / width;
    const place = Math.floor(count / positions.length) * length + positions[count % positions.length];
    dropRun(from, out, first, first + width, place * width - first);
  }

  /** Elements `first` … `end` (excluded), whose places are `shift` later. */
  function dropRun(from: Numbers, out: Numbers, first: number, end: number, shift: number): void {
    // A row key covers 2^16 elements.
    for (let n = first; n < end; ) {
      const begin = Math.floor((n + shift) / 65536);
      const row = rowKey(head, begin);
      const last = Math.min(end, 65536 * (begin + 1) - shift);
      for (; n < last; n++)
        out[n] = cellBits(row, n + shift - 65536 * begin) >= threshold ? from[n] * scale : 0;
    }
  }
}

/** The state over the keys of all states. */
export function mergeStates({ states, output, lse }: Named<"mergeStates">): void {
  const [count, dv] = output.shape;
  const lses = states.map((state) => state.lse.toFloat64());
  const outputs = states.map((state) => denseOf(state.output));
  const readers = outputs.map(({ dtype, data }) => readerOf(dtype, data));
  const { data } = output;
  const write = writerOf(output.dtype, data);
  const writeLse = writerOf(lse.dtype, lse.data);
  const total = new Float64Array(dv);
  for (let row = 0; row < count; row++) {
    const rowLse = logSumExp(lses, row);
    total.fill(0);
    for (let n = 0; n < outputs.length; n++) {
      const part = lses[n][row];
      if (part === -Infinity) continue;
      const { data: from, offset } = outputs[n];
      const share = Math.exp(part - rowLse);
      const start = offset + row * dv;
      // No function call per element: 1 ns instead of 20 (4,096 rows of 64).
      if (from instanceof Float32Array) addScaled32(total, from, start, share);
      else if (from instanceof Float64Array) addScaled64(total, from, start, share);
      else for (let e = 0; e < dv; e++) total[e] += share * readers[n](start + e);
    }
    if (data instanceof Float32Array) store32(data, row * dv, total);
    else if (data instanceof Float64Array) data.set(total, row * dv);
    else for (let e = 0; e < dv; e++) write(row * dv + e, total[e]);
    writeLse(row, rowLse);
  }
}

/** sum ← sum + share·row. One function per array type, so that each stays monomorphic. */
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
  let total = 0;
  for (const lse of lses) total += Math.exp(lse[row] - m);
  return m + Math.log(total);
}

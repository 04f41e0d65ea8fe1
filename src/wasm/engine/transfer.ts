/**
 * Copies tensors into the engine's memory: as one range where a tensor fits and its rows are contiguous, otherwise
 * the gathered rows of one head. Tensors that are in the engine's memory already (`empty`) are used in place.
 */

import type { MaskTensor } from "../../backend/problem.ts";
import { arrayName, BYTES, readerOf } from "../../core/dtype.ts";
import type { Operand } from "../../core/shape.ts";
import type { EngineMemory } from "./memory.ts";

/** A tensor in the engine's memory: byte address of row n of head h of batch b. */
export interface Staged {
  readonly at: (b: number, h: number, n: number) => number;
  readonly row: number;
  readonly head: number;
}

/** The bits of an array that the engine copies unchanged: 16-bit formats as Uint16. */
function bitsOf(data: ArrayBufferView & { length: number }): Float32Array | Uint16Array | Uint8Array {
  if (arrayName(data) === "Float16Array") return new Uint16Array(data.buffer, data.byteOffset, data.length);
  return data as unknown as Float32Array;
}

/** An operand that is in the engine's memory with contiguous rows; undefined for any other. */
export function residentOperand(memory: EngineMemory, x: Operand): Staged | undefined {
  const start = addressOf(memory, x.tensor.data);
  if (start === undefined || x.column !== 1) return undefined;
  const bytes = BYTES[x.tensor.dtype];
  return {
    at: (b, h, n) => start + (x.base[b] + h * x.head + n * x.row) * bytes,
    row: x.row * bytes,
    head: x.head * bytes,
  };
}

/** The byte address of an array that is stored in the engine's memory. */
export const addressOf = (
  memory: EngineMemory,
  { buffer, byteOffset }: ArrayBufferView,
): number | undefined =>
  buffer === memory.memory.buffer || (memory.shared && isSameMemory(buffer, memory)) ? byteOffset : undefined;

/** Memories by buffer: growth makes a new buffer object over the same shared memory. */
const engineBuffers = new WeakMap<ArrayBufferLike, EngineMemory>();
export function registerBuffer(buffer: ArrayBufferLike, memory: EngineMemory): void {
  engineBuffers.set(buffer, memory);
}
const isSameMemory = (buffer: ArrayBufferLike, memory: EngineMemory): boolean =>
  engineBuffers.get(buffer) === memory;

/** Range of the elements that an operand reads; undefined where they are too far apart to copy as one range. */
export function extentOf(
  x: Operand,
  heads: number,
  rows: number,
  columns: number,
): { from: number; to: number } | undefined {
  if (x.column !== 1 || x.row < 0 || x.head < 0 || x.base.length === 0) return undefined;
  let [from, to] = [Infinity, -Infinity];
  for (const base of x.base) {
    if (base < from) from = base;
    if (base > to) to = base;
  }
  to += (heads - 1) * x.head + (rows - 1) * x.row + columns;
  return to - from <= 1.25 * x.base.length * heads * rows * columns + 64 ? { from, to } : undefined;
}

/** Copies an extent to `target`. */
export function copyIn(
  memory: EngineMemory,
  x: Operand,
  extent: { from: number; to: number },
  target: number,
): void {
  const bits = bitsOf(x.tensor.data);
  const bytes = BYTES[x.tensor.dtype];
  const view = bytes === 4 ? memory.f32 : memory.u16;
  view.set(bits.subarray(extent.from, extent.to) as Float32Array, target / bytes);
}

/** The addresses of an operand whose extent was copied to `target`. */
export function copiedAt(x: Operand, extent: { from: number }, target: number): Staged {
  const bytes = BYTES[x.tensor.dtype];
  return {
    at: (b, h, n) => target + (x.base[b] - extent.from + h * x.head + n * x.row) * bytes,
    row: x.row * bytes,
    head: x.head * bytes,
  };
}

/** Gathers rows `from` … `to` of one head into dense rows at `target`. */
export function stageRows(
  memory: EngineMemory,
  x: Operand,
  b: number,
  h: number,
  from: number,
  to: number,
  columns: number,
  target: number,
): void {
  const bits = bitsOf(x.tensor.data);
  const bytes = BYTES[x.tensor.dtype];
  const view = (bytes === 4 ? memory.f32 : memory.u16) as Float32Array;
  const start = x.base[b] + h * x.head;
  let at = target / bytes;
  if (x.column === 1 && x.row === columns) {
    view.set(bits.subarray(start + from * columns, start + to * columns) as Float32Array, at);
    return;
  }
  for (let n = from; n < to; n++) {
    const row = start + n * x.row;
    if (x.column === 1 && columns >= 32) view.set(bits.subarray(row, row + columns) as Float32Array, at);
    else for (let d = 0; d < columns; d++) view[at + d] = bits[row + d * x.column];
    at += columns;
  }
}

/** Bytes of a row of a staged mask tensor over `keys` keys: full vectors, so that the last columns can be read. */
export const maskRowBytes = (t: MaskTensor, keys: number): number =>
  Math.ceil(keys / 16) * 16 * (t.kind === "bool" ? 1 : 4);

/** Gathers cells (rows `r0` … `r1`, keys `k0` … `k1`) of a mask tensor for one head, rows `rowBytes` apart; bool as bytes, float as float32. */
export function stageMask(
  memory: EngineMemory,
  t: MaskTensor,
  b: number,
  h: number,
  [r0, r1]: readonly [number, number],
  [k0, k1]: readonly [number, number],
  target: number,
  rowBytes: number,
): void {
  const start = t.base[b] + h * t.head;
  const rows = t.row === 0 ? 1 : r1 - r0;
  const direct = t.kind === "bool" || t.tensor.dtype === "float32";
  const data = t.tensor.data as Uint8Array;
  const view = (t.kind === "bool" ? memory.u8 : memory.f32) as Uint8Array;
  const read = readerOf(t.tensor.dtype, t.tensor.data);
  for (let r = 0; r < rows; r++) {
    const from = start + (r0 + r) * t.row + k0 * t.column;
    const at = (target + r * rowBytes) / (t.kind === "bool" ? 1 : 4);
    const width = k1 - k0;
    if (t.column === 0) view.fill(read(from), at, at + width);
    else if (t.column === 1 && direct) view.set(data.subarray(from, from + width), at);
    else for (let k = 0; k < width; k++) view[at + k] = read(from + k * t.column);
  }
}

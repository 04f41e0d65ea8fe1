/**
 * Copies tensors into the engine's memory: as one range where a tensor fits and its rows are contiguous, otherwise
 * the gathered rows of one head. Tensors that are in the engine's memory already (`empty`) are used in place.
 */

import type { MaskTensor } from "../../backend/problem.ts";
import { arrayName, DTYPES, type FloatDType, narrow, readerOf, type TypedData } from "../../core/dtype.ts";
import type { Operand } from "../../core/shape.ts";
import type { AllocationScope, EngineMemory } from "./memory.ts";

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

/** The engine's memory as elements of so many bytes. */
export const arrayOf = (memory: EngineMemory, bytes: number): Float32Array =>
  (bytes === 4 ? memory.f32 : bytes === 2 ? memory.u16 : memory.u8) as Float32Array;

/** An operand that is in the engine's memory with contiguous rows; undefined for any other. */
export function residentOperand(memory: EngineMemory, x: Operand): Staged | undefined {
  const start = addressOf(memory, x.tensor.data);
  if (start === undefined || x.column !== 1) return undefined;
  const bytes = DTYPES[x.tensor.dtype].bytes;
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
function extentOf(
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
  const bytes = DTYPES[x.tensor.dtype].bytes;
  const isComplete = extent.from === 0 && extent.to === bits.length;
  const part = isComplete ? bits : bits.subarray(extent.from, extent.to);
  arrayOf(memory, bytes).set(part as Float32Array, target / bytes);
}

/** The addresses of an operand whose extent was copied to `target`. */
function copiedAt(x: Operand, extent: { from: number }, target: number): Staged {
  const bytes = DTYPES[x.tensor.dtype].bytes;
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
  const bytes = DTYPES[x.tensor.dtype].bytes;
  const view = arrayOf(memory, bytes);
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

/** A head of a batch entry. */
export interface BatchHead {
  readonly b: number;
  readonly h: number;
}

/**
 * Heads whose rows are staged together. They are consecutive, batch entry by batch entry; `perEntry` is the number of heads of an
 * entry in the problem.
 */
export class HeadList {
  readonly list: readonly BatchHead[];
  private readonly first: number;
  private readonly perEntry: number;
  constructor(list: readonly BatchHead[], perEntry: number) {
    this.list = list;
    this.perEntry = perEntry;
    this.first = list[0].b * perEntry + list[0].h;
  }

  /** The index of a head in the list. */
  index(b: number, h: number): number {
    return b * this.perEntry + h - this.first;
  }

  /** True where the list has complete batch entries only. */
  get hasCompleteEntries(): boolean {
    return this.list.length % this.perEntry === 0 && this.list[0].h === 0;
  }

  /** Allocates `bytes` for each head; the address of those of a head. */
  allocate(regions: AllocationScope, bytes: number): (b: number, h: number) => number {
    const base = regions.alloc(this.list.length * bytes);
    return (b, h) => base + this.index(b, h) * bytes;
  }
}

/** Copies to be made after others; they are made immediately where there is no list. */
export type Later = (() => void)[] | undefined;

const copyNowOr = (later: Later, copy: () => void): void => {
  if (later) later.push(copy);
  else copy();
};

/**
 * Rows `from` … `to` of some heads in the engine's memory: in place, or copied as one range where complete rows of complete batch
 * entries are contiguous (`full`), or gathered into dense rows.
 */
export function placeOperand(
  memory: EngineMemory,
  regions: AllocationScope,
  x: Operand,
  heads: HeadList,
  [from, to]: readonly [number, number],
  columns: number,
  full: boolean,
  later?: Later,
): Staged {
  const resident = residentOperand(memory, x);
  if (resident) return resident;
  const bytes = DTYPES[x.tensor.dtype].bytes;
  const { list } = heads;
  if (full && heads.hasCompleteEntries && columns > 0 && to > from) {
    const [first, end] = [list[0].b, list[list.length - 1].b + 1];
    const perEntry = list.length / (end - first);
    const part = end - first === x.base.length ? x : { ...x, base: x.base.subarray(first, end) };
    const extent = extentOf(part, perEntry, to - from, columns);
    if (extent) {
      const target = regions.alloc((extent.to - extent.from) * bytes);
      copyNowOr(later, () => copyIn(memory, x, extent, target));
      return copiedAt(x, extent, target);
    }
  }
  const row = columns * bytes;
  const head = (to - from) * row;
  const address = heads.allocate(regions, head);
  copyNowOr(later, () => {
    for (const { b, h } of list) stageRows(memory, x, b, h, from, to, columns, address(b, h));
  });
  return { at: (b, h, n) => address(b, h) + (n - from) * row, row, head };
}

/** A mask tensor of a stage: the address of its first cell by batch entry and head; bytes from head to head and row to row. */
export interface PlacedMask {
  readonly at: (b: number, h: number) => number;
  readonly head: number;
  readonly row: number;
}

/** Copies cells of a mask tensor into the engine's memory; heads and batch entries with the same cells share the copy. */
export function placeMask(
  memory: EngineMemory,
  regions: AllocationScope,
  t: MaskTensor,
  heads: readonly BatchHead[],
  rows: readonly [number, number],
  keys: readonly [number, number],
  later?: Later,
): PlacedMask {
  const rowBytes = maskRowBytes(t, keys[1] - keys[0]);
  const head = (t.row === 0 ? 1 : rows[1] - rows[0]) * rowBytes;
  const start = ({ b, h }: BatchHead) => t.base[b] + h * t.head;
  const firsts = new Map(heads.map((one) => [start(one), one]));
  const base = regions.alloc(firsts.size * head);
  const addresses = new Map([...firsts.keys()].map((cell, n) => [cell, base + n * head]));
  copyNowOr(later, () => {
    for (const [cell, { b, h }] of firsts)
      stageMask(memory, t, b, h, rows, keys, addresses.get(cell) as number, rowBytes);
  });
  return {
    at: (b, h) => addresses.get(start({ b, h })) as number,
    head: t.head === 0 ? 0 : head,
    row: t.row === 0 ? 0 : rowBytes,
  };
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

/** Stores float32 results at `start`, rounded to a 16-bit dtype. */
export function storeRounded(dtype: FloatDType, out: TypedData, start: number, values: Float32Array): void {
  if (dtype === "float32" || arrayName(out) === "Float16Array") (out as Float32Array).set(values, start);
  else narrow(dtype, values, out, start);
}

/**
 * Addresses of a stage of the backward pass in the engine's memory. Operands are copied as one range where complete batch entries
 * with contiguous rows are staged, and gathered otherwise; gradients are dense, in full panels.
 */

import type { BackwardInputs } from "../../backend/contract.ts";
import type { MaskTensor, Problem } from "../../backend/problem.ts";
import type { Operand } from "../../core/shape.ts";
import { BYTES_OF, type StoredDType } from "../codegen/spec.ts";
import type { AllocationScope, EngineMemory } from "../engine/memory.ts";
import {
  copiedAt,
  copyIn,
  extentOf,
  maskRowBytes,
  residentOperand,
  type Staged,
  stageMask,
  stageRows,
} from "../engine/transfer.ts";
import type { Stage } from "../forward/place.ts";
import type { BackwardPlan } from "./partition.ts";

/** A head of a batch entry. */
interface Head {
  readonly b: number;
  readonly h: number;
}

/** Keys and values of a stage, with buffers for their gradients. Addresses by batch entry and key head, at the first key. */
export interface PlacedKeys {
  readonly key: Staged;
  readonly value: Staged;
  readonly packedKey: (b: number, hk: number) => number;
  readonly packedValue: (b: number, hk: number) => number;
  /** Keys in rows for the product with ds, and the bytes from row to row. */
  readonly keyRows: (b: number, hk: number) => number;
  readonly keyRow: number;
  readonly dKey: (b: number, hk: number) => number;
  readonly dValue: (b: number, hk: number) => number;
}

/** Query rows of a stage, with buffers for their gradients. Addresses by batch entry and query head, at the first row. */
export interface PlacedRows {
  readonly query: Staged;
  readonly dOutput: Staged;
  readonly output: Staged;
  readonly lse: (b: number, h: number) => number;
  readonly delta: (b: number, h: number) => number;
  readonly lseHead: number;
  readonly dQuery: (b: number, h: number) => number;
  readonly dQueryHead: number;
}

/** A mask tensor of a stage: the address of its first cell by batch entry and head; bytes from head to head and row to row. */
export interface PlacedMask {
  readonly at: (b: number, h: number) => number;
  readonly head: number;
  readonly row: number;
}

/** Rows `from` … `to` of the heads, in place or copied. `entries`: the complete batch entries that these are. */
function placeOperand(
  memory: EngineMemory,
  regions: AllocationScope,
  x: Operand,
  heads: readonly Head[],
  [from, to]: readonly [number, number],
  columns: number,
  entries: { first: number; count: number; heads: number } | undefined,
  number: HeadNumber,
): Staged {
  const resident = residentOperand(memory, x);
  if (resident) return resident;
  const bytes = BYTES_OF[x.tensor.dtype as StoredDType];
  if (entries && columns > 0 && to > from) {
    const part = { ...x, base: x.base.subarray(entries.first, entries.first + entries.count) };
    const extent = extentOf(part, entries.heads, to - from, columns);
    if (extent) {
      const target = regions.alloc((extent.to - extent.from) * bytes);
      copyIn(memory, x, extent, target);
      return copiedAt(x, extent, target);
    }
  }
  const row = columns * bytes;
  const head = (to - from) * row;
  const base = regions.alloc(heads.length * head);
  heads.forEach(({ b, h }, n) => stageRows(memory, x, b, h, from, to, columns, base + n * head));
  return {
    at: (b, h, n) => base + number(b, h) * head + (n - from) * row,
    row,
    head,
  };
}

/** Index of a head of a stage by batch entry and head. The heads of a stage are consecutive, batch entry by batch entry. */
type HeadNumber = (b: number, h: number) => number;

function numbered(heads: readonly Head[], perEntry: number): HeadNumber {
  const first = heads[0].b * perEntry + heads[0].h;
  return (b, h) => b * perEntry + h - first;
}

/** Allocates `bytes` for each head. */
function perHead(regions: AllocationScope, heads: readonly Head[], bytes: number, number: HeadNumber) {
  const base = regions.alloc(heads.length * bytes);
  return (b: number, h: number) => base + number(b, h) * bytes;
}

const keyHeads = (stage: Stage): Head[] => stage.heads.map(({ b, hk }) => ({ b, h: hk }));
const queryHeads = (stage: Stage, G: number): Head[] =>
  stage.heads.flatMap(({ b, hk }) => Array.from({ length: G }, (_, g) => ({ b, h: hk * G + g })));

/** The batch entries of a stage that has complete entries only. */
function entriesOf(problem: Problem, stage: Stage): { first: number; count: number } | undefined {
  const { Hkv } = problem.shape;
  const first = stage.heads[0];
  if (stage.heads.length % Hkv !== 0 || first.hk !== 0) return undefined;
  return { first: first.b, count: stage.heads.length / Hkv };
}

/** Copies the keys and values of a stage into the engine's memory. */
export function placeKeys(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: BackwardPlan,
  stage: Stage,
): PlacedKeys {
  const { key, value, Hkv, Nk, dk, dv } = problem.shape;
  const heads = keyHeads(stage);
  const number = numbered(heads, Hkv);
  const [k0, k1] = stage.keys;
  const complete = k1 - k0 === Nk ? entriesOf(problem, stage) : undefined;
  const entries = complete && { ...complete, heads: Hkv };
  const keys = plan.strip * Math.ceil((k1 - k0) / plan.strip);
  const staged = placeOperand(memory, regions, key, heads, stage.keys, dk, entries, number);
  const rows = plan.copyKeys ? perHead(regions, heads, 4 * keys * plan.keyColumns, number) : undefined;
  return {
    key: staged,
    value: placeOperand(memory, regions, value, heads, stage.keys, dv, entries, number),
    packedKey: perHead(regions, heads, 4 * keys * dk, number),
    packedValue: perHead(regions, heads, 4 * keys * dv, number),
    keyRows: rows ?? ((b, hk) => staged.at(b, hk, k0)),
    keyRow: rows ? 4 * plan.keyColumns : staged.row,
    dKey: perHead(regions, heads, 4 * keys * plan.keyColumns, number),
    dValue: perHead(regions, heads, 4 * keys * plan.valueColumns, number),
  };
}

/** Copies the rows of a stage into the engine's memory: queries, the output and its gradient, lse. */
export function placeRows(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: BackwardPlan,
  upstream: BackwardInputs,
  stage: Stage,
): PlacedRows {
  const { query, Hq, G, Nq, dk, dv } = problem.shape;
  const heads = queryHeads(stage, G);
  const number = numbered(heads, Hq);
  const [r0, r1] = stage.rows;
  const complete = r1 - r0 === Nq ? entriesOf(problem, stage) : undefined;
  const entries = complete && { ...complete, heads: Hq };
  const place = (x: Operand, columns: number) =>
    placeOperand(memory, regions, x, heads, stage.rows, columns, entries, number);
  const lseHead = 4 * (r1 - r0);
  const lse = perHead(regions, heads, lseHead, number);
  const delta = perHead(regions, heads, lseHead, number);
  const dQueryHead = 4 * plan.spec.tile.rows * Math.ceil((r1 - r0) / plan.spec.tile.rows) * plan.keyColumns;
  const placed = {
    query: place(query, dk),
    dOutput: place(upstream.dOutput, dv),
    output: place(upstream.output, dv),
    lse,
    delta,
    lseHead,
    dQuery: perHead(regions, heads, dQueryHead, number),
    dQueryHead,
  };
  const { f32 } = memory;
  for (const { b, h } of heads) {
    const at = lse(b, h) / 4;
    for (let row = r0; row < r1; row++) f32[at + row - r0] = upstream.lse(b, h, row);
    f32.fill(0, delta(b, h) / 4, delta(b, h) / 4 + r1 - r0);
  }
  return placed;
}

/** Copies the cells of the mask tensors into the engine's memory; heads and batch entries with the same cells share the copy. */
export function placeMasks(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  stage: Stage,
): PlacedMask[] {
  const heads = queryHeads(stage, problem.shape.G);
  const [[r0, r1], [k0, k1]] = [stage.rows, stage.keys];
  return problem.tensors.map((t: MaskTensor) => {
    const rowBytes = maskRowBytes(t, k1 - k0);
    const head = (t.row === 0 ? 1 : r1 - r0) * rowBytes;
    const first = (b: number, h: number) => t.base[b] + h * t.head;
    const starts = [...new Set(heads.map(({ b, h }) => first(b, h)))];
    const base = regions.alloc(starts.length * head);
    const addresses = new Map(starts.map((start, n) => [start, base + n * head]));
    const done = new Set<number>();
    for (const { b, h } of heads) {
      const start = first(b, h);
      if (done.has(start)) continue;
      done.add(start);
      stageMask(memory, t, b, h, [r0, r1], [k0, k1], addresses.get(start) as number, rowBytes);
    }
    return {
      at: (b, h) => addresses.get(first(b, h)) as number,
      head: t.head === 0 ? 0 : head,
      row: t.row === 0 ? 0 : rowBytes,
    };
  });
}

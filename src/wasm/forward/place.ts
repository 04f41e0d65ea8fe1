/**
 * The addresses of a stage's operands and results in the engine's memory. A problem that fits is placed completely, with
 * its own strides; otherwise parts of it are gathered into dense rows, in regions that all stages reuse.
 */

import type { Result } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import type { Operand } from "../../core/shape.ts";
import { BYTES_OF } from "../codegen/spec.ts";
import type { AllocationScope, EngineMemory } from "../engine/memory.ts";
import {
  addressOf,
  copiedAt,
  copyIn,
  extentOf,
  maskRowBytes,
  residentOperand,
  type Staged,
  stageMask,
  stageRows,
} from "../engine/transfer.ts";
import type { ForwardPlan } from "./plan.ts";
import type { Strides } from "./tasks.ts";

/** Heads, rows and keys in the engine's memory together. */
export interface Stage {
  readonly heads: readonly { readonly b: number; readonly hk: number }[];
  readonly rows: readonly [number, number];
  readonly keys: readonly [number, number];
}

/** A stage in the engine's memory: byte addresses by absolute batch entry, head, row and key. */
export interface Placed extends Stage {
  readonly query: (b: number, h: number, row: number) => number;
  readonly key: (b: number, hk: number, key: number) => number;
  readonly value: (b: number, hk: number, key: number) => number;
  /** Packed keys of a head, at the first key of the stage; 0 for the decode kernel. */
  readonly packedKey: (b: number, hk: number) => number;
  /** Packed values, where they are packed. */
  readonly packedValue: (b: number, hk: number) => number;
  readonly out: (b: number, h: number, row: number, split: number) => number;
  readonly lse: (b: number, h: number, row: number, split: number) => number;
  readonly state: (b: number, h: number, block: number) => number;
  readonly tensor: (n: number, b: number, h: number, row: number) => number;
  readonly sinks: number;
  readonly strides: Strides;
  /** True where `out` has the layout of the result and is copied as one range. */
  readonly contiguous: boolean;
  /** Bytes from the first output (and lse) of one split to that of the next. */
  readonly splitBytes: number;
}

const NULL_ADDRESS = () => 0;

/** Sinks as float32; 0 where there are none. */
function placeSinks(memory: EngineMemory, regions: AllocationScope, problem: Problem): number {
  if (!problem.sinks) return 0;
  const at = regions.alloc(4 * problem.sinks.length);
  memory.f32.set(problem.sinks, at / 4);
  return at;
}

/** The address of an output in the engine's memory that a kernel can write in place. */
const outputInPlace = (
  memory: EngineMemory,
  problem: Problem,
  splits: number,
  out: Result,
): number | undefined =>
  splits === 1 && problem.dtype === "float32" ? addressOf(memory, out.output) : undefined;

/** A problem with its addresses; its numbers are copied later: keys (and values that are packed) first, all others during the packing. */
export interface PlacedProblem extends Placed {
  readonly copyKeysIn: () => void;
  readonly copyRestIn: () => void;
}

/** Places a problem that fits: operands as one range where their rows are contiguous, the output in its own layout. */
export function placeProblem(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: ForwardPlan,
  out: Result,
): PlacedProblem {
  const { shape } = problem;
  const { B, Hq, Hkv, Nq, Nk, dk, dv } = shape;
  const { spec, tiling } = plan;
  const [early, late]: (() => void)[][] = [[], []];
  const place = (
    x: Operand,
    heads: number,
    rows: number,
    columns: number,
    bytes: number,
    when: (() => void)[],
  ): Staged => {
    const resident = residentOperand(memory, x);
    if (resident) return resident;
    const extent = columns === 0 ? undefined : extentOf(x, heads, rows, columns);
    if (extent) {
      const target = regions.alloc((extent.to - extent.from) * bytes);
      when.push(() => copyIn(memory, x, extent, target));
      return copiedAt(x, extent, target);
    }
    const head = rows * columns * bytes;
    const at = regions.alloc(B * heads * head);
    when.push(() => {
      for (let b = 0; b < B; b++)
        for (let h = 0; h < heads; h++)
          stageRows(memory, x, b, h, 0, rows, columns, at + (b * heads + h) * head);
    });
    return { at: (b, h, n) => at + (b * heads + h) * head + n * columns * bytes, row: columns * bytes, head };
  };
  const query = place(shape.query, Hq, Nq, dk, BYTES_OF[spec.query], late);
  const key = place(shape.key, Hkv, Nk, dk, BYTES_OF[spec.key], early);
  const value = place(shape.value, Hkv, Nk, dv, BYTES_OF[spec.value], plan.packValues ? early : late);

  const packed = spec.kind === "forward";
  const packedHead = plan.packedKeyHead;
  const packedAt = packed ? regions.alloc(B * Hkv * packedHead) : 0;
  const valueHead = plan.packedValueHead;
  const valueAt = plan.packValues ? regions.alloc(B * Hkv * valueHead) : 0;

  const splitOut = 4 * B * Hq * Nq * dv;
  const splitLse = 4 * B * Hq * Nq;
  const outAt = outputInPlace(memory, problem, tiling.splits, out) ?? regions.alloc(tiling.splits * splitOut);
  const lseAt = regions.alloc(tiling.splits * splitLse);

  const masks = problem.tensors.map((t) => {
    // Heads and batch entries with the same cells share the copy.
    const [bs, hs] = [t.base.some((x) => x !== t.base[0]) ? B : 1, t.head === 0 ? 1 : Hq];
    const rowBytes = maskRowBytes(t, Nk);
    const rows = t.row === 0 ? 1 : Nq;
    const at = regions.alloc(bs * hs * rows * rowBytes);
    late.push(() => {
      for (let b = 0; b < bs; b++)
        for (let h = 0; h < hs; h++)
          stageMask(memory, t, b, h, [0, Nq], [0, Nk], at + (b * hs + h) * rows * rowBytes, rowBytes);
    });
    const row = t.row === 0 ? 0 : rowBytes;
    return {
      row,
      at: (b: number, h: number, r: number) =>
        at + ((bs === 1 ? 0 : b) * hs + (hs === 1 ? 0 : h)) * rows * rowBytes + r * row,
    };
  });
  const heads = Array.from({ length: B * Hkv }, (_, n) => ({ b: Math.floor(n / Hkv), hk: n % Hkv }));
  return {
    heads,
    rows: [0, Nq],
    keys: [0, Nk],
    query: query.at,
    key: key.at,
    value: value.at,
    packedKey: packed ? (b, hk) => packedAt + (b * Hkv + hk) * packedHead : NULL_ADDRESS,
    packedValue: plan.packValues ? (b, hk) => valueAt + (b * Hkv + hk) * valueHead : NULL_ADDRESS,
    out: (b, h, row, split) => outAt + split * splitOut + 4 * (b * out.batch + h * out.head + row * out.row),
    lse: (b, h, row, split) => lseAt + split * splitLse + 4 * ((b * Hq + h) * Nq + row),
    state: NULL_ADDRESS,
    tensor: (n, b, h, row) => masks[n].at(b, h, row),
    sinks: placeSinks(memory, regions, problem),
    strides: {
      queryRow: query.row,
      queryHead: query.head,
      keyRow: key.row,
      valueRow: plan.packValues ? plan.packedValueRow : value.row,
      outRow: 4 * out.row,
      outHead: 4 * out.head,
      lseHead: 4 * Nq,
      headRows: Nq,
      tensorRows: masks.map((m) => m.row),
    },
    contiguous: true,
    splitBytes: splitOut,
    copyKeysIn: () => early.forEach((copyIn) => copyIn()),
    copyRestIn: () => late.forEach((copyIn) => copyIn()),
  };
}

/** Regions for the largest stage, reused for each stage. `fresh` is true where new keys were copied. */
export interface StagingBuffers {
  readonly strides: Strides;
  fill(stage: Stage): { placed: Placed; fresh: boolean };
}

/** Allocates regions for stages of the size in the plan. */
export function placeStages(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: ForwardPlan,
): StagingBuffers {
  const { shape } = problem;
  const { G, Nk, dk, dv } = shape;
  const { spec, tiling, staging } = plan;
  const units = Math.min(staging.heads, shape.B * shape.Hkv);
  const [rows, keys] = [Math.min(staging.rows, shape.Nq), Math.min(staging.keys, Nk)];
  const operand = (x: Operand, heads: number, count: number, columns: number, bytes: number) => {
    const resident = residentOperand(memory, x);
    const head = count * columns * bytes;
    const at = resident ? 0 : regions.alloc(heads * head);
    return { resident, head, row: resident?.row ?? columns * bytes, at };
  };
  const query = operand(shape.query, units * G, rows, dk, BYTES_OF[spec.query]);
  const key = operand(shape.key, units, keys, dk, BYTES_OF[spec.key]);
  const value = operand(shape.value, units, keys, dv, BYTES_OF[spec.value]);
  const packed = spec.kind === "forward";
  const packedHead = plan.packedKeyHead;
  const packedAt = packed ? regions.alloc(units * packedHead) : 0;
  const valueHead = plan.packedValueHead;
  const valueAt = plan.packValues ? regions.alloc(units * valueHead) : 0;
  const outHead = 4 * rows * dv;
  const splitOut = units * G * outHead;
  const splitLse = units * G * rows * 4;
  const outAt = regions.alloc(tiling.splits * splitOut);
  const lseAt = regions.alloc(tiling.splits * splitLse);
  const blocks = Math.ceil(rows / tiling.rowTile);
  const stateAt = keys < Nk ? regions.alloc(units * G * blocks * plan.stateBytes) : 0;
  const masks = problem.tensors.map((t) => {
    const rowBytes = maskRowBytes(t, keys);
    const count = t.row === 0 ? 1 : rows;
    return {
      rowBytes,
      row: t.row === 0 ? 0 : rowBytes,
      head: count * rowBytes,
      at: regions.alloc(units * G * count * rowBytes),
    };
  });
  const sinks = placeSinks(memory, regions, problem);
  const strides: Strides = {
    queryRow: query.row,
    queryHead: query.resident?.head ?? query.head,
    keyRow: key.row,
    valueRow: plan.packValues ? plan.packedValueRow : value.row,
    outRow: 4 * dv,
    outHead,
    lseHead: 4 * rows,
    headRows: shape.Nq,
    tensorRows: masks.map((m) => m.row),
  };
  let [stagedQueries, stagedKeys] = ["", ""];

  return {
    strides,
    fill(stage) {
      const [r0, r1] = stage.rows;
      const [k0, k1] = stage.keys;
      const unit = new Map(stage.heads.map(({ b, hk }, n) => [b * shape.Hkv + hk, n]));
      const at = (b: number, hk: number) => unit.get(b * shape.Hkv + hk) as number;
      const headAt = (b: number, h: number) => at(b, Math.floor(h / G)) * G + (h % G);
      const heads = stage.heads.map(({ b, hk }) => `${b}.${hk}`).join();
      const [queriesName, keysName] = [`${heads} ${r0}`, `${heads} ${k0}`];
      const fresh = stagedKeys !== keysName;
      for (const { b, hk } of stage.heads) {
        if (stagedQueries !== queriesName && !query.resident)
          for (let h = hk * G; h < (hk + 1) * G; h++)
            stageRows(memory, shape.query, b, h, r0, r1, dk, query.at + headAt(b, h) * query.head);
        if (fresh && !key.resident)
          stageRows(memory, shape.key, b, hk, k0, k1, dk, key.at + at(b, hk) * key.head);
        if (fresh && !value.resident)
          stageRows(memory, shape.value, b, hk, k0, k1, dv, value.at + at(b, hk) * value.head);
        problem.tensors.forEach((t, n) => {
          for (let h = hk * G; h < (hk + 1) * G; h++)
            stageMask(
              memory,
              t,
              b,
              h,
              [r0, r1],
              [k0, k1],
              masks[n].at + headAt(b, h) * masks[n].head,
              masks[n].rowBytes,
            );
        });
      }
      [stagedQueries, stagedKeys] = [queriesName, keysName];
      const from = (x: typeof key, base: number, index: (b: number, h: number) => number) =>
        x.resident?.at ??
        ((b: number, h: number, n: number) => x.at + index(b, h) * x.head + (n - base) * x.row);
      const placed: Placed = {
        ...stage,
        query: from(query, r0, headAt),
        key: from(key, k0, at),
        value: from(value, k0, at),
        packedKey: packed ? (b, hk) => packedAt + at(b, hk) * packedHead : NULL_ADDRESS,
        packedValue: plan.packValues ? (b, hk) => valueAt + at(b, hk) * valueHead : NULL_ADDRESS,
        out: (b, h, row, split) => outAt + split * splitOut + headAt(b, h) * outHead + (row - r0) * 4 * dv,
        lse: (b, h, row, split) => lseAt + split * splitLse + (headAt(b, h) * rows + row - r0) * 4,
        state: stateAt
          ? (b, h, block) => stateAt + (headAt(b, h) * blocks + block) * plan.stateBytes
          : NULL_ADDRESS,
        tensor: (n, b, h, row) => masks[n].at + headAt(b, h) * masks[n].head + (row - r0) * masks[n].row,
        sinks,
        strides,
        contiguous: false,
        splitBytes: splitOut,
      };
      return { placed, fresh };
    },
  };
}

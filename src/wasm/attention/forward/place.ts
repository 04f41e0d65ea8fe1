/**
 * The addresses of a stage's operands and results in the engine's memory. The rows of the stage and its keys are placed apart:
 * rows are the same for several ranges of keys, or keys for several ranges of rows.
 */

import type { Result } from "../../../backend/contract.ts";
import type { Problem } from "../../../backend/problem.ts";
import { activeScope } from "../../../core/arena.ts";
import type { AllocationScope, EngineMemory } from "../../engine/memory.ts";
import type { Later, PlacedMask, Staged } from "../../engine/transfer.ts";
import { addressOf, placeOperand, storeRounded } from "../../engine/transfer.ts";
import type { EngineStage } from "../plan.ts";
import { mergeSplits } from "../results.ts";
import type { ForwardPlan } from "./plan.ts";

/** Keys and values of a stage. */
export interface PlacedKeys {
  readonly key: Staged;
  readonly value: Staged;
  /** Packed keys of a head, at the first key of the stage; 0 for the decode kernel. */
  readonly packedKey: (b: number, hk: number) => number;
  /** Packed values, where they are packed. */
  readonly packedValue: (b: number, hk: number) => number;
}

/** Query rows of a stage, with buffers for their results: addresses by absolute batch entry, head and row. */
export interface PlacedRows {
  readonly query: Staged;
  readonly out: (b: number, h: number, row: number, split: number) => number;
  readonly lse: (b: number, h: number, row: number, split: number) => number;
  readonly state: (b: number, h: number, block: number) => number;
  readonly outRow: number;
  readonly outHead: number;
  readonly lseHead: number;
  /** Bytes from the first output of one split to that of the next. */
  readonly splitBytes: number;
  /** Copies output and lse out of the engine's memory: merges splits, rounds to the output's dtype, writes its layout. */
  collect(): void;
}

/** A stage in the engine's memory. */
export interface Placed extends EngineStage, PlacedKeys, PlacedRows {
  readonly masks: readonly PlacedMask[];
  /** Address of the sinks as float32; 0 where there are none. */
  readonly sinks: number;
}

const NULL_ADDRESS = () => 0;

/** Places the keys and values of a stage. Values that are not packed are copied later. */
export function placeKeys(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: ForwardPlan,
  stage: EngineStage,
  later: Later,
): PlacedKeys {
  const { key, value, Nk, dk, dv } = problem.shape;
  const heads = stage.heads.keys;
  const full = stage.keys[1] - stage.keys[0] === Nk;
  const place = (x: typeof key, columns: number, when: Later) =>
    placeOperand(memory, regions, x, heads, stage.keys, columns, full, when);
  return {
    key: place(key, dk, undefined),
    value: place(value, dv, plan.packValues ? undefined : later),
    packedKey: plan.spec.kind === "forward" ? heads.allocate(regions, plan.packedKeyHead) : NULL_ADDRESS,
    packedValue: plan.packValues ? heads.allocate(regions, plan.packedValueHead) : NULL_ADDRESS,
  };
}

/** Places the rows of a stage, which are copied later. All rows of all heads are in the layout of the result, any others are dense. */
export function placeRows(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: ForwardPlan,
  stage: EngineStage,
  out: Result,
  later: Later,
): PlacedRows {
  const { B, Hq, Nq, Nk, dk, dv, query } = problem.shape;
  const { splits, rowTile } = plan.tiling;
  const [r0, r1] = stage.rows;
  const rows = r1 - r0;
  const heads = stage.heads.queries;
  const count = heads.list.length;
  const isComplete = rows === Nq && count === B * Hq;
  const [outRow, outHead] = isComplete ? [4 * out.row, 4 * out.head] : [4 * dv, 4 * rows * dv];
  const splitBytes = 4 * count * rows * dv;
  const outputInPlace =
    activeScope && isComplete && splits === 1 && problem.dtype === "float32"
      ? addressOf(memory, out.output)
      : undefined;
  const outAt = outputInPlace ?? regions.alloc(splits * splitBytes);
  const lseAt = regions.alloc(splits * count * rows * 4);
  const blocks = Math.ceil(rows / rowTile);
  const state =
    plan.staging.keys < Nk ? heads.allocate(regions, blocks * plan.stateBytes) : (NULL_ADDRESS as never);
  const placed: PlacedRows = {
    query: placeOperand(memory, regions, query, heads, stage.rows, dk, rows === Nq, later),
    out: isComplete
      ? (b, h, row, split) => outAt + split * splitBytes + 4 * b * out.batch + h * outHead + row * outRow
      : (b, h, row, split) => outAt + split * splitBytes + heads.index(b, h) * outHead + (row - r0) * outRow,
    lse: (b, h, row, split) => lseAt + 4 * ((split * count + heads.index(b, h)) * rows + row - r0),
    state: state === NULL_ADDRESS ? NULL_ADDRESS : (b, h, block) => state(b, h) + block * plan.stateBytes,
    outRow,
    outHead,
    lseHead: 4 * rows,
    splitBytes,
    collect() {
      const { f32 } = memory;
      const store = (start: number, at: number, length: number) =>
        storeRounded(problem.dtype, out.output, start, f32.subarray(at / 4, at / 4 + length));
      if (splits > 1) mergeSplits(f32, problem, splits, placed, heads.list, stage.rows);
      if (isComplete) {
        const lse = f32.subarray(lseAt / 4, lseAt / 4 + count * rows);
        if (out.copyFrom?.(f32.subarray(outAt / 4, outAt / 4 + count * rows * dv), lse)) return;
        // An output that the kernel wrote in place is not copied.
        if (outputInPlace === undefined) store(0, outAt, count * rows * dv);
        out.lse.set(lse);
        return;
      }
      for (const { b, h } of heads.list) {
        const [at, start] = [placed.out(b, h, r0, 0), b * out.batch + h * out.head + r0 * out.row];
        if (out.row === dv) store(start, at, rows * dv);
        else for (let n = 0; n < rows; n++) store(start + n * out.row, at + n * outRow, dv);
        const lse = placed.lse(b, h, r0, 0) / 4;
        out.lse.set(f32.subarray(lse, lse + rows), (b * Hq + h) * Nq + r0);
      }
    },
  };
  return placed;
}

/** Sinks as float32; 0 where there are none. */
export function placeSinks(memory: EngineMemory, regions: AllocationScope, { sinks }: Problem): number {
  if (!sinks) return 0;
  const at = regions.alloc(4 * sinks.length);
  memory.f32.set(sinks, at / 4);
  return at;
}

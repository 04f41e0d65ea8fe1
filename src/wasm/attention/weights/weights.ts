/**
 * Weights of selected heads and rows: exp(score − lse), with the same products, masks and exp2 as in the forward
 * kernel. The keys of one head and a few rows of weights are in the engine's memory at a time.
 */

import type { LseReader } from "../../../backend/contract.ts";
import type { SimdLevel } from "../../../backend/plan/plan.ts";
import type { Problem } from "../../../backend/problem.ts";
import { settings } from "../../../backend/settings.ts";
import { DTYPES, type TypedData } from "../../../core/dtype.ts";
import { headKey } from "../../../core/random/random.ts";
import { FIRST, LAST, workspaceOf } from "../../codegen/layout.ts";
import { packing, panelOf, roundUp, type Spec } from "../../codegen/spec.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as PackStruct from "../../codegen/structs/pack.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import type { Engine } from "../../engine/engine.ts";
import { AllocationScope } from "../../engine/memory.ts";
import { maskRowBytes, stageMask, stageRows, storeRounded } from "../../engine/transfer.ts";
import { weights as weightsKernel } from "../../kernels/attention/weights.ts";
import { PlanCache, packKernel, poolImage, problemKey, Runs, specOf, withManyRows } from "../plan.ts";
import { correctRounding } from "../results.ts";
import { type Strides, writeCall } from "../tasks.ts";

/** Consecutive rows that one task computes. */
interface RowTile {
  readonly row: number;
  readonly count: number;
  /** Index of the first row among the requested rows. */
  readonly index: number;
}

/** The kernel of weights, and the one that packs keys for it. */
export function weightsKernels(engine: Engine, problem: Problem, level: SimdLevel) {
  const forward = specOf(withManyRows(problem), level, engine.memory.shared);
  const spec: Spec = { ...forward.spec, kind: "weights" };
  const kernel = engine.kernels.get(spec, workspaceOf(spec).size, weightsKernel);
  return { spec, kernel, packer: packKernel(engine, packing(spec)) };
}

/** What a call needs beside its tensors. */
function makePlan(engine: Engine, problem: Problem, level: SimdLevel) {
  const { spec, kernel, packer } = weightsKernels(engine, problem, level);
  const runs = new Runs(problem, spec.keyTile, panelOf(spec.tile));
  return { spec, kernel, packer, runs, pool: poolImage([problem.mask, problem.score]) };
}

const plans = new PlanCache<ReturnType<typeof makePlan>>();

/** Fills `out` [B, heads, rows, Nk] with weights. */
// long: what is placed, the words of a task and the results of a batch of row tiles use the same addresses.
export function weights(
  engine: Engine,
  problem: Problem,
  level: SimdLevel,
  threads: number,
  lse: LseReader,
  heads: readonly number[],
  rows: readonly number[],
  out: TypedData,
): void {
  const { memory } = engine;
  const { shape } = problem;
  const { B, G, Nq, Nk, dk } = shape;
  const { spec, kernel, packer, runs, pool } = plans.get(engine, problemKey(problem, level), () =>
    makePlan(engine, problem, level),
  );
  engine.pool.reserve(Math.max(kernel.workspaceBytes, packer.workspaceBytes), threads);

  const outRow = roundUp(Nk, panelOf(spec.tile)) * 4;
  const cells = problem.tensors.reduce((n, t) => n + maskRowBytes(t, Nk), 0);
  const rowBytes = outRow + dk * DTYPES[spec.query].bytes + 4 + cells;
  const budget = settings().bytesPerThread * settings().threads;
  // A batch has as many row tiles as fit the budget, at least one.
  const perBatch = Math.max(1, Math.floor(budget / 2 / (rowBytes * spec.rowTile)));
  const rowTiles = rowTilesOf(rows, spec.rowTile);
  const batch = Math.min(rowTiles.length, perBatch);

  const regions = new AllocationScope(memory);
  try {
    const rawKeys = regions.alloc(Nk * dk * DTYPES[spec.key].bytes);
    const packed = regions.alloc(roundUp(Nk, panelOf(spec.tile)) * dk * 4);
    const queryAt = regions.alloc(batch * spec.rowTile * dk * DTYPES[spec.query].bytes);
    const lseAt = regions.alloc(batch * spec.rowTile * 4);
    const outAt = regions.alloc(batch * spec.rowTile * outRow);
    const masks = problem.tensors.map((t) => ({
      t,
      bytes: maskRowBytes(t, Nk),
      at: regions.alloc(batch * spec.rowTile * maskRowBytes(t, Nk)),
    }));
    const strides: Strides = [
      [CallStruct.queryRow, dk * DTYPES[spec.query].bytes],
      [CallStruct.keyRow, dk * DTYPES[spec.key].bytes],
      [CallStruct.outRow, outRow],
    ];
    const tensorRows = masks.map(({ t, bytes }) => (t.row === 0 ? 0 : bytes));
    const call = writeCall(memory, regions, problem, strides, tensorRows, pool);
    const taskAt = regions.alloc(batch * TaskStruct.size);
    const packAt = regions.alloc(PackStruct.size);
    let packedHead = -1;
    for (let b = 0; b < B; b++)
      heads.forEach((h, headIndex) => {
        const hk = Math.floor(h / G);
        if (packedHead !== b * shape.Hkv + hk && dk > 0 && Nk > 0) {
          packedHead = b * shape.Hkv + hk;
          stageRows(memory, shape.key, b, hk, 0, Nk, dk, rawKeys);
          memory.i32.set([rawKeys, dk * DTYPES[spec.key].bytes, Nk, packed, 0, 0, 0, 0], packAt / 4);
          engine.pool.run(packer, packAt, PackStruct.size, 1, 1);
        }
        for (let first = 0; first < rowTiles.length; first += batch) {
          const part = rowTiles.slice(first, first + batch);
          const scratch = new AllocationScope(memory);
          try {
            memory.u8.fill(0, outAt, outAt + part.length * spec.rowTile * outRow);
            part.forEach((tile, n) => {
              const row0 = n * spec.rowTile;
              stageRows(
                memory,
                shape.query,
                b,
                h,
                tile.row,
                tile.row + tile.count,
                dk,
                queryAt + row0 * dk * DTYPES[spec.query].bytes,
              );
              for (const { t, bytes, at } of masks)
                stageMask(
                  memory,
                  t,
                  b,
                  h,
                  [tile.row, tile.row + tile.count],
                  [0, Nk],
                  at + row0 * bytes,
                  bytes,
                );
              for (let r = 0; r < tile.count; r++) memory.f32[lseAt / 4 + row0 + r] = lse(b, h, tile.row + r);
              // The runs of a row tile, of which some rows may not be asked for: a plan has them by its first row.
              const { list, words } = runs.of(b, h, tile.row, Math.min(tile.row + spec.rowTile, Nq), 0, Nk);
              const runsAt = scratch.alloc(4 * Math.max(1, words.length));
              const { i32 } = memory;
              i32.set(words, runsAt / 4);
              const task = (taskAt + n * TaskStruct.size) / 4;
              const set = (word: number, value: number) => {
                i32[task + word / 4] = value;
              };
              set(TaskStruct.call, call);
              set(TaskStruct.query, queryAt + row0 * dk * DTYPES[spec.query].bytes);
              set(TaskStruct.key, packed);
              set(TaskStruct.value, 0);
              set(TaskStruct.out, outAt + row0 * outRow);
              set(TaskStruct.lse, lseAt + row0 * 4);
              set(TaskStruct.rows, tile.count);
              set(TaskStruct.row0, tile.row);
              set(TaskStruct.offset, problem.offsets[b]);
              set(TaskStruct.batch, b);
              set(TaskStruct.head, h);
              set(TaskStruct.runs, runsAt);
              set(TaskStruct.runCount, list.length);
              set(TaskStruct.flags, FIRST | LAST);
              set(TaskStruct.sinks, 0);
              set(TaskStruct.state, 0);
              set(TaskStruct.dropKey, problem.dropoutP > 0 ? headKey(problem.seed, b, h) : 0);
              set(TaskStruct.keyBase, 0);
              masks.forEach(({ bytes, at }, m) => set(TaskStruct.tensor + 4 * m, at + row0 * bytes));
            });
            engine.pool.run(kernel, taskAt, TaskStruct.size, part.length, threads);
          } finally {
            scratch.free();
          }
          const { f32 } = memory;
          part.forEach((tile, n) => {
            for (let r = 0; r < tile.count; r++) {
              const at = (outAt + (n * spec.rowTile + r) * outRow) / 4;
              const to = ((b * heads.length + headIndex) * rows.length + tile.index + r) * Nk;
              const row = f32.subarray(at, at + Nk);
              if (problem.dropoutP === 0) correctRounding(row, lse(b, h, tile.row + r), problem.sinks?.[h]);
              storeRounded(problem.dtype, out, to, row);
            }
          });
        }
      });
  } finally {
    regions.free();
  }
}

/** Requested rows as tiles of consecutive rows, of at most `maxRows`. */
function rowTilesOf(rows: readonly number[], maxRows: number): RowTile[] {
  const tiles: RowTile[] = [];
  for (let index = 0; index < rows.length; ) {
    let count = 1;
    while (count < maxRows && index + count < rows.length && rows[index + count] === rows[index] + count)
      count++;
    tiles.push({ row: rows[index], count, index });
    index += count;
  }
  return tiles;
}

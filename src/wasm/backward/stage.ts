/**
 * A stage of the backward pass: copies the keys of some heads into the engine's memory, then rows, writes their tasks, and
 * collects the results: copies gradients out and adds up sums.
 */
import type { BackwardInputs, Gradients } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import type { AllocationScope, EngineMemory } from "../engine/memory.ts";
import type { Stage } from "../forward/place.ts";
import type { Tasks } from "../forward/tasks.ts";
import { type Strides, writeCall } from "../forward/tasks.ts";
import { placeBiasGradients } from "./bias-gradients.ts";
import type { BackwardPlan } from "./partition.ts";
import { type PlacedKeys, placeKeys, placeMasks, placeRows } from "./place.ts";
import { buildBackwardTasks, buildPackTasks } from "./tasks.ts";

/** One backward call. */
export interface Pass {
  readonly memory: EngineMemory;
  readonly problem: Problem;
  readonly plan: BackwardPlan;
  readonly upstream: BackwardInputs;
  readonly gradients: Gradients;
  /** δ of every row [B, Hq, Nq], where sinks need it; any stage with visible keys of a row computes it. */
  readonly deltas: Float32Array | undefined;
}

/** Staged keys. */
export interface KeyStage {
  readonly placed: PlacedKeys;
  readonly packs: { readonly keys: Tasks; readonly values: Tasks };
  collect(): void;
}

/** Staged rows, and the tasks of these rows and the staged keys, wave by wave. */
export interface RowStage {
  readonly waves: readonly Tasks[];
  collect(): void;
}

/** The backward kernel reads its strides from its tasks. */
const NO_STRIDES: Strides = {
  queryRow: 0, keyRow: 0, valueRow: 0, outRow: 0, queryHead: 0, outHead: 0, lseHead: 0, headRows: 0, tensorRows: [],
}; // biome-ignore format: one list

/** Copies the keys and values of a stage into the engine's memory. */
export function stageKeys(
  { memory, problem, plan, gradients }: Pass,
  regions: AllocationScope,
  stage: Stage,
): KeyStage {
  const { Hkv, Nk, dk, dv } = problem.shape;
  const placed = placeKeys(memory, regions, problem, plan, stage);
  const [k0, k1] = stage.keys;
  const [keys, values] = [dk, dv].map((columns) => ({ rows: k1 - k0, columns }));
  return {
    placed,
    packs: buildPackTasks(memory, regions, problem, plan, stage, placed),
    collect() {
      for (const { b, hk } of stage.heads) {
        const first = (b * Hkv + hk) * Nk + k0;
        copyRowsOut(memory, placed.dKey(b, hk), plan.keyColumns, gradients.dKey, first * dk, keys);
        copyRowsOut(memory, placed.dValue(b, hk), plan.valueColumns, gradients.dValue, first * dv, values);
      }
    },
  };
}

/** Copies the rows of a stage into the engine's memory and writes its tasks. */
export function stageRows(
  pass: Pass,
  regions: AllocationScope,
  stage: Stage,
  placedKeys: PlacedKeys,
): RowStage {
  const { memory, problem, plan, upstream, gradients, deltas } = pass;
  const { Hq, G, Nq, dk } = problem.shape;
  const { rangeKeys } = plan;
  const [r0, r1] = stage.rows;
  const [k0, k1] = stage.keys;
  const placedRows = placeRows(memory, regions, problem, plan, upstream, stage);
  const masks = placeMasks(memory, regions, problem, stage);
  const strides = { ...NO_STRIDES, tensorRows: masks.map((x) => x.row) };
  const call = writeCall(memory, regions, problem, strides, plan.pool);
  const ranges = Math.ceil((k1 - k0) / rangeKeys);
  const sums =
    plan.sums && placeBiasGradients(memory, regions, problem, plan.sums, stage, ranges, plan.strip);
  const [newRows, newKeys] = [k0 === 0, r0 === 0];
  const size = { rows: r1 - r0, columns: dk };
  const eachHead = (visit: (b: number, h: number, row: number) => void) => {
    for (const { b, hk } of stage.heads)
      for (let h = hk * G; h < (hk + 1) * G; h++) visit(b, h, (b * Hq + h) * Nq + r0);
  };
  if (!newRows)
    eachHead((b, h, row) =>
      copyRowsIn(memory, gradients.dQuery, row * dk, placedRows.dQuery(b, h), plan.keyColumns, size),
    );
  const staged = { ...stage, placedKeys, placedRows, masks, sums, call, newRows, newKeys };
  return {
    waves: buildBackwardTasks(memory, regions, problem, plan, staged),
    collect() {
      sums?.collect(gradients);
      eachHead((b, h, row) => {
        copyRowsOut(memory, placedRows.dQuery(b, h), plan.keyColumns, gradients.dQuery, row * dk, size);
        const at = placedRows.delta(b, h) / 4;
        if (deltas)
          memory.f32.subarray(at, at + r1 - r0).forEach((delta, n) => {
            if (delta !== 0) deltas[row + n] = delta;
          });
      });
    },
  };
}

interface Size {
  readonly rows: number;
  readonly columns: number;
}

/** Copies rows, `stride` numbers apart, out of the engine's memory. */
function copyRowsOut(
  memory: EngineMemory,
  address: number,
  stride: number,
  out: Gradients["dQuery"],
  first: number,
  { rows, columns }: Size,
): void {
  const { f32 } = memory;
  const at = address / 4;
  if (stride === columns) out.set(f32.subarray(at, at + rows * columns), first);
  else
    for (let n = 0; n < rows; n++)
      for (let e = 0; e < columns; e++) out[first + n * columns + e] = f32[at + n * stride + e];
}

/** Copies rows back into the engine's memory. */
function copyRowsIn(
  memory: EngineMemory,
  from: Gradients["dQuery"],
  first: number,
  address: number,
  stride: number,
  { rows, columns }: Size,
): void {
  const { f32 } = memory;
  const at = address / 4;
  for (let n = 0; n < rows; n++)
    for (let e = 0; e < columns; e++) f32[at + n * stride + e] = from[first + n * columns + e];
}

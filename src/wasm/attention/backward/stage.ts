/**
 * The stages of a backward pass in the engine's memory: copies the keys of some heads in, then rows, writes their tasks, and
 * collects the results: copies gradients out and adds up sums. Gradients are dense, in full panels.
 */
import type { BackwardInputs, Gradients } from "../../../backend/contract.ts";
import type { Problem } from "../../../backend/problem.ts";
import type { Operand } from "../../../core/shape.ts";
import { AllocationScope, type EngineMemory } from "../../engine/memory.ts";
import { placeMask, placeOperand } from "../../engine/transfer.ts";
import { type EngineStage, rangesOf } from "../plan.ts";
import { type Tasks, writeCall } from "../tasks.ts";
import { placeBiasGradients } from "./bias-gradients.ts";
import type { BackwardPlan } from "./plan.ts";
import { type BackwardKeys, type BackwardRows, buildBackwardTasks, buildPackTasks } from "./tasks.ts";

/** One backward call. */
export interface Pass {
  readonly memory: EngineMemory;
  readonly problem: Problem;
  readonly plan: BackwardPlan;
  readonly upstream: BackwardInputs;
  readonly gradients: Gradients;
  /** δ of every row [B, Hq, Nq], where sinks need it: computed by any stage with visible keys of the row, else NaN. */
  readonly deltas: Float32Array | undefined;
}

/** Placed rows and keys, and their tasks. */
export interface PlacedStage {
  /** Tasks that pack the keys and values, in the first stage with these keys. */
  readonly packs: { readonly keys: Tasks; readonly values: Tasks } | undefined;
  /** The tasks of the rows and keys, wave by wave. */
  readonly waves: readonly Tasks[];
  /** Copies gradients out of the engine's memory, adds up sums, and frees the stage. */
  collect(): void;
}

/**
 * Places the stages of a pass, each when it is requested: complete heads, or for one head all ranges of rows for each range of keys,
 * where each stage loads the dQ accumulated so far. `opened` gets the memory of stages that are not collected yet.
 */
export function* placeStages(pass: Pass, opened: Set<AllocationScope>): Generator<PlacedStage, undefined> {
  const { memory, problem, plan } = pass;
  const { shape } = problem;
  const { staging } = plan;
  const open = () => {
    const regions = new AllocationScope(memory);
    opened.add(regions);
    return regions;
  };
  const close = (regions: AllocationScope) => {
    regions.free();
    opened.delete(regions);
  };
  for (const heads of plan.groups())
    for (const keys of rangesOf(shape.Nk, staging.keys)) {
      const keyRegions = open();
      const stage: EngineStage = { heads, rows: [0, shape.Nq], keys };
      const placedKeys = placeKeys(memory, keyRegions, problem, plan, stage);
      const packs = buildPackTasks(memory, keyRegions, problem, plan, stage, placedKeys);
      for (const rows of rangesOf(shape.Nq, staging.rows)) {
        const rowRegions = open();
        const { waves, collectRows } = stageRows(pass, rowRegions, { heads, rows, keys }, placedKeys);
        yield {
          packs: rows[0] === 0 ? packs : undefined,
          waves,
          collect() {
            collectRows();
            close(rowRegions);
            if (rows[1] < shape.Nq) return;
            collectKeys(pass, stage, placedKeys);
            close(keyRegions);
          },
        };
      }
    }
}

/** Copies the gradients of a stage's keys and values out of the engine's memory. */
function collectKeys(
  { memory, problem, plan, gradients }: Pass,
  stage: EngineStage,
  placed: BackwardKeys,
): void {
  const { Hkv, Nk, dk, dv } = problem.shape;
  const [k0, k1] = stage.keys;
  const [keys, values] = [dk, dv].map((columns) => ({ rows: k1 - k0, columns }));
  for (const { b, hk } of stage.heads.list) {
    const first = (b * Hkv + hk) * Nk + k0;
    copyRowsOut(memory, placed.dKey(b, hk), plan.keyColumns, gradients.dKey, first * dk, keys);
    copyRowsOut(memory, placed.dValue(b, hk), plan.valueColumns, gradients.dValue, first * dv, values);
  }
}

/** Copies the keys and values of a stage into the engine's memory. */
function placeKeys(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: BackwardPlan,
  stage: EngineStage,
): BackwardKeys {
  const { key, value, Nk, dk, dv } = problem.shape;
  const heads = stage.heads.keys;
  const [k0, k1] = stage.keys;
  const full = k1 - k0 === Nk;
  const keys = plan.strip * Math.ceil((k1 - k0) / plan.strip);
  const perHead = (bytes: number) => heads.allocate(regions, bytes);
  const staged = placeOperand(memory, regions, key, heads, stage.keys, dk, full);
  const rows = plan.copyKeys ? perHead(4 * keys * plan.keyColumns) : undefined;
  return {
    key: staged,
    value: placeOperand(memory, regions, value, heads, stage.keys, dv, full),
    packedKey: perHead(4 * keys * dk),
    packedValue: perHead(4 * keys * dv),
    keyRows: rows ?? ((b, hk) => staged.at(b, hk, k0)),
    keyRow: rows ? 4 * plan.keyColumns : staged.row,
    dKey: perHead(4 * keys * plan.keyColumns),
    dValue: perHead(4 * keys * plan.valueColumns),
  };
}

/** Copies the rows of a stage into the engine's memory: queries, the output and its gradient, lse. */
function placeRows(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: BackwardPlan,
  upstream: BackwardInputs,
  stage: EngineStage,
): BackwardRows {
  const { query, Nq, dk, dv } = problem.shape;
  const heads = stage.heads.queries;
  const [r0, r1] = stage.rows;
  const place = (x: Operand, columns: number) =>
    placeOperand(memory, regions, x, heads, stage.rows, columns, r1 - r0 === Nq);
  const perHead = (bytes: number) => heads.allocate(regions, bytes);
  const lseHead = 4 * (r1 - r0);
  const lse = perHead(lseHead);
  const delta = perHead(lseHead);
  const dQueryHead = 4 * plan.spec.tile.rows * Math.ceil((r1 - r0) / plan.spec.tile.rows) * plan.keyColumns;
  const placed = {
    query: place(query, dk),
    dOutput: place(upstream.dOutput, dv),
    output: place(upstream.output, dv),
    lse,
    delta,
    lseHead,
    dQuery: perHead(dQueryHead),
    dQueryHead,
  };
  const { f32 } = memory;
  for (const { b, h } of heads.list) {
    const at = lse(b, h) / 4;
    for (let row = r0; row < r1; row++) f32[at + row - r0] = upstream.lse(b, h, row);
    // NaN until a task computes it.
    f32.fill(Number.NaN, delta(b, h) / 4, delta(b, h) / 4 + r1 - r0);
  }
  return placed;
}

/** Copies the rows of a stage into the engine's memory and writes its tasks. */
function stageRows(pass: Pass, regions: AllocationScope, stage: EngineStage, placedKeys: BackwardKeys) {
  const { memory, problem, plan, upstream, gradients, deltas } = pass;
  const { Hq, Nq, dk } = problem.shape;
  const { rangeKeys } = plan;
  const [r0, r1] = stage.rows;
  const [k0, k1] = stage.keys;
  const placedRows = placeRows(memory, regions, problem, plan, upstream, stage);
  const heads = stage.heads.queries.list;
  const masks = problem.tensors.map((t) => placeMask(memory, regions, t, heads, stage.rows, stage.keys));
  // The backward kernel reads its other strides from its tasks.
  const tensorRows = masks.map((x) => x.row);
  const call = writeCall(memory, regions, problem, [], tensorRows, plan.pool);
  const ranges = Math.ceil((k1 - k0) / rangeKeys);
  const sums =
    plan.sums && placeBiasGradients(memory, regions, problem, plan.sums, stage, ranges, plan.strip);
  const [newRows, newKeys] = [k0 === 0, r0 === 0];
  const size = { rows: r1 - r0, columns: dk };
  const eachHead = (visit: (b: number, h: number, row: number) => void) => {
    for (const { b, h } of heads) visit(b, h, (b * Hq + h) * Nq + r0);
  };
  if (!newRows)
    eachHead((b, h, row) =>
      copyRowsIn(memory, gradients.dQuery, row * dk, placedRows.dQuery(b, h), plan.keyColumns, size),
    );
  const staged = { ...stage, placedKeys, placedRows, masks, sums, call, newRows, newKeys };
  return {
    waves: buildBackwardTasks(memory, regions, problem, plan, staged),
    collectRows() {
      sums?.collect(gradients);
      eachHead((b, h, row) => {
        copyRowsOut(memory, placedRows.dQuery(b, h), plan.keyColumns, gradients.dQuery, row * dk, size);
        const at = placedRows.delta(b, h) / 4;
        if (deltas)
          memory.f32.subarray(at, at + r1 - r0).forEach((delta, n) => {
            if (!Number.isNaN(delta)) deltas[row + n] = delta;
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

/** Tasks of a stage of the backward pass, wave by wave: one for each cell of a head's grid of row ranges × key ranges. */

import type { KeyRun } from "../../../backend/plan/tiles.ts";
import type { Problem } from "../../../backend/problem.ts";
import { headKey } from "../../../core/random/random.ts";
import { NEW_KEYS, NEW_ROWS } from "../../codegen/layout.ts";
import * as BackwardStruct from "../../codegen/structs/backward.ts";
import * as RunStruct from "../../codegen/structs/run.ts";
import type { AllocationScope, EngineMemory } from "../../engine/memory.ts";
import type { PlacedMask, Staged } from "../../engine/transfer.ts";
import type { EngineStage } from "../plan.ts";
import { type Tasks, writePackTasks } from "../tasks.ts";
import type { PlacedBiasGradients } from "./bias-gradients.ts";
import type { BackwardPlan } from "./plan.ts";

/** Keys and values of a stage, with buffers for their gradients. Addresses by batch entry and key head, at the first key. */
export interface BackwardKeys {
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
export interface BackwardRows {
  readonly query: Staged;
  readonly dOutput: Staged;
  readonly output: Staged;
  readonly lse: (b: number, h: number) => number;
  readonly delta: (b: number, h: number) => number;
  readonly lseHead: number;
  readonly dQuery: (b: number, h: number) => number;
  readonly dQueryHead: number;
}

/** A stage in the engine's memory, from which its tasks are written. */
export interface BackwardStage extends EngineStage {
  readonly placedKeys: BackwardKeys;
  readonly placedRows: BackwardRows;
  readonly masks: readonly PlacedMask[];
  readonly sums?: PlacedBiasGradients;
  readonly call: number;
  /** True where the rows of dQ (the keys of dK and dV) start at 0 in this stage. */
  readonly newRows: boolean;
  readonly newKeys: boolean;
}

/** Tasks that pack the keys and the values of a stage: heads, or parts of heads. */
export function buildPackTasks(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: BackwardPlan,
  stage: EngineStage,
  placed: BackwardKeys,
): { keys: Tasks; values: Tasks } {
  const { dk, dv } = problem.shape;
  const [k0, k1] = stage.keys;
  const lists: [number[], number[]] = [[], []];
  for (const { b, hk } of stage.heads.list)
    for (let key = k0; key < k1; key += plan.rangeKeys) {
      const count = Math.min(plan.rangeKeys, k1 - key);
      const rows = plan.copyKeys ? placed.keyRows(b, hk) + (key - k0) * placed.keyRow : 0;
      const at = placed.key.at(b, hk, key);
      const target = dk === 0 ? 0 : placed.packedKey(b, hk) + (key - k0) * dk * 4;
      lists[0].push(at, placed.key.row, count, target, at, placed.key.row, rows, 0);
      const values = dv === 0 ? 0 : placed.packedValue(b, hk) + (key - k0) * dv * 4;
      lists[1].push(placed.value.at(b, hk, key), placed.value.row, count, values, 0, 0, 0, 0);
    }
  const [keys, values] = lists.map((words) => writePackTasks(memory, regions, words));
  return { keys, values };
}

/** A run extended to begin at a strip, so that strips do not cross tiles and no two tasks add to the same key. */
function onStrip(run: KeyRun, strip: number): KeyRun {
  const from = run.from - (run.from % strip);
  if (from === run.from) return run;
  return { ...run, from, masked: [from, run.masked?.[1] ?? run.to] };
}

/**
 * The visible cells of each task of a call in one stage, in the order in which threads take them; for `explain`, whose plan does
 * not run: the plan caches the runs of these ranges, not those of its stages.
 */
export function backwardTaskSizes({ shape }: Problem, plan: BackwardPlan): number[] {
  const { B, Hq, G, Nq, Nk } = shape;
  const { spec, rangeRows, rangeKeys, runs } = plan;
  return waves(Math.ceil(Nk / rangeKeys), Math.ceil(Nq / rangeRows)).flatMap((cells) => {
    const sizes = new Array<number>((B * Hq * cells.length) / G).fill(0);
    for (let n = 0; n < B * Hq; n++)
      cells.forEach(([s, r], cell) => {
        const [end, from] = [Math.min(Nq, (r + 1) * rangeRows), s * rangeKeys];
        for (let row = r * rangeRows; row < end; row += spec.rowTile)
          for (const run of runs.of(Math.floor(n / Hq), n % Hq, row, Math.min(end, row + spec.rowTile), from, Math.min(Nk, from + rangeKeys)).list)
            sizes[Math.floor(n / G) * cells.length + cell] += run.to - run.from;
      });
    return sizes.sort((x, y) => y - x);
  });
} // biome-ignore format: one loop

/** The cells (s, r) of each wave of a grid of `columns` key ranges × `rows` row ranges. */
function waves(columns: number, rows: number): [number, number][][] {
  const count = Math.max(columns, rows);
  return Array.from({ length: count }, (_, wave) => {
    const cells: [number, number][] = [];
    for (let r = 0; r < rows; r++) {
      const s = (wave - (r % count) + count) % count;
      if (s < columns) cells.push([s, r]);
    }
    return cells;
  });
}

/** Runs of a stage in memory: the addresses of those of a row tile and a range of keys, and the size of a cell. */
interface StageRuns {
  /** Address of the entry (address of runs, count) of the first row tile of a cell. */
  index(b: number, hk: number, s: number, r: number): number;
  /** Size of a task: the keys of all row tiles of a cell. */
  size(b: number, hk: number, s: number, r: number): number;
  readonly blockBytes: number;
  readonly headBytes: number;
}

/** Finds the runs of every row tile once, and divides them at the ranges of keys. */
function placeRuns(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: BackwardPlan,
  stage: EngineStage,
): StageRuns {
  const { G, Hkv } = problem.shape;
  const { spec, rangeRows, rangeKeys } = plan;
  const { strip } = plan;
  const [[r0, r1], [k0, k1]] = [stage.rows, stage.keys];
  const blocks = Math.ceil((r1 - r0) / spec.rowTile);
  const [ranges, perRange] = [Math.ceil((k1 - k0) / rangeKeys), rangeRows / spec.rowTile];
  const { map } = plan.runs;
  const gs = map.perHead ? G : 1;
  const words: number[] = [];
  const rowRanges = Math.ceil(blocks / perRange);
  const tables = new Map<number, { index: Int32Array; sizes: Float64Array; at: number }>();
  const groupOf = (b: number, hk: number) => (map.perBatch ? b : 0) * Hkv + (map.perHead ? hk : 0);
  for (const { b, hk } of stage.heads.list) {
    const group = groupOf(b, hk);
    if (tables.has(group)) continue;
    // [range][block][g] of (word of the first run, runs).
    const index = new Int32Array(2 * ranges * blocks * gs);
    const sizes = new Float64Array(ranges * rowRanges);
    for (let block = 0; block < blocks; block++)
      for (let g = 0; g < gs; g++) {
        const row = r0 + block * spec.rowTile;
        const cut: KeyRun[][] = Array.from({ length: ranges }, () => []);
        for (const run of plan.runs.of(b, hk * G + g, row, Math.min(r1, row + spec.rowTile), k0, k1).list)
          for (let from = run.from; from < run.to; ) {
            const s = Math.floor((from - k0) / rangeKeys);
            const to = Math.min(run.to, k0 + (s + 1) * rangeKeys);
            cut[s].push(onStrip({ ...run, from, to }, strip));
            from = to;
          }
        cut.forEach((runs, s) => {
          index.set([words.length, runs.length], 2 * ((s * blocks + block) * gs + g));
          for (const { from, to, masked } of runs)
            words.push(from, to, masked ? RunStruct.partial : RunStruct.full, ...(masked ?? [to, from]));
          for (const { from, to } of runs) sizes[s * rowRanges + Math.floor(block / perRange)] += to - from;
        });
      }
    tables.set(group, { index, sizes, at: 0 });
  }
  const runsAt = regions.alloc(4 * Math.max(1, words.length));
  memory.i32.set(words, runsAt / 4);
  for (const table of tables.values()) {
    table.at = regions.alloc(4 * table.index.length);
    const { i32 } = memory;
    i32.set(table.index, table.at / 4);
    for (let n = 0; n < table.index.length; n += 2) i32[table.at / 4 + n] = runsAt + 4 * table.index[n];
  }
  const first = (s: number, r: number) => 2 * (s * blocks + r * perRange) * gs;
  const tableOf = (b: number, hk: number) =>
    tables.get(groupOf(b, hk)) as NonNullable<ReturnType<typeof tables.get>>;
  return {
    index: (b, hk, s, r) => tableOf(b, hk).at + 4 * first(s, r),
    size(b, hk, s, r) {
      const { sizes } = tableOf(b, hk);
      return sizes[s * rowRanges + r];
    },
    blockBytes: 8 * gs,
    headBytes: gs === 1 ? 0 : 8,
  };
}

/** The tasks of a stage, one list per wave. */
export function buildBackwardTasks(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: BackwardPlan,
  stage: BackwardStage,
): Tasks[] {
  const { spec, rangeRows, rangeKeys } = plan;
  const { G } = problem.shape;
  const { placedKeys, placedRows, masks, sums } = stage;
  const [[r0, r1], [k0, k1]] = [stage.rows, stage.keys];
  const grid = waves(Math.ceil((k1 - k0) / rangeKeys), Math.ceil((r1 - r0) / rangeRows));
  const runs = placeRuns(memory, regions, problem, plan, stage);
  const capacity = stage.heads.list.length * grid.reduce((n, cells) => n + cells.length, 0);
  const at = regions.alloc(capacity * BackwardStruct.size);
  const dropsAt = regions.alloc(4 * stage.heads.list.length * G);
  const targets = sums ? sums.targets : 0;
  const sumsAt = regions.alloc(Math.max(4, 12 * targets * capacity));
  const { i32 } = memory;
  stage.heads.list.forEach(({ b, hk }, n) => {
    for (let g = 0; spec.dropout && g < G; g++)
      i32[dropsAt / 4 + n * G + g] = headKey(problem.seed, b, hk * G + g);
  });

  const lists: Tasks[] = [];
  const [startedRows, startedKeys] = [new Set<number>(), new Set<number>()];
  let count = 0;
  for (const cells of grid) {
    const first = count;
    // The first cell of a range starts its gradients.
    const flagged = cells.map(([s, r]) => {
      const [newRows, newKeys] = [stage.newRows && !startedRows.has(r), stage.newKeys && !startedKeys.has(s)];
      startedRows.add(r);
      startedKeys.add(s);
      return { s, r, flags: (newRows ? NEW_ROWS : 0) | (newKeys ? NEW_KEYS : 0) };
    });
    // The largest first, so that the threads finish a wave together.
    const wave = stage.heads.list
      .flatMap(({ b, hk }, n) =>
        flagged.map((cell) => ({ ...cell, b, hk, n, size: runs.size(b, hk, cell.s, cell.r) })),
      )
      .filter(({ size, flags }) => size > 0 || flags !== 0)
      .sort((x, y) => y.size - x.size);
    for (const { b, hk, n, s, r, flags } of wave) {
      const [row, key] = [r0 + r * rangeRows, k0 + s * rangeKeys];
      const h = hk * G;
      const task = (at + count * BackwardStruct.size) / 4;
      const set = (word: number, value: number) => {
        i32[task + word / 4] = value;
      };
      set(BackwardStruct.call, stage.call);
      set(BackwardStruct.query, placedRows.query.at(b, h, row));
      set(BackwardStruct.queryRow, placedRows.query.row);
      set(BackwardStruct.queryHead, placedRows.query.head);
      set(BackwardStruct.dOutput, placedRows.dOutput.at(b, h, row));
      set(BackwardStruct.dOutputRow, placedRows.dOutput.row);
      set(BackwardStruct.dOutputHead, placedRows.dOutput.head);
      set(BackwardStruct.output, placedRows.output.at(b, h, row));
      set(BackwardStruct.outputRow, placedRows.output.row);
      set(BackwardStruct.outputHead, placedRows.output.head);
      set(BackwardStruct.lse, placedRows.lse(b, h) + 4 * (row - r0));
      set(BackwardStruct.delta, placedRows.delta(b, h) + 4 * (row - r0));
      set(BackwardStruct.lseHead, placedRows.lseHead);
      set(BackwardStruct.dQuery, placedRows.dQuery(b, h) + 4 * (row - r0) * plan.keyColumns);
      set(BackwardStruct.dQueryHead, placedRows.dQueryHead);
      set(BackwardStruct.key, placedKeys.packedKey(b, hk) + 4 * (key - k0) * spec.dk);
      set(BackwardStruct.value, placedKeys.packedValue(b, hk) + 4 * (key - k0) * spec.dv);
      set(BackwardStruct.keyRows, placedKeys.keyRows(b, hk) + (key - k0) * placedKeys.keyRow);
      set(BackwardStruct.keyRow, placedKeys.keyRow);
      set(BackwardStruct.dKey, placedKeys.dKey(b, hk) + 4 * (key - k0) * plan.keyColumns);
      set(BackwardStruct.dValue, placedKeys.dValue(b, hk) + 4 * (key - k0) * plan.valueColumns);
      set(BackwardStruct.rows, Math.min(r1, row + rangeRows) - row);
      set(BackwardStruct.row0, row);
      set(BackwardStruct.heads, G);
      set(BackwardStruct.head, h);
      set(BackwardStruct.batch, b);
      set(BackwardStruct.offset, problem.offsets[b]);
      set(BackwardStruct.keyBase, key);
      set(BackwardStruct.keys, Math.min(k1, key + rangeKeys) - key);
      set(BackwardStruct.index, runs.index(b, hk, s, r));
      set(BackwardStruct.indexBlock, runs.blockBytes);
      set(BackwardStruct.indexHead, runs.headBytes);
      set(BackwardStruct.dropKeys, dropsAt + 4 * n * G);
      set(BackwardStruct.flags, flags);
      masks.forEach((mask, m) => {
        const bytes = problem.tensors[m].kind === "bool" ? 1 : 4;
        set(BackwardStruct.tensor + 4 * m, mask.at(b, h) + (row - r0) * mask.row + (key - k0) * bytes);
        set(BackwardStruct.tensorHead + 4 * m, mask.head);
      });
      const sumWords = sumsAt + 12 * targets * count;
      set(BackwardStruct.sums, sumWords);
      if (sums) i32.set(sums.words(b, hk, s, row, key), sumWords / 4);
      count++;
    }
    lists.push({ at: at + first * BackwardStruct.size, size: BackwardStruct.size, count: count - first });
  }
  return lists;
}

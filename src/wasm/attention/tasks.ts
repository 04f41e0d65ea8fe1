/** Writes a call as words for the kernels: the words of the call, then tasks that pack keys and values, then tasks of query rows. */

import type { Problem } from "../../backend/problem.ts";
import { dropoutThreshold, headKey } from "../../core/random/random.ts";
import { FIRST, LAST } from "../codegen/layout.ts";
import * as CallStruct from "../codegen/structs/call.ts";
import * as PackStruct from "../codegen/structs/pack.ts";
import * as TaskStruct from "../codegen/structs/task.ts";
import type { AllocationScope, EngineMemory } from "../engine/memory.ts";
import { addressOf } from "../engine/transfer.ts";
import type { Placed, PlacedKeys } from "./forward/place.ts";
import type { ForwardPlan } from "./forward/plan.ts";
import type { EngineStage, PoolImage } from "./plan.ts";

/** Byte strides, each with its word of `CallStruct`; those left out are 0. */
export type Strides = readonly (readonly [word: number, bytes: number])[];

/** Positions read past the last one: kernels read whole vectors, to the end of a register tile. */
const LIST_PADDING = 64;

/** The positions of every row and key of every batch entry. */
function placeLists(memory: EngineMemory, regions: AllocationScope, problem: Problem) {
  const { B, Nq, Nk } = problem.shape;
  const place = (rows: number, position: (b: number, n: number) => number) => {
    const bytes = 16 * Math.ceil((rows + LIST_PADDING) / 4);
    const at = regions.alloc(B * bytes);
    const { i32 } = memory;
    for (let b = 0; b < B; b++) for (let n = 0; n < rows; n++) i32[(at + b * bytes) / 4 + n] = position(b, n);
    return { at, bytes };
  };
  return { query: place(Nq, problem.positions.query), key: place(Nk, problem.positions.key) };
}

/** Writes the words of a call and the pool of its expressions; returns where they are. */
export function writeCall(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  strides: Strides,
  tensorRows: readonly number[],
  pool: PoolImage,
): number {
  const at = regions.alloc(CallStruct.pool + 4 * pool.words.length);
  const addresses = pool.tables.map(({ table: { data, type } }) => {
    const resident = data instanceof Float32Array ? addressOf(memory, data) : undefined;
    const address = resident ?? regions.alloc(4 * data.length);
    if (resident === undefined) (type === "int" ? memory.i32 : memory.f32).set(data, address / 4);
    return address;
  });
  const lists =
    problem.dropoutP > 0 && !problem.positions.counted ? placeLists(memory, regions, problem) : undefined;
  const { i32, f32 } = memory;
  const word = (offset: number) => (at + offset) / 4;
  i32.fill(0, word(0), word(CallStruct.tensorRow));
  for (const [offset, bytes] of strides) i32[word(offset)] = bytes;
  // Where only a mask changes scores, a score is the plain product q·k and the scale is a factor in the exponent: exact for
  // integers, and one rounding less. The sign is applied to Q, because m must be the maximum of the scaled scores.
  const size = Math.abs(problem.scale);
  const plain =
    !problem.score &&
    !problem.sinks &&
    problem.tensors.every((t) => t.kind === "bool") &&
    size >= 2 ** -16 &&
    size <= 2 ** 16;
  f32[word(CallStruct.scale)] = plain ? Math.sign(problem.scale) : problem.scale;
  f32[word(CallStruct.unit)] = plain ? size : 1;
  f32[word(CallStruct.exponent)] = (plain ? size : 1) * Math.LOG2E;
  f32[word(CallStruct.factor)] = problem.scale;
  i32[word(CallStruct.keys)] = problem.shape.Nk;
  i32[word(CallStruct.dropThreshold)] = (problem.dropoutP > 0 ? dropoutThreshold(problem.dropoutP) : 0) | 0;
  f32[word(CallStruct.dropScale)] = 1 / (1 - problem.dropoutP);
  if (lists) {
    i32[word(CallStruct.queryPositions)] = lists.query.at;
    i32[word(CallStruct.queryPositionsBatch)] = lists.query.bytes;
    i32[word(CallStruct.keyPositions)] = lists.key.at;
    i32[word(CallStruct.keyPositionsBatch)] = lists.key.bytes;
  }
  i32.set(tensorRows, word(CallStruct.tensorRow));
  i32.set(pool.words, word(CallStruct.pool));
  for (const [n, { word: offset }] of pool.tables.entries())
    i32[word(CallStruct.pool) + offset] = addresses[n];
  return at;
}

/** A list of tasks in memory. */
export interface Tasks {
  readonly at: number;
  readonly size: number;
  readonly count: number;
}

/** Minimum number of keys of a pack task. */
const MIN_PACK_KEYS = 512;

/** Writes pack tasks, `words` of them one after the other. */
export function writePackTasks(
  memory: EngineMemory,
  regions: AllocationScope,
  words: readonly number[],
): Tasks {
  const at = regions.alloc(4 * words.length);
  memory.i32.set(words, at / 4);
  return { at, size: PackStruct.size, count: words.length / (PackStruct.size / 4) };
}

/** Tasks that pack the keys (and values) of a stage: parts of heads, so that threads share the work. */
export function buildPackTasks(
  memory: EngineMemory,
  regions: AllocationScope,
  { spec, panel, packValues, packedValueRow }: ForwardPlan,
  { heads, keys: [k0, k1] }: EngineStage,
  { key: keys, value, packedKey, packedValue }: PlacedKeys,
  threads: number,
): Tasks {
  const parts =
    heads.list.length >= 2 * threads
      ? 1
      : Math.max(1, Math.min(2 * threads, Math.floor((k1 - k0) / MIN_PACK_KEYS)));
  const step = panel * Math.ceil((k1 - k0) / parts / panel);
  const words: number[] = [];
  for (const { b, hk } of heads.list)
    for (let key = k0; key < k1; key += step) {
      const target = spec.dk === 0 ? 0 : packedKey(b, hk) + (key - k0) * spec.dk * 4;
      const values = packValues ? packedValue(b, hk) + (key - k0) * packedValueRow : 0;
      words.push(keys.at(b, hk, key), keys.row, Math.min(step, k1 - key), target);
      words.push(value.at(b, hk, key), value.row, values, 0);
    }
  return writePackTasks(memory, regions, words);
}

/** Tasks of attention: one for each row tile and split of the keys, later rows first, because with a causal mask they take longest. */
export function buildAttentionTasks(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  plan: ForwardPlan,
  placed: Placed,
): Tasks {
  const { spec, tiling, packValues } = plan;
  const { shape } = problem;
  const { G } = shape;
  const decode = spec.kind === "decode";
  const [r0, r1] = placed.rows;
  const [k0, k1] = placed.keys;
  const taskRows = decode ? r1 - r0 : tiling.rowTile;
  const rowTiles = Math.ceil((r1 - r0) / Math.max(1, taskRows));
  const headStep = tiling.headsPerTask;
  const strides: Strides = [
    [CallStruct.queryRow, placed.query.row],
    [CallStruct.queryHead, placed.query.head],
    [CallStruct.keyRow, placed.key.row],
    [CallStruct.valueRow, packValues ? plan.packedValueRow : placed.value.row],
    [CallStruct.outRow, placed.outRow],
    [CallStruct.outHead, placed.outHead],
    [CallStruct.lseHead, placed.lseHead],
    [CallStruct.headRows, shape.Nq],
  ];
  const tensorRows = placed.masks.map(({ row }) => row);
  const call = writeCall(memory, regions, problem, strides, tensorRows, plan.pool);
  const count = placed.heads.list.length * (G / headStep) * rowTiles * tiling.splits;
  const at = regions.alloc(count * TaskStruct.size);

  // Heads and batch entries with the same mask share their runs: address and count by row tile.
  const words: number[] = [];
  const runsOf = new Map<number, { first: number; count: number }>();
  const runFor = (b: number, h: number, rowTile: number, split: number): { first: number; count: number } => {
    const key = (plan.runs.group(b, h) * rowTiles + rowTile) * tiling.splits + split;
    const entry = runsOf.get(key);
    if (entry) return entry;
    const row = r0 + rowTile * taskRows;
    const from = tiling.splits > 1 ? split * tiling.splitKeys : k0;
    const to = tiling.splits > 1 ? Math.min(shape.Nk, from + tiling.splitKeys) : k1;
    const runs = plan.runs.of(b, h, row, Math.min(r1, row + taskRows), from, to);
    const placedAt = { first: words.length, count: runs.list.length };
    for (const word of runs.words) words.push(word);
    runsOf.set(key, placedAt);
    return placedAt;
  };

  const tasks = memory.i32;
  const placedRuns: number[] = [];
  let task = at / 4;
  const flags = (k0 === 0 ? FIRST : 0) | (k1 === shape.Nk ? LAST : 0);
  for (const { b, hk } of placed.heads.list)
    for (let g = 0; g < G; g += headStep) {
      const h = hk * G + g;
      const dropKey = spec.dropout ? headKey(problem.seed, b, h) : 0;
      for (let rowTile = rowTiles - 1; rowTile >= 0; rowTile--)
        for (let split = 0; split < tiling.splits; split++) {
          const row = r0 + rowTile * taskRows;
          const rows = Math.min(r1, row + taskRows) - row;
          const runs = runFor(b, h, rowTile, split);
          tasks[task + TaskStruct.call / 4] = call;
          tasks[task + TaskStruct.query / 4] = placed.query.at(b, h, row);
          tasks[task + TaskStruct.key / 4] = decode ? placed.key.at(b, hk, k0) : placed.packedKey(b, hk);
          tasks[task + TaskStruct.value / 4] = packValues
            ? placed.packedValue(b, hk)
            : placed.value.at(b, hk, k0);
          tasks[task + TaskStruct.out / 4] = placed.out(b, h, row, split);
          tasks[task + TaskStruct.lse / 4] = placed.lse(b, h, row, split);
          tasks[task + TaskStruct.rows / 4] = decode ? rows * headStep : rows;
          tasks[task + TaskStruct.row0 / 4] = row;
          tasks[task + TaskStruct.offset / 4] = problem.offsets[b];
          tasks[task + TaskStruct.batch / 4] = b;
          tasks[task + TaskStruct.head / 4] = h;
          tasks[task + TaskStruct.runs / 4] = runs.first;
          tasks[task + TaskStruct.runCount / 4] = runs.count;
          tasks[task + TaskStruct.flags / 4] = flags;
          // A sink counts once: in the first part of the keys.
          tasks[task + TaskStruct.sinks / 4] = placed.sinks && split === 0 ? placed.sinks + 4 * h : 0;
          tasks[task + TaskStruct.state / 4] = placed.state(b, h, rowTile);
          tasks[task + TaskStruct.dropKey / 4] = dropKey;
          tasks[task + TaskStruct.keyBase / 4] = k0;
          placed.masks.forEach((mask, n) => {
            tasks[task + TaskStruct.tensor / 4 + n] = mask.at(b, h) + (row - r0) * mask.row;
          });
          placedRuns.push(task + TaskStruct.runs / 4);
          task += TaskStruct.size / 4;
        }
    }
  const runsAt = regions.alloc(4 * Math.max(1, words.length));
  const after = memory.i32;
  after.set(words, runsAt / 4);
  for (const word of placedRuns) after[word] = runsAt + 4 * after[word];
  return { at, size: TaskStruct.size, count };
}

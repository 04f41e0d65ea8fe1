/** Tasks of a stage, written as words the kernels read: packing of keys and values, then blocks of query rows. */

import type { Problem } from "../../backend/problem.ts";
import type { KeyRun, TileMap } from "../../backend/tiles.ts";
import { headKey } from "../../core/random.ts";
import { FIRST, LAST, PackStruct, paddedValue, runWords, TaskStruct } from "../codegen/layout.ts";
import { panelOf, roundUp } from "../codegen/spec.ts";
import type { EngineMemory } from "../engine/memory.ts";
import type { AllocationScope } from "./call.ts";
import type { Placed } from "./place.ts";
import type { ForwardPlan, KeyRange } from "./prepare.ts";

/** A list of tasks in memory. */
export interface Tasks {
  readonly at: number;
  readonly size: number;
  readonly count: number;
}

/** Keys one pack task brings in at least. */
const MIN_PACK_KEYS = 512;

/** Tasks that pack the keys (and values) of a stage: parts of heads, so that threads share the work. */
export function buildPackTasks(
  memory: EngineMemory,
  regions: AllocationScope,
  prepared: ForwardPlan,
  placed: Placed,
  threads: number,
): Tasks {
  const { spec } = prepared;
  const [k0, k1] = placed.keys;
  const panel = panelOf(spec.tile);
  const parts =
    placed.heads.length >= 2 * threads
      ? 1
      : Math.max(1, Math.min(2 * threads, Math.floor((k1 - k0) / MIN_PACK_KEYS)));
  const step = roundUp(Math.ceil((k1 - k0) / parts), panel);
  const list: number[] = [];
  for (const { b, hk } of placed.heads)
    for (let key = k0; key < k1; key += step) {
      const target = placed.packedKey(b, hk) + (key - k0) * spec.dk * 4;
      const values = prepared.packValues ? placed.packedValue(b, hk) + (key - k0) * paddedValue(spec) * 4 : 0;
      list.push(
        placed.key(b, hk, key),
        placed.strides.keyRow,
        Math.min(step, k1 - key),
        spec.dk === 0 ? 0 : target,
      );
      list.push(placed.value(b, hk, key), rawValueRow(placed, b, hk, key), values, 0);
    }
  const at = regions.alloc(4 * list.length);
  memory.i32.set(list, at / 4);
  return { at, size: PackStruct.size, count: list.length / (PackStruct.size / 4) };
}

/** Byte stride of the values before they are packed. */
const rawValueRow = (placed: Placed, b: number, hk: number, key: number): number =>
  placed.value(b, hk, key + 1) - placed.value(b, hk, key);

/** Tasks that attend: one a block of query rows and part of the keys, later rows first (under a causal mask they are the longest). */
export function buildAttentionTasks(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  prepared: ForwardPlan,
  placed: Placed,
  map: TileMap,
  call: number,
  range: KeyRange,
): Tasks {
  const { spec, tiling, packValues } = prepared;
  const { shape } = problem;
  const { G } = shape;
  const decode = spec.kind === "decode";
  const [r0, r1] = placed.rows;
  const [k0, k1] = placed.keys;
  const blockRows = decode ? r1 - r0 : tiling.rowTile;
  const blocks = Math.ceil((r1 - r0) / Math.max(1, blockRows));
  const headStep = tiling.headsPerTask;
  const count = placed.heads.length * (G / headStep) * blocks * tiling.splits;
  const at = regions.alloc(count * TaskStruct.size);

  // Runs are shared where the mask does not tell heads or batch entries apart: address and count by block.
  const words: number[] = [];
  const runsOf = new Map<number, { first: number; count: number }>();
  const runFor = (b: number, h: number, block: number, split: number): { first: number; count: number } => {
    const who = (map.perBatch ? b : 0) * shape.Hq + (map.perHead ? h : 0);
    const key = (who * blocks + block) * tiling.splits + split;
    const known = runsOf.get(key);
    if (known) return known;
    const row = r0 + block * blockRows;
    const from = tiling.splits > 1 ? split * tiling.splitKeys : k0;
    const to = tiling.splits > 1 ? Math.min(shape.Nk, from + tiling.splitKeys) : k1;
    const found: KeyRun[] = map.runs(b, h, row, Math.min(r1, row + blockRows), from, to);
    const made = { first: words.length, count: found.length };
    words.push(...runWords(found));
    runsOf.set(key, made);
    return made;
  };

  const tasks = memory.i32;
  const placedRuns: number[] = [];
  let task = at / 4;
  const flags = (range.first ? FIRST : 0) | (range.last ? LAST : 0);
  for (const { b, hk } of placed.heads)
    for (let g = 0; g < G; g += headStep) {
      const h = hk * G + g;
      const dropKey = spec.dropout ? headKey(problem.seed, b, h) : 0;
      for (let block = blocks - 1; block >= 0; block--)
        for (let split = 0; split < tiling.splits; split++) {
          const row = r0 + block * blockRows;
          const rows = Math.min(r1, row + blockRows) - row;
          const runs = runFor(b, h, block, split);
          tasks[task + TaskStruct.call / 4] = call;
          tasks[task + TaskStruct.query / 4] = placed.query(b, h, row);
          tasks[task + TaskStruct.key / 4] = decode ? placed.key(b, hk, k0) : placed.packedKey(b, hk);
          tasks[task + TaskStruct.value / 4] = packValues
            ? placed.packedValue(b, hk)
            : placed.value(b, hk, k0);
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
          tasks[task + TaskStruct.state / 4] = placed.state(b, h, block);
          tasks[task + TaskStruct.dropKey / 4] = dropKey;
          tasks[task + TaskStruct.keyBase / 4] = k0;
          for (let n = 0; n < spec.tensors.length; n++)
            tasks[task + TaskStruct.tensor / 4 + n] = placed.tensor(n, b, h, row);
          placedRuns.push(task + TaskStruct.runs / 4);
          task += TaskStruct.size / 4;
        }
    }
  const runsAt = regions.alloc(4 * Math.max(1, words.length));
  const after = memory.i32;
  after.set(words, runsAt / 4);
  for (const place of placedRuns) after[place] = runsAt + 4 * after[place];
  return { at, size: TaskStruct.size, count };
}

/**
 * The backward pass on the engine: stages (what is in its memory at once), and in each the waves of a grid whose cells are
 * tasks (backward-cut.ts). A problem whose heads fit is staged some heads at a time; a long one in pieces, keys outer and
 * rows inner, dQ so far brought back in for each, so that memory does not grow with N.
 */
import type { Gradients, Upstream } from "../plan/backend.ts";
import type { Problem } from "../plan/problem.ts";
import { TileMap } from "../plan/tiles.ts";
import { tablesOf } from "../score/expr.ts";
import { cutBackward } from "./backward-cut.ts";
import { type PlacedKeys, type PlacedRows, placeKeys, placeMasks, placeRows } from "./backward-place.ts";
import { copyBytes, placeSums, planSums } from "./backward-sums.ts";
import { backwardTasks, packTasks } from "./backward-tasks.ts";
import { Regions, type Strides, writeCall } from "./call.ts";
import type { Engine } from "./engine.ts";
import type { Kernel } from "./kernel.ts";
import { paddedKey, paddedValue } from "./layout.ts";
import type { EngineMemory } from "./memory.ts";
import type { Piece } from "./place.ts";
import type { KernelLevel } from "./prepare.ts";
import { expressionsOf, type Storage, stripOf } from "./spec.ts";
import type { Tasks } from "./tasks.ts";

/** The backward kernel has its strides in its tasks. */
const NO_STRIDES: Strides = {
  queryRow: 0, keyRow: 0, valueRow: 0, outRow: 0, queryHead: 0, outHead: 0, lseHead: 0, headRows: 0, tensorRows: [],
}; // biome-ignore format: one list

/** Bytes that the copies of a table may take for one key head. */
const MOST_COPIES = 2 ** 27;

/** Why the backward kernels do not take a problem that the forward ones take. */
export function refusesBackward(engine: Engine, problem: Problem, level: KernelLevel): string | undefined {
  const tables = problem.score ? tablesOf(problem.score).filter((t) => t.type === "float") : [];
  if (tables.length === 0) return undefined;
  const plan = planSums(problem, {
    masks: [],
    tables: new Map(tables.map((t) => [t, t.data as Float64Array])),
  });
  const { cut, rangeKeys } = cutBackward(engine, problem, level, "float32", "float32", plan);
  const bytes = copyBytes(plan) * Math.ceil(Math.min(problem.shape.Nk, cut.keys) / rangeKeys);
  if (bytes <= MOST_COPIES) return undefined;
  return `the gradient of tables read cell by cell takes ${bytes} bytes a key head, the backward kernels have ${MOST_COPIES}; a float mask of that shape needs none`;
}

/** Fills the gradients of a problem; `threadsFor` says how many threads so much work may have. */
export function backward(
  engine: Engine,
  problem: Problem,
  upstream: Upstream,
  gradients: Gradients,
  level: KernelLevel,
  threadsFor: (work: number) => number,
): void {
  const { memory } = engine;
  const { B, Hq, Hkv, G, Nq, Nk, dk, dv } = problem.shape;
  const stored = (x: typeof upstream.output) => x.tensor.dtype as Storage;
  const made = cutBackward(
    engine,
    problem,
    level,
    stored(upstream.dOutput),
    stored(upstream.output),
    planSums(problem, gradients),
  );
  const { spec, cut } = made;
  // Added to below, and a call whose thread was lost begins again.
  for (const sum of [...gradients.masks.map((g) => g?.data), gradients.sinks, ...gradients.tables.values()])
    sum?.fill(0);
  const kernel = engine.kernels.get(spec);
  const packKeys = engine.kernels.get(made.packKeys);
  const packValues = engine.kernels.get(made.packValues);
  const threads = threadsFor(made.work);
  engine.threads.reserve(Math.max(kernel.workspaceBytes, packKeys.workspaceBytes), threads);
  const map = new TileMap(problem, spec.keyTile, stripOf(spec.tile));
  const taskWork = 10 * made.rangeRows * G * made.rangeKeys * Math.max(dk, dv);
  const go = (what: Kernel, tasks: Tasks) =>
    engine.threads.run(what, tasks.at, tasks.size, tasks.count, threads, what === kernel ? taskWork : 0);
  // δ of every row, for the sinks: a row has it from any stage that saw some of its keys.
  const deltas = gradients.sinks && new Float32Array(B * Hq * Nq);

  const heads: Piece["heads"][number][] = [];
  for (let b = 0; b < B; b++) for (let hk = 0; hk < Hkv; hk++) heads.push({ b, hk });
  for (let n = 0; n < heads.length; n += cut.heads)
    for (let key = 0; key < Nk; key += cut.keys) {
      const keys = [key, Math.min(Nk, key + cut.keys)] as const;
      const piece: Piece = { heads: heads.slice(n, n + cut.heads), rows: [0, Nq], keys };
      const regions = new Regions(memory);
      try {
        const placed = placeKeys(memory, regions, problem, made, piece);
        const packs = packTasks(memory, regions, problem, made, piece, placed);
        go(packKeys, packs.keys);
        go(packValues, packs.values);
        for (let row = 0; row < Nq; row += cut.rows)
          rowsAgainst({ ...piece, rows: [row, Math.min(Nq, row + cut.rows)] }, placed);
        for (const { b, hk } of piece.heads) {
          const first = (b * Hkv + hk) * Nk + key;
          const count = keys[1] - key;
          take(memory, placed.dKey(b, hk), paddedKey(spec), gradients.dKey, first * dk, count, dk);
          take(memory, placed.dValue(b, hk), paddedValue(spec), gradients.dValue, first * dv, count, dv);
        }
      } finally {
        regions.free();
      }
    }
  if (deltas) addSinks(problem, upstream, deltas, gradients.sinks as Float64Array);

  /** Some rows against keys that are in place. */
  function rowsAgainst(piece: Piece, placedKeys: PlacedKeys): void {
    const regions = new Regions(memory);
    const [r0, r1] = piece.rows;
    const eachHead = (visit: (b: number, h: number) => void) => {
      for (const { b, hk } of piece.heads) for (let h = hk * G; h < (hk + 1) * G; h++) visit(b, h);
    };
    try {
      const placedRows: PlacedRows = placeRows(memory, regions, problem, made, upstream, piece);
      const masks = placeMasks(memory, regions, problem, piece);
      const strides = { ...NO_STRIDES, tensorRows: masks.map((x) => x.row) };
      const call = writeCall(memory, regions, problem, strides, expressionsOf(spec));
      const [newRows, newKeys] = [piece.keys[0] === 0, r0 === 0];
      const rowOf = (b: number, h: number) => (b * Hq + h) * Nq + r0;
      if (!newRows)
        eachHead((b, h) =>
          bringBack(
            memory,
            gradients.dQuery,
            rowOf(b, h) * dk,
            r1 - r0,
            dk,
            placedRows.dQuery(b, h),
            paddedKey(spec),
          ),
        );
      const keyRanges = Math.ceil((piece.keys[1] - piece.keys[0]) / made.rangeKeys);
      const sums =
        made.sums && placeSums(memory, regions, problem, made.sums, piece, keyRanges, stripOf(spec.tile));
      const stage = { ...piece, placedKeys, placedRows, masks, sums, call, newRows, newKeys };
      for (const tasks of backwardTasks(memory, regions, problem, made, map, stage)) go(kernel, tasks);
      sums?.collect(gradients);
      eachHead((b, h) => {
        take(
          memory,
          placedRows.dQuery(b, h),
          paddedKey(spec),
          gradients.dQuery,
          rowOf(b, h) * dk,
          r1 - r0,
          dk,
        );
        const at = placedRows.delta(b, h) / 4;
        if (deltas)
          memory.f32.subarray(at, at + r1 - r0).forEach((delta, n) => {
            if (delta !== 0) deltas[rowOf(b, h) + n] = delta;
          });
      });
    } finally {
      regions.free();
    }
  }
}

/** Copies rows of `columns` numbers, `stride` apart in the engine's memory, out. */
function take(
  memory: EngineMemory,
  address: number,
  stride: number,
  out: Gradients["dQuery"],
  first: number,
  rows: number,
  columns: number,
): void {
  const { f32 } = memory;
  const at = address / 4;
  if (stride === columns) out.set(f32.subarray(at, at + rows * columns), first);
  else
    for (let n = 0; n < rows; n++)
      for (let e = 0; e < columns; e++) out[first + n * columns + e] = f32[at + n * stride + e];
}

/** Copies them back in. */
function bringBack(
  memory: EngineMemory,
  from: Gradients["dQuery"],
  first: number,
  rows: number,
  columns: number,
  address: number,
  stride: number,
): void {
  const { f32 } = memory;
  const at = address / 4;
  for (let n = 0; n < rows; n++)
    for (let e = 0; e < columns; e++) f32[at + n * stride + e] = from[first + n * columns + e];
}

/** A sink is one more score without a value: its dp is 0, so its gradient is −Σ e^(sink − lse)·δ over the rows. */
function addSinks(problem: Problem, { lse }: Upstream, deltas: Float32Array, into: Float64Array): void {
  const { B, Hq, Nq } = problem.shape;
  const sinks = problem.sinks as Float64Array;
  for (let b = 0, n = 0; b < B; b++)
    for (let h = 0; h < Hq; h++)
      for (let row = 0; row < Nq; row++, n++)
        if (deltas[n] !== 0) into[h] -= Math.exp(sinks[h] - lse(b, h, row)) * deltas[n];
}

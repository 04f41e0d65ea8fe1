/**
 * A stage of the backward pass in the engine's memory: some heads' keys, then rows against them; brought in, made into
 * tasks, and collected: gradients copied out, sums added up.
 */
import type { Gradients, Upstream } from "../../backend/contract.ts";
import type { Problem } from "../../backend/problem.ts";
import type { TileMap } from "../../backend/tiles.ts";
import { paddedKey, paddedValue } from "../codegen/layout.ts";
import { expressionsOf, stripOf } from "../codegen/spec.ts";
import type { EngineMemory } from "../engine/memory.ts";
import { type Regions, type Strides, writeCall } from "../forward/call.ts";
import type { Piece } from "../forward/place.ts";
import type { Tasks } from "../forward/tasks.ts";
import { placeSums } from "./bias-gradients.ts";
import type { BackwardCut } from "./partition.ts";
import { type PlacedKeys, placeKeys, placeMasks, placeRows } from "./place.ts";
import { backwardTasks, packTasks } from "./tasks.ts";

/** One backward call. */
export interface Pass {
  readonly memory: EngineMemory;
  readonly problem: Problem;
  readonly made: BackwardCut;
  readonly upstream: Upstream;
  readonly gradients: Gradients;
  readonly map: TileMap;
  /** δ of every row [B, Hq, Nq], where sinks need it: a row has it from any stage that saw some of its keys. */
  readonly deltas: Float32Array | undefined;
}

/** Keys in place. */
export interface KeyStage {
  readonly placed: PlacedKeys;
  readonly packs: { readonly keys: Tasks; readonly values: Tasks };
  collect(): void;
}

/** Rows in place, and the tasks that take them against keys, wave by wave. */
export interface RowStage {
  readonly waves: readonly Tasks[];
  collect(): void;
}

/** The backward kernel has its strides in its tasks. */
const NO_STRIDES: Strides = {
  queryRow: 0, keyRow: 0, valueRow: 0, outRow: 0, queryHead: 0, outHead: 0, lseHead: 0, headRows: 0, tensorRows: [],
}; // biome-ignore format: one list

/** Brings the keys and values of a piece in. */
export function bringKeys(
  { memory, problem, made, gradients }: Pass,
  regions: Regions,
  piece: Piece,
): KeyStage {
  const { Hkv, Nk, dk, dv } = problem.shape;
  const placed = placeKeys(memory, regions, problem, made, piece);
  const [k0, k1] = piece.keys;
  const [keys, values] = [dk, dv].map((columns) => ({ rows: k1 - k0, columns }));
  return {
    placed,
    packs: packTasks(memory, regions, problem, made, piece, placed),
    collect() {
      for (const { b, hk } of piece.heads) {
        const first = (b * Hkv + hk) * Nk + k0;
        takeOut(memory, placed.dKey(b, hk), paddedKey(made.spec), gradients.dKey, first * dk, keys);
        takeOut(memory, placed.dValue(b, hk), paddedValue(made.spec), gradients.dValue, first * dv, values);
      }
    },
  };
}

/** Brings the rows of a piece in and writes its tasks. */
export function bringRows(pass: Pass, regions: Regions, piece: Piece, placedKeys: PlacedKeys): RowStage {
  const { memory, problem, made, upstream, gradients, map, deltas } = pass;
  const { Hq, G, Nq, dk } = problem.shape;
  const { spec, rangeKeys } = made;
  const [r0, r1] = piece.rows;
  const [k0, k1] = piece.keys;
  const placedRows = placeRows(memory, regions, problem, made, upstream, piece);
  const masks = placeMasks(memory, regions, problem, piece);
  const strides = { ...NO_STRIDES, tensorRows: masks.map((x) => x.row) };
  const call = writeCall(memory, regions, problem, strides, expressionsOf(spec));
  const ranges = Math.ceil((k1 - k0) / rangeKeys);
  const sums = made.sums && placeSums(memory, regions, problem, made.sums, piece, ranges, stripOf(spec.tile));
  const [newRows, newKeys] = [k0 === 0, r0 === 0];
  const size = { rows: r1 - r0, columns: dk };
  const eachHead = (visit: (b: number, h: number, row: number) => void) => {
    for (const { b, hk } of piece.heads)
      for (let h = hk * G; h < (hk + 1) * G; h++) visit(b, h, (b * Hq + h) * Nq + r0);
  };
  if (!newRows)
    eachHead((b, h, row) =>
      bringBack(memory, gradients.dQuery, row * dk, placedRows.dQuery(b, h), paddedKey(spec), size),
    );
  const stage = { ...piece, placedKeys, placedRows, masks, sums, call, newRows, newKeys };
  return {
    waves: backwardTasks(memory, regions, problem, made, map, stage),
    collect() {
      sums?.collect(gradients);
      eachHead((b, h, row) => {
        takeOut(memory, placedRows.dQuery(b, h), paddedKey(spec), gradients.dQuery, row * dk, size);
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

/** Copies rows, `stride` numbers apart in the engine's memory, out. */
function takeOut(
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

/** Copies them back in. */
function bringBack(
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

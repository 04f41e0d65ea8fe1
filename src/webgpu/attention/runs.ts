/** The tiles that a mask leaves, as lists for kernels: runs of keys for the rows of a tile, and tiles of rows for the keys of a tile. */
import { TileMap } from "../../backend/plan/tiles.ts";
import type { Problem } from "../../backend/problem.ts";
import { TILE } from "../tile.ts";
import type { KernelCall } from "./call.ts";

/** For each batch entry, head and row tile that differ: where its runs begin; then the runs. */
export interface KeyRuns {
  readonly starts: readonly number[];
  /** Pairs: the first key, and the end × 2, plus 1 where cells are masked. */
  readonly runs: readonly number[];
  readonly perBatch: boolean;
  readonly perHead: boolean;
  /** Heads with runs of their own. */
  readonly heads: number;
  readonly tiles: number;
}

/** The runs of keys that the rows of each tile read. `rows`: where each tile of rows begins, and the end of the last one. */
export function keyRuns(problem: Problem, rows: readonly number[] = tileRows(problem)): KeyRuns {
  const { B, Hq, Nk } = problem.shape;
  const map = new TileMap(problem, TILE, TILE);
  const { perBatch, perHead } = map;
  const [batches, heads] = [perBatch ? B : Math.min(B, 1), perHead ? Hq : Math.min(Hq, 1)];
  const starts = [0];
  const runs: number[] = [];
  for (let b = 0; b < batches; b++)
    for (let h = 0; h < heads; h++)
      for (let tile = 0; tile + 1 < rows.length; tile++) {
        for (const { from, to, partial } of map.runs(b, h, rows[tile], rows[tile + 1], 0, Nk)) {
          runs.push(from, 2 * to + Number(partial));
        }
        starts.push(runs.length / 2);
      }
  return { starts, runs, perBatch, perHead, heads: batches * heads, tiles: rows.length - 1 };
}

/** Where each tile of some rows begins, and the end of the last one. */
export function tileRows({ shape: { Nq } }: Problem, rows: number = TILE): number[] {
  return Array.from({ length: Math.ceil(Nq / rows) + 1 }, (_, n) => Math.min(Nq, n * rows));
}

/** Adds `firstRun(b, h, tile)`, `runFrom(r)` and `runTo(r)`. */
export function defineRuns(call: KernelCall, { starts, runs, perBatch, perHead, tiles }: KeyRuns): void {
  const { params, data } = call;
  const [first, list] = [params.i32(data.integers(starts)), params.i32(data.integers(runs))];
  const head = headOf(perBatch, perHead);
  call.define(`
fn firstRun(b: i32, h: i32, tile: i32) -> i32 { return word(${first} + ${head} * ${params.i32(tiles)} + tile); }
fn runFrom(r: i32) -> i32 { return word(${list} + 2 * r); }
fn runTo(r: i32) -> i32 { return word(${list} + 2 * r + 1); }`);
}

/** Adds `firstTile(b, h, keyTile)` and `rowTile(n)`: the tiles of rows that see a tile of keys. */
export function defineRowTiles(
  call: KernelCall,
  { starts, runs, perBatch, perHead, heads }: KeyRuns,
  { shape }: Problem,
): void {
  const { params, data } = call;
  const [rowTiles, keyTiles] = [shape.Nq, shape.Nk].map((n) => Math.ceil(n / TILE));
  const firsts: number[] = [0];
  const list: number[] = [];
  for (let head = 0; head < heads; head++) {
    const byKeys = Array.from({ length: keyTiles }, (): number[] => []);
    for (let tile = 0; tile < rowTiles; tile++)
      for (let r = starts[head * rowTiles + tile]; r < starts[head * rowTiles + tile + 1]; r++) {
        const end = Math.ceil((runs[2 * r + 1] >> 1) / TILE);
        for (let key = runs[2 * r] / TILE; key < end; key++) byKeys[key].push(tile);
      }
    for (const tiles of byKeys) {
      for (const tile of tiles) list.push(tile);
      firsts.push(list.length);
    }
  }
  const [first, all] = [params.i32(data.integers(firsts)), params.i32(data.integers(list))];
  call.define(`
fn firstTile(b: i32, h: i32, keyTile: i32) -> i32 { return word(${first} + ${headOf(perBatch, perHead)} * ${params.i32(keyTiles)} + keyTile); }
fn rowTile(n: i32) -> i32 { return word(${all} + n); }`);
}

/** The list of a head: all heads and batch entries that have the same tiles share one. */
const headOf = (perBatch: boolean, perHead: boolean): string =>
  perBatch ? (perHead ? "(b * Hq() + h)" : "b") : perHead ? "h" : "0";

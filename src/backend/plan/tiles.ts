/**
 * The keys that a tile of query rows reads: runs of full keys (no predicate) and of partial keys, found by bisection with the
 * mask's bounds. Keys that are masked for all rows of the tile are in no run, so they are neither read nor computed.
 */
import { type Box, compileTileClassifier, type TileClass } from "../../masks/expression/bounds.ts";
import { type BoolExpression, uses } from "../../masks/expression/expr.ts";
import type { Problem } from "../problem.ts";

/** Keys `from` … `to` (not included) of one kind. `from` is a multiple of the panel. */
export interface KeyRun {
  from: number;
  to: number;
  partial: boolean;
  /** In a partial run, cells outside these keys are all visible. Multiples of the panel, or `to`. */
  masked?: [number, number];
}

/** Rows of the coarse search. */
const COARSE_ROWS = 1024;

/** Finds runs for tiles of rows; caches the runs of the coarse search. */
export class TileMap {
  /** True where runs differ between heads, or batch entries. */
  readonly perHead: boolean;
  readonly perBatch: boolean;
  private readonly classOf: ((box: Box) => TileClass) | undefined;
  private readonly offsets: Problem["offsets"];
  private readonly Nq: number;
  private readonly keyTile: number;
  private readonly panel: number;
  private cachedCoarse: { key: string; runs: readonly KeyRun[] } = { key: "", runs: [] };
  private readonly box: Box = {
    b0: 0,
    b1: 0,
    h0: 0,
    h1: 0,
    i0: 0,
    i1: 0,
    k0: 0,
    k1: 0,
    offset0: 0,
    offset1: 0,
  };

  constructor(problem: Problem, keyTile: number, panel: number) {
    const mask: BoolExpression | undefined = problem.mask;
    // Not the problem: a cached plan would keep its tensors in memory.
    this.offsets = problem.offsets;
    this.Nq = problem.shape.Nq;
    this.keyTile = keyTile;
    this.panel = panel;
    this.classOf = mask && compileTileClassifier(mask);
    this.perHead = mask !== undefined && uses(mask, "h");
    const moves = problem.offsets.some((x) => x !== problem.offsets[0]);
    this.perBatch = mask !== undefined && (uses(mask, "b") || (moves && uses(mask, "q")));
  }

  /** Runs of rows `row0` … `row1` (not included) of head h of batch entry b, between two keys; `from` a multiple of the key tile. */
  runs(b: number, h: number, row0: number, row1: number, from: number, to: number): KeyRun[] {
    const runs: KeyRun[] = [];
    if (to <= from) return runs;
    if (!this.classOf) {
      runs.push({ from, to, partial: false });
      return runs;
    }
    const box = this.box;
    box.b0 = box.b1 = b;
    box.h0 = box.h1 = h;
    box.offset0 = box.offset1 = this.offsets[b];
    const coarse = this.coarse(b, h, row0, row1, from, to);
    box.i0 = row0;
    box.i1 = row1 - 1;
    for (const run of coarse)
      if (run.partial) this.visit(run.from, run.to, runs);
      else add(runs, run.from, run.to, false);
    return runs;
  }

  /** Runs of the 1,024 rows around a tile, in full key tiles: those of the tile are inside. Cached for all tiles of these rows. */
  private coarse(
    b: number,
    h: number,
    row0: number,
    row1: number,
    from: number,
    to: number,
  ): readonly KeyRun[] {
    const { Nq } = this;
    if (Nq <= 2 * COARSE_ROWS || to - from <= 2 * COARSE_ROWS) return [{ from, to, partial: true }];
    const group = Math.floor(row0 / COARSE_ROWS);
    const key = `${b} ${h} ${group} ${row1 - row0} ${from} ${to}`;
    if (this.cachedCoarse.key !== key) {
      this.box.i0 = group * COARSE_ROWS;
      this.box.i1 = Math.min(Nq, (group + 1) * COARSE_ROWS + row1 - row0) - 1;
      const runs: KeyRun[] = [];
      this.visit(from, to, runs, false);
      this.cachedCoarse = { key, runs };
    }
    return this.cachedCoarse.runs;
  }

  private at(from: number, to: number): TileClass {
    this.box.k0 = from;
    this.box.k1 = to - 1;
    return (this.classOf as (box: Box) => TileClass)(this.box);
  }

  private visit(from: number, to: number, runs: KeyRun[], trim = true): void {
    const kind = this.at(from, to);
    if (kind === "skip") return;
    if (kind === "full") {
      add(runs, from, to, false);
      return;
    }
    const tiles = Math.ceil((to - from) / this.keyTile);
    if (tiles > 1) {
      const middle = from + Math.floor(tiles / 2) * this.keyTile;
      this.visit(from, middle, runs, trim);
      this.visit(middle, to, runs, trim);
      return;
    }
    // Inside one tile: drop empty panels at both ends, by bisection.
    let [low, high] = [from, to];
    for (let step = this.half(high - low); trim && step >= this.panel; step = this.half(step)) {
      if (low + step < high && this.at(low, low + step) === "skip") low += step;
      const cut = Math.max(
        low + this.panel,
        from + Math.ceil((high - from - step) / this.panel) * this.panel,
      );
      if (cut > low && cut < high && this.at(cut, high) === "skip") high = cut;
    }
    if (!trim) {
      add(runs, low, high, true);
      return;
    }
    // The remaining panels may begin or end with full ones, which need no predicate.
    let [first, last] = [low, high];
    for (let step = this.half(last - first); step >= this.panel; step = this.half(step)) {
      if (first + step < last && this.at(first, first + step) === "full") first += step;
      const cut = low + Math.ceil((last - low - step) / this.panel) * this.panel;
      if (cut > first && cut < last && this.at(cut, last) === "full") last = cut;
    }
    runs.push({ from: low, to: high, partial: true, masked: [first, last] });
  }

  private half(n: number): number {
    return Math.floor(n / 2 / this.panel) * this.panel;
  }
}

function add(runs: KeyRun[], from: number, to: number, partial: boolean): void {
  const last = runs[runs.length - 1];
  if (last && last.to === from && last.partial === partial && !last.masked) last.to = to;
  else runs.push({ from, to, partial });
}

/** Tiles by class, over all heads. */
export interface TileCounts {
  readonly skipped: number;
  readonly full: number;
  readonly partial: number;
  /** Visible tiles of each row tile, in the order in which tasks are taken: later rows first. */
  readonly tasks: readonly number[];
}

/** Tiles of a problem by class, counted over all heads for row tiles of `rowTile` rows. */
export function countTiles(problem: Problem, rowTile: number, keyTile: number, panel: number): TileCounts {
  const { B, Hq, Nq, Nk } = problem.shape;
  const map = new TileMap(problem, keyTile, panel);
  const rowTiles = Math.ceil(Nq / rowTile);
  const total = rowTiles * Math.ceil(Nk / keyTile);
  let [skipped, full, partial] = [0, 0, 0];
  const byHead = new Map<number, number[]>();
  const tasks: number[] = [];
  for (let b = 0; b < B; b++)
    for (let h = 0; h < Hq; h++) {
      // Heads and batch entries that share their tiles are counted once.
      const key = (map.perBatch ? b : 0) * Hq + (map.perHead ? h : 0);
      let counts = byHead.get(key);
      if (!counts) {
        const visible = new Array<number>(rowTiles);
        let [headFull, headPartial] = [0, 0];
        for (let tile = rowTiles - 1; tile >= 0; tile--) {
          const row = tile * rowTile;
          let [rowFull, rowPartial] = [0, 0];
          for (const run of map.runs(b, h, row, Math.min(Nq, row + rowTile), 0, Nk)) {
            const tiles = Math.ceil(run.to / keyTile) - Math.floor(run.from / keyTile);
            if (run.partial) rowPartial += tiles;
            else rowFull += tiles;
          }
          headFull += rowFull;
          headPartial += rowPartial;
          visible[rowTiles - 1 - tile] = rowFull + rowPartial;
        }
        counts = [headFull, headPartial, ...visible];
        byHead.set(key, counts);
      }
      full += counts[0];
      partial += counts[1];
      skipped += Math.max(0, total - counts[0] - counts[1]);
      for (let n = 2; n < counts.length; n++) tasks.push(counts[n]);
    }
  return { skipped, full, partial, tasks };
}

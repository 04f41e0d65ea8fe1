/** Tiles of a head: 128 × 128 codes of a color scale, cut out of a pool. */
import type { Stage } from "../block.ts";
import type { CellPool } from "./pool.ts";
import type { TileTransfer } from "./transfer.ts";

/** A tile of a head, at a resolution: each of its cells pools 2^level × 2^level cells of the head. */
export interface TileAddress {
  readonly stage: Stage;
  readonly transfer: TileTransfer;
  readonly level: number;
  /** Tile (i, j) starts at query i·128·2^level and key j·128·2^level. */
  readonly i: number;
  readonly j: number;
  /** Value drawn at full color; default: 1 for weights, the largest ‖v‖ for contributions, `range` for scores. */
  readonly domain?: number;
}

/** A tile of 128 × 128 codes. Pooled by maximum; scores by the value farthest from 0. */
export interface Tile {
  /** Rows and columns inside the head, at most 128; the codes outside are 0. */
  readonly rows: number;
  readonly columns: number;
  /** 128·128 positions on the color scale; for signed scores, 128 is 0. */
  readonly codes: Uint8Array;
  /** 128·128: 0 a value, 1 masked, 2 not a number or a given weight below 0 (drawn with a separate mark). */
  readonly marks: Uint8Array;
  /** Value at code 255. */
  readonly domain: number;
  readonly signed: boolean;
}

/** Rows and columns of a tile. */
export const TILE = 128;

/** 128 × 128 codes out of a pool, pooled by 2^halvings again. */
export function cutTile(
  pool: CellPool,
  halvings: number,
  { i, j }: Pick<TileAddress, "i" | "j">,
  code: (x: number) => number,
  domain: number,
  signed: boolean,
): Tile {
  const codes = new Uint8Array(TILE * TILE);
  const marks = new Uint8Array(TILE * TILE);
  const length = 2 ** halvings;
  const extent = (n: number, at: number) => Math.max(0, Math.min(TILE, Math.ceil(n / length) - at * TILE));
  const [rows, columns] = [extent(pool.rows, i), extent(pool.columns, j)];
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const [top, left] = [(i * TILE + r) * length, (j * TILE + c) * length];
      let [peak, mark] = [0, 1];
      for (let y = top; y < Math.min(pool.rows, top + length); y++)
        for (let x = left; x < Math.min(pool.columns, left + length); x++) {
          const at = y * pool.columns + x;
          const cell = pool.mark(at);
          if (cell === 2 || (cell === 0 && mark === 1)) mark = cell;
          const value = pool.peak[at];
          if (signed ? Math.abs(value) > Math.abs(peak) : value > peak) peak = value;
        }
      marks[r * TILE + c] = mark;
      // Masked ranges have no color; a range with some NaN has the color of its largest number.
      codes[r * TILE + c] = mark === 1 ? 0 : code(peak);
    }
  return { rows, columns, codes, marks, domain, signed };
}

/** Tasks of a stage of the backward pass, wave by wave: one a cell of a head's grid of row ranges × key ranges. */
import { headKey } from "../core/random.ts";
import type { Problem } from "../plan/problem.ts";
import type { TileMap } from "../plan/tiles.ts";
import type { BackwardCut } from "./backward-cut.ts";
import type { PlacedKeys, PlacedMask, PlacedRows } from "./backward-place.ts";
import type { PlacedSums } from "./backward-sums.ts";
import type { Regions } from "./call.ts";
import { BACKWARD, NEW_KEYS, NEW_ROWS, PACK, paddedKey, paddedValue, runWords } from "./layout.ts";
import type { EngineMemory } from "./memory.ts";
import type { Piece } from "./place.ts";
import type { Tasks } from "./tasks.ts";

/** What a stage's tasks are written from. */
export interface BackwardStage extends Piece {
  readonly placedKeys: PlacedKeys;
  readonly placedRows: PlacedRows;
  readonly masks: readonly PlacedMask[];
  readonly sums?: PlacedSums;
  readonly call: number;
  /** True where the rows of dQ, the keys of dK and dV start at 0 with this stage. */
  readonly newRows: boolean;
  readonly newKeys: boolean;
}

/** Tasks that pack the keys of a stage, and its values: a head each, or parts of heads. */
export function packTasks(
  memory: EngineMemory,
  regions: Regions,
  problem: Problem,
  made: BackwardCut,
  piece: Piece,
  placed: PlacedKeys,
): { keys: Tasks; values: Tasks } {
  const { dk, dv } = problem.shape;
  const [k0, k1] = piece.keys;
  const lists: [number[], number[]] = [[], []];
  for (const { b, hk } of piece.heads)
    for (let key = k0; key < k1; key += made.rangeKeys) {
      const count = Math.min(made.rangeKeys, k1 - key);
      const rows = made.copyKeys ? placed.keyRows(b, hk) + (key - k0) * placed.keyRow : 0;
      const at = placed.key.at(b, hk, key);
      const target = dk === 0 ? 0 : placed.packedKey(b, hk) + (key - k0) * dk * 4;
      lists[0].push(at, placed.key.row, count, target, at, placed.key.row, rows, 0);
      const values = dv === 0 ? 0 : placed.packedValue(b, hk) + (key - k0) * dv * 4;
      lists[1].push(placed.value.at(b, hk, key), placed.value.row, count, values, 0, 0, 0, 0);
    }
  const [keys, values] = lists.map((list) => {
    const at = regions.alloc(4 * list.length);
    memory.i32.set(list, at / 4);
    return { at, size: PACK.size, count: list.length / (PACK.size / 4) };
  });
  return { keys, values };
}

/** The cells (s, r) of each wave of a grid of `columns` key ranges × `rows` row ranges. */
export function waves(columns: number, rows: number): [number, number][][] {
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

/** The tasks of a stage, a list a wave. */
export function backwardTasks(
  memory: EngineMemory,
  regions: Regions,
  problem: Problem,
  made: BackwardCut,
  map: TileMap,
  stage: BackwardStage,
): Tasks[] {
  const { spec, rangeRows, rangeKeys } = made;
  const { G } = problem.shape;
  const { placedKeys, placedRows, masks } = stage;
  const [r0, r1] = stage.rows;
  const [k0, k1] = stage.keys;
  const rowRanges = Math.ceil((r1 - r0) / rangeRows);
  const keyRanges = Math.ceil((k1 - k0) / rangeKeys);

  // Runs of the blocks of a cell: words (address, count) by block, and by head where the mask tells heads apart.
  const words: number[] = [];
  const index: number[] = [];
  const known = new Map<string, { at: number; some: boolean }>();
  const cellOf = (b: number, hk: number, s: number, r: number): { at: number; some: boolean } => {
    const key = `${map.perBatch ? b : 0} ${map.perHead ? hk : 0} ${s} ${r}`;
    const held = known.get(key);
    if (held) return held;
    const cell = { at: index.length, some: false };
    const [from, to] = [k0 + s * rangeKeys, Math.min(k1, k0 + (s + 1) * rangeKeys)];
    const end = Math.min(r1, r0 + (r + 1) * rangeRows);
    for (let row = r0 + r * rangeRows; row < end; row += spec.blockRows)
      for (let g = 0; g < (map.perHead ? G : 1); g++) {
        const runs = map.runs(b, hk * G + g, row, Math.min(end, row + spec.blockRows), from, to);
        index.push(words.length, runs.length);
        words.push(...runWords(runs));
        cell.some ||= runs.length > 0;
      }
    known.set(key, cell);
    return cell;
  };

  const list: number[] = [];
  const lists: { first: number; count: number }[] = [];
  const [rowsBegun, keysBegun] = [new Set<number>(), new Set<number>()];
  const dropKeys: number[] = [];
  const dropAt = new Map<string, number>();
  for (const { b, hk } of stage.heads) {
    dropAt.set(`${b}.${hk}`, dropKeys.length);
    for (let g = 0; g < (spec.dropout ? G : 0); g++) dropKeys.push(headKey(problem.seed, b, hk * G + g));
  }
  const sumWords: number[] = [];
  const size = BACKWARD.size / 4;
  for (const cells of waves(keyRanges, rowRanges)) {
    const first = list.length / size;
    const flagged = cells.map(([s, r]) => {
      const flags =
        (stage.newRows && !rowsBegun.has(r) ? NEW_ROWS : 0) |
        (stage.newKeys && !keysBegun.has(s) ? NEW_KEYS : 0);
      rowsBegun.add(r);
      keysBegun.add(s);
      return { s, r, flags };
    });
    for (const { b, hk } of stage.heads)
      for (const { s, r, flags } of flagged) {
        const cell = cellOf(b, hk, s, r);
        if (!cell.some && flags === 0) continue;
        const [row, key] = [r0 + r * rangeRows, k0 + s * rangeKeys];
        const h = hk * G;
        const task = new Array<number>(size).fill(0);
        const set = (at: number, value: number) => {
          task[at / 4] = value;
        };
        set(BACKWARD.call, stage.call);
        set(BACKWARD.query, placedRows.query.at(b, h, row));
        set(BACKWARD.queryRow, placedRows.query.row);
        set(BACKWARD.queryHead, placedRows.query.head);
        set(BACKWARD.dOutput, placedRows.dOutput.at(b, h, row));
        set(BACKWARD.dOutputRow, placedRows.dOutput.row);
        set(BACKWARD.dOutputHead, placedRows.dOutput.head);
        set(BACKWARD.output, placedRows.output.at(b, h, row));
        set(BACKWARD.outputRow, placedRows.output.row);
        set(BACKWARD.outputHead, placedRows.output.head);
        set(BACKWARD.lse, placedRows.lse(b, h) + 4 * (row - r0));
        set(BACKWARD.delta, placedRows.delta(b, h) + 4 * (row - r0));
        set(BACKWARD.lseHead, placedRows.lseHead);
        set(BACKWARD.dQuery, placedRows.dQuery(b, h) + 4 * (row - r0) * paddedKey(spec));
        set(BACKWARD.dQueryHead, placedRows.dQueryHead);
        set(BACKWARD.key, placedKeys.packedKey(b, hk) + 4 * (key - k0) * spec.dk);
        set(BACKWARD.value, placedKeys.packedValue(b, hk) + 4 * (key - k0) * spec.dv);
        set(BACKWARD.keyRows, placedKeys.keyRows(b, hk) + (key - k0) * placedKeys.keyRow);
        set(BACKWARD.keyRow, placedKeys.keyRow);
        set(BACKWARD.dKey, placedKeys.dKey(b, hk) + 4 * (key - k0) * paddedKey(spec));
        set(BACKWARD.dValue, placedKeys.dValue(b, hk) + 4 * (key - k0) * paddedValue(spec));
        set(BACKWARD.rows, Math.min(r1, row + rangeRows) - row);
        set(BACKWARD.row0, row);
        set(BACKWARD.heads, G);
        set(BACKWARD.head, h);
        set(BACKWARD.batch, b);
        set(BACKWARD.offset, problem.offsets[b]);
        set(BACKWARD.keyBase, key);
        set(BACKWARD.keys, Math.min(k1, key + rangeKeys) - key);
        set(BACKWARD.index, cell.at);
        set(BACKWARD.indexBlock, 8 * (map.perHead ? G : 1));
        set(BACKWARD.indexHead, map.perHead ? 8 : 0);
        set(BACKWARD.dropKeys, dropAt.get(`${b}.${hk}`) as number);
        set(BACKWARD.flags, flags);
        masks.forEach((mask, n) => {
          const bytes = problem.tensors[n].kind === "bool" ? 1 : 4;
          set(BACKWARD.tensor + 4 * n, mask.at(b, h) + (row - r0) * mask.row + (key - k0) * bytes);
          set(BACKWARD.tensorHead + 4 * n, mask.head);
        });
        set(BACKWARD.sums, sumWords.length);
        if (stage.sums) sumWords.push(...stage.sums.words(b, hk, s, row, key));
        list.push(...task);
      }
    lists.push({ first, count: list.length / size - first });
  }
  // Addresses of what was collected beside the tasks.
  const write = (numbers: readonly number[]) => {
    const at = regions.alloc(4 * Math.max(1, numbers.length));
    memory.i32.set(numbers, at / 4);
    return at;
  };
  const runsAt = write(words);
  const indexAt = write(index.map((x, n) => (n % 2 === 0 ? runsAt + 4 * x : x)));
  const [dropsAt, sumsAt] = [write(dropKeys), write(sumWords)];
  for (let task = 0; task < list.length; task += size) {
    list[task + BACKWARD.index / 4] = indexAt + 4 * list[task + BACKWARD.index / 4];
    list[task + BACKWARD.dropKeys / 4] = dropsAt + 4 * list[task + BACKWARD.dropKeys / 4];
    list[task + BACKWARD.sums / 4] = sumsAt + 4 * list[task + BACKWARD.sums / 4];
  }
  const at = write(list);
  return lists.map(({ first, count }) => ({ at: at + first * BACKWARD.size, size: BACKWARD.size, count }));
}

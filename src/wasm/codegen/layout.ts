/**
 * Where things lie in the engine's memory: the constants, the words of a call and of a task, a thread's workspace.
 * The kernels read these words and backend.ts writes them; both take the places from here. All offsets in bytes.
 */
import { panelOf, roundUp, type Spec, targetsOf } from "./spec.ts";

/** Constants of the kernels' arithmetic, loaded from memory: `v128.const` in a hot loop is rebuilt at each use in V8 13.6–14.6. */
export const CONSTANTS_AT = 4096;

/** Words one call shares. */
export const CallStruct = {
  /** Factor of Q. */
  scale: 0,
  /** Keys in all; columns from here on are padding. */
  keys: 4,
  queryRow: 8,
  keyRow: 12,
  valueRow: 16,
  outRow: 20,
  dropThreshold: 24,
  dropScale: 28,
  /** Byte strides from head to head (queries, output, lse), for rows of several heads in one decode task. */
  queryHead: 32,
  outHead: 36,
  /** Rows of each head in such a task. */
  headRows: 40,
  lseHead: 44,
  /** What a score is worth in powers of two, and in powers of e: 2^(s·exponent) = e^(s·unit). */
  exponent: 48,
  unit: 52,
  /** What q·k is worth as a score: the scale of the call. */
  factor: 56,
  /** Lists of positions that dropout is keyed by, of rows and of keys, and bytes from batch entry to batch entry. */
  queryPositions: 60,
  queryPositionsBatch: 64,
  keyPositions: 68,
  keyPositionsBatch: 72,
  /** Byte stride of the row of each mask tensor, up to 8. */
  tensorRow: 80,
  /** Constants and tables of the mask and score expressions. */
  pool: 112,
} as const;

/** Words of one task. */
export const TaskStruct = {
  call: 0,
  query: 4,
  key: 8,
  value: 12,
  out: 16,
  lse: 20,
  rows: 24,
  /** Row number of the first row; its position is row + offset. */
  row0: 28,
  offset: 32,
  batch: 36,
  head: 40,
  /** Runs of keys (RUN) and how many. */
  runs: 44,
  runCount: 48,
  flags: 52,
  /** Address of the sinks of the task's heads, or 0. */
  sinks: 56,
  state: 60,
  dropKey: 64,
  /** Key number of the first staged key. */
  keyBase: 68,
  /** Address of (row0, keyBase) in each mask tensor, up to 8. */
  tensor: 72,
  size: 112,
} as const;

/** Words of a task of the backward kernel: rows × keys of one key head, all query heads of its group. */
export const BackwardStruct = {
  call: 0,
  /** First row of the first head, bytes from row to row and from head to head. */
  query: 4,
  queryRow: 8,
  queryHead: 12,
  dOutput: 16,
  dOutputRow: 20,
  dOutputHead: 24,
  output: 28,
  outputRow: 32,
  outputHead: 36,
  /** lse of the first row, δ of the same, bytes from head to head. */
  lse: 40,
  delta: 44,
  lseHead: 48,
  dQuery: 52,
  dQueryHead: 56,
  /** Packed keys and values, and keys in rows, at the first key. */
  key: 60,
  value: 64,
  keyRows: 68,
  keyRow: 72,
  dKey: 76,
  dValue: 80,
  rows: 84,
  row0: 88,
  heads: 92,
  head: 96,
  batch: 100,
  offset: 104,
  keyBase: 108,
  /** Keys of the task. */
  keys: 112,
  /** Runs of keys of each block of rows (address, count), and bytes from block to block and from head to head. */
  index: 116,
  indexBlock: 120,
  indexHead: 124,
  /** Dropout keys of the heads. */
  dropKeys: 128,
  flags: 132,
  /** Mask tensors at (row0, keyBase) of the first head, and bytes from head to head, up to 8 each. */
  tensor: 136,
  tensorHead: 168,
  /** Where the targets of kernels/sums.ts stand: of each the address of the first row of the first head, bytes from head to head and row to row. */
  sums: 200,
  size: 204,
} as const;

/** Flags of a backward task: its rows of dQ, its keys of dK and dV start at 0 here. */
export const NEW_ROWS = 1;
export const NEW_KEYS = 2;

/** Words of a pack task: rows of K into panels, rows of V into padded rows. */
export const PackStruct = {
  source: 0,
  row: 4,
  keys: 8,
  target: 12,
  valueSource: 16,
  valueRow: 20,
  valueTarget: 24,
  size: 32,
} as const;

/** Task flags: the state starts here, ends here. */
export const FIRST = 1;
export const LAST = 2;

/** A run of keys: first key, end key, kind, and the keys between which the mask has to be asked. */
export const RunStruct = {
  full: 0,
  partial: 1,
  from: 0,
  to: 4,
  kind: 8,
  maskFrom: 12,
  maskTo: 16,
  size: 20,
} as const;

/** A thread's workspace for a kernel. */
export interface Workspace {
  readonly scratch: number;
  /** m, l and alpha of each row. */
  readonly stats: number;
  readonly queries: number;
  readonly scores: number;
  /** Scores before exp, kept where a value under a mask is not finite. */
  readonly rawScores: number;
  /** One row of sums for that case. */
  readonly sums: number;
  readonly output: number;
  readonly size: number;
}

/** Rows of a block rounded up to whole register tiles. */
export const paddedRows = (spec: Spec): number => roundUp(spec.rowTile, spec.tile.rows);

/** Value columns rounded up to full panels. */
export const paddedValue = (spec: Spec): number =>
  roundUp(spec.dv, spec.kind === "decode" ? 4 : 4 * spec.tile.vectors);

/** Columns of queries and keys rounded up to full panels. */
export const paddedKey = (spec: Spec): number => roundUp(spec.dk, panelOf(spec.tile));

/** A thread's workspace for a backward kernel. */
export interface BackwardSpace {
  /** The words of a forward task, for the block and head at hand. */
  readonly task: number;
  /** −lse and δ of each row. */
  readonly stats: number;
  readonly queries: number;
  readonly dOutput: number;
  /** Scores, then weights. */
  readonly scores: number;
  /** do·v, then the gradient of the scores. */
  readonly dScores: number;
  /** Which cells are not masked, of a masked tile. */
  readonly visible: number;
  readonly sums: number;
  readonly size: number;
}

/** Lays out the workspace of a backward kernel. */
export function backwardSpaceOf(spec: Spec): BackwardSpace {
  const rows = paddedRows(spec);
  let at = 0;
  const take = (bytes: number): number => {
    const here = at;
    at += roundUp(bytes, 64);
    return here;
  };
  const tile = rows * spec.keyTile * 4;
  return {
    task: take(TaskStruct.size + 8 * (spec.biasGradients ? targetsOf(spec.biasGradients) : 0)),
    stats: take(2 * statStride(spec)),
    queries: take(rows * paddedKey(spec) * 4),
    dOutput: take(rows * paddedValue(spec) * 4),
    scores: take(tile),
    dScores: take(tile),
    visible: take(tile),
    sums: take(4 * Math.max(paddedKey(spec), paddedValue(spec))),
    size: at + 64,
  };
}

/** Lays out the workspace of a kernel. */
export function workspaceOf(spec: Spec): Workspace {
  const rows = paddedRows(spec);
  let at = 0;
  const take = (bytes: number): number => {
    const here = at;
    at += roundUp(bytes, 64);
    return here;
  };
  // Rows are summed four at a time.
  const scores = roundUp(rows, 4) * spec.keyTile * 4;
  return {
    scratch: take(64),
    stats: take(3 * roundUp(rows, 4) * 4),
    queries: take(rows * roundUp(spec.dk, 4) * 4 + 16),
    scores: take(scores),
    rawScores: take(spec.mask || spec.tensors.length ? scores : 0),
    sums: take(paddedValue(spec) * 4),
    output: take(rows * paddedValue(spec) * 4),
    size: at + 64,
  };
}

/** Bytes from m to l and from l to alpha. */
export const statStride = (spec: Spec): number => roundUp(paddedRows(spec), 4) * 4;

/** Bytes of the state a task carries from stage to stage: m, l and the output so far. */
export const stateBytes = (spec: Spec): number =>
  2 * statStride(spec) + paddedRows(spec) * paddedValue(spec) * 4;

/** The words of runs. */
export function runWords(
  runs: readonly { from: number; to: number; masked?: readonly [number, number] }[],
): number[] {
  return runs.flatMap(({ from, to, masked }) => [
    from,
    to,
    masked ? RunStruct.partial : RunStruct.full,
    ...(masked ?? [to, from]),
  ]);
}

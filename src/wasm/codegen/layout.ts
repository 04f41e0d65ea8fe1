/**
 * Layouts in the engine's memory: the constants, the words of a call and of a task, a thread's workspace.
 * forward/ and backward/ write these words and the kernels read them, both with these offsets. All offsets in bytes.
 */
import { panelOf, roundUp, type Spec, targetsOf } from "./spec.ts";

/** Constants of the kernels' arithmetic, loaded from memory: `v128.const` in a hot loop is rebuilt at each use in V8 13.6–14.6. */
export const CONSTANTS_AT = 4096;

/** Words of a call, read by all of its tasks. */
export const CallStruct = {
  /** Factor of Q. */
  scale: 0,
  /** Number of keys; columns from here on are padding. */
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
  /** Factors of a score in the exponents of 2 and of e: 2^(s·exponent) = e^(s·unit). */
  exponent: 48,
  unit: 52,
  /** Factor from q·k to the score: the scale of the call. */
  factor: 56,
  /** Lists of positions for dropout, of rows and of keys, and bytes from batch entry to batch entry. */
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
  /** Index of the first row; its position is row + offset. */
  row0: 28,
  offset: 32,
  batch: 36,
  head: 40,
  /** Runs of keys (`RunStruct`) and their number. */
  runs: 44,
  runCount: 48,
  flags: 52,
  /** Address of the sinks of the task's heads, or 0. */
  sinks: 56,
  state: 60,
  dropKey: 64,
  /** Index of the first staged key. */
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
  /** Runs of keys of each row tile (address, count), and bytes from tile to tile and from head to head. */
  index: 116,
  indexBlock: 120,
  indexHead: 124,
  /** Dropout keys of the heads. */
  dropKeys: 128,
  flags: 132,
  /** Mask tensors at (row0, keyBase) of the first head, and bytes from head to head, up to 8 each. */
  tensor: 136,
  tensorHead: 168,
  /** Targets of kernels/attention/bias-gradients.ts: for each the address of the first row of the first head, bytes from head to head and row to row. */
  sums: 200,
  size: 204,
} as const;

/** Flags of a backward task: it zeroes its rows of dQ, its keys of dK and dV first. */
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

/** Task flags: the first or last task of a state. */
export const FIRST = 1;
export const LAST = 2;

/** A run of keys: first key, end key, kind, and the range of keys for which the mask is evaluated. */
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

/** Rows of a row tile, rounded up to full register tiles. */
export const paddedRows = (spec: Spec): number => roundUp(spec.rowTile, spec.tile.rows);

/** Value columns rounded up to full panels. */
export const paddedValue = (spec: Spec): number =>
  roundUp(spec.dv, spec.kind === "decode" ? 4 : 4 * spec.tile.vectors);

/** Columns of queries and keys rounded up to full panels. */
export const paddedKey = (spec: Spec): number => roundUp(spec.dk, panelOf(spec.tile));

/** A thread's workspace for a backward kernel. */
export interface BackwardSpace {
  /** The words of a forward task, for the current row tile and head. */
  readonly task: number;
  /** −lse and δ of each row. */
  readonly stats: number;
  readonly queries: number;
  readonly dOutput: number;
  /** Scores, then weights. */
  readonly scores: number;
  /** do·v, then the gradient of the scores. */
  readonly dScores: number;
  /** The visible cells of a masked tile. */
  readonly visible: number;
  readonly sums: number;
  readonly size: number;
}

/** Offsets of consecutive regions, aligned to 64 bytes. */
function bumpAllocator(): { allocate: (bytes: number) => number; size: () => number } {
  let end = 0;
  return {
    allocate(bytes) {
      const at = end;
      end += roundUp(bytes, 64);
      return at;
    },
    size: () => end,
  };
}

/** Lays out the workspace of a backward kernel. */
export function backwardSpaceOf(spec: Spec): BackwardSpace {
  const rows = paddedRows(spec);
  const { allocate, size } = bumpAllocator();
  const tile = rows * spec.keyTile * 4;
  return {
    task: allocate(TaskStruct.size + 8 * (spec.biasGradients ? targetsOf(spec.biasGradients) : 0)),
    stats: allocate(2 * statStride(spec)),
    queries: allocate(rows * paddedKey(spec) * 4),
    dOutput: allocate(rows * paddedValue(spec) * 4),
    scores: allocate(tile),
    dScores: allocate(tile),
    visible: allocate(tile),
    sums: allocate(4 * Math.max(paddedKey(spec), paddedValue(spec))),
    size: size() + 64,
  };
}

/** Lays out the workspace of a kernel. */
export function workspaceOf(spec: Spec): Workspace {
  const rows = paddedRows(spec);
  const { allocate, size } = bumpAllocator();
  // Rows are summed four at a time.
  const scores = roundUp(rows, 4) * spec.keyTile * 4;
  return {
    scratch: allocate(64),
    stats: allocate(3 * roundUp(rows, 4) * 4),
    queries: allocate(rows * roundUp(spec.dk, 4) * 4 + 16),
    scores: allocate(scores),
    rawScores: allocate(spec.mask || spec.tensors.length ? scores : 0),
    sums: allocate(paddedValue(spec) * 4),
    output: allocate(rows * paddedValue(spec) * 4),
    size: size() + 64,
  };
}

/** Bytes from m to l and from l to alpha. */
export const statStride = (spec: Spec): number => roundUp(paddedRows(spec), 4) * 4;

/** Bytes of the state that a task keeps between stages: m, l and the output so far. */
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

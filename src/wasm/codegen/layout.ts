/**
 * Layouts in the engine's memory: the constants, the words of a call and of a task, a thread's workspace.
 * forward/ and backward/ write these words and the kernels read them, both with these offsets. All offsets in bytes.
 */

import { panelOf, roundUp, type Spec, targetsOf } from "./spec.ts";
import * as RunStruct from "./structs/run.ts";
import * as TaskStruct from "./structs/task.ts";

/** Constants of the kernels' arithmetic, loaded from memory: `v128.const` in a hot loop is rebuilt at each use in V8 13.6–14.6. */
export const CONSTANTS_AT = 4096;

/** Flags of a backward task: it zeroes its rows of dQ, its keys of dK and dV first. */
export const NEW_ROWS = 1;
export const NEW_KEYS = 2;

/** Task flags: the first or last task of a state. */
export const FIRST = 1;
export const LAST = 2;

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

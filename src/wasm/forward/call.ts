/**
 * One call in the engine's memory: its spec, its shared words (CALL), the constants and tables of its expressions.
 */

import type { SimdLevel } from "../../backend/plan.ts";
import type { Problem } from "../../backend/problem.ts";
import { chooseTiling, type Machine, type Tiling } from "../../backend/tiling.ts";
import { dropoutThreshold } from "../../core/random.ts";
import type { Operand } from "../../core/shape.ts";
import { compileBounds } from "../../masks/expression/bounds.ts";
import { type Expression, type Table, VARS } from "../../masks/expression/expr.ts";
import { CallStruct } from "../codegen/layout.ts";
import { fillPool, poolOf, poolWords } from "../codegen/score.ts";
import { panelOf, roundUp, type Spec, type Storage } from "../codegen/spec.ts";
import { tileFor } from "../engine/features.ts";
import type { EngineMemory } from "../engine/memory.ts";

/** Regions of a call, given back together. */
export class AllocationScope {
  private readonly memory: EngineMemory;
  private readonly addresses: number[] = [];
  constructor(memory: EngineMemory) {
    this.memory = memory;
  }
  alloc(bytes: number): number {
    const at = this.memory.alloc(bytes);
    this.addresses.push(at);
    return at;
  }
  free(): void {
    for (const at of this.addresses) this.memory.free(at);
    this.addresses.length = 0;
  }
}

/** The cut and the kernel spec of a problem on a level. */
export function specOf(problem: Problem, level: SimdLevel, shared: boolean): { spec: Spec; tiling: Tiling } {
  const tile = tileFor(level);
  const machine: Machine = { tileRows: tile.rows, panel: panelOf(tile) };
  const tiling = chooseTiling(problem, machine);
  const { shape } = problem;
  const storage = (x: Operand) => x.tensor.dtype as Storage;
  const spec: Spec = {
    kind: tiling.kind,
    fused: level !== "strict",
    // The decode kernel is bound by memory: 256 bits bring it nothing, so it is written one way.
    wide: level === "wide" && tiling.kind === "forward",
    tile: tiling.kind === "decode" ? { rows: 1, vectors: 2, unroll: 1 } : tile,
    dk: shape.dk,
    dv: shape.dv,
    rowTile: tiling.rowTile,
    keyTile: tiling.keyTile,
    query: storage(shape.query),
    key: storage(shape.key),
    value: storage(shape.value),
    mask: problem.mask,
    score: problem.score,
    inBounds: inBoundsLookups(problem, [problem.mask, problem.score]),
    tensors: problem.tensors.map((t) => t.kind),
    dropout: dropoutOf(problem),
    shared,
  };
  return { spec, tiling };
}

/** How a kernel knows the positions that dropout is keyed by. */
export const dropoutOf = (problem: Problem): Spec["dropout"] =>
  problem.dropoutP === 0 ? false : problem.positions.counted ? "counted" : "listed";

/** Table look-ups whose indices cannot leave the table, whatever the cell. */
export function inBoundsLookups(
  problem: Problem,
  expressions: readonly (Expression | undefined)[],
): Set<Expression> {
  const { B, Hq, Nq, Nk } = problem.shape;
  const inBounds = new Set<Expression>();
  const box = {
    b0: 0,
    b1: B - 1,
    h0: 0,
    h1: Hq - 1,
    i0: 0,
    i1: Nq - 1,
    k0: 0,
    k1: Nk - 1,
    offset0: problem.offsets.reduce((a, x) => Math.min(a, x), Infinity),
    offset1: problem.offsets.reduce((a, x) => Math.max(a, x), -Infinity),
  };
  const visit = (x: Expression): void => {
    if (x === VARS.score) return;
    if (x.op === "table") {
      const t = x.value as Table;
      const fits = x.args.every((index, axis) => {
        const { low, high, last } = compileBounds(index)(box);
        return low[last] >= 0 && high[last] < t.shape[axis];
      });
      if (fits) inBounds.add(x);
    }
    x.args.forEach(visit);
  };
  for (const x of expressions) if (x) visit(x);
  return inBounds;
}

/** Byte strides a call's words hold. */
export interface Strides {
  readonly queryRow: number;
  readonly keyRow: number;
  readonly valueRow: number;
  readonly outRow: number;
  readonly queryHead: number;
  readonly outHead: number;
  readonly lseHead: number;
  readonly headRows: number;
  readonly tensorRows: readonly number[];
}

/** Positions read past the last one: kernels read whole vectors, to the end of a register tile. */
const LIST_PADDING = 64;

/** The positions of every row and key of every batch entry. */
function placeLists(memory: EngineMemory, regions: AllocationScope, problem: Problem) {
  const { B, Nq, Nk } = problem.shape;
  const place = (rows: number, position: (b: number, n: number) => number) => {
    const bytes = 4 * roundUp(rows + LIST_PADDING, 4);
    const at = regions.alloc(B * bytes);
    const { i32 } = memory;
    for (let b = 0; b < B; b++) for (let n = 0; n < rows; n++) i32[(at + b * bytes) / 4 + n] = position(b, n);
    return { at, bytes };
  };
  return { query: place(Nq, problem.positions.query), key: place(Nk, problem.positions.key) };
}

/** Writes the words of a call and the pool of its expressions; returns where they are. */
export function writeCall(
  memory: EngineMemory,
  regions: AllocationScope,
  problem: Problem,
  strides: Strides,
  expressions: readonly (Expression | undefined)[] = [problem.mask, problem.score],
): number {
  const pool = poolOf(expressions);
  const at = regions.alloc(CallStruct.pool + 4 * poolWords(pool));
  const tables = new Map<Table, number>();
  for (const t of pool.tables) {
    const address = regions.alloc(4 * t.data.length);
    tables.set(t, address);
    if (t.type === "int") memory.i32.set(t.data, address / 4);
    else memory.f32.set(t.data, address / 4);
  }
  const lists = dropoutOf(problem) === "listed" ? placeLists(memory, regions, problem) : undefined;
  const { i32, f32 } = memory;
  const word = (offset: number) => (at + offset) / 4;
  // Where nothing but the mask touches a score, it stays the plain product q·k and the scale goes into the exponent:
  // exact for whole numbers, and one rounding less. The sign stays with Q, because the maximum must be one.
  const size = Math.abs(problem.scale);
  const plain =
    !problem.score &&
    !problem.sinks &&
    problem.tensors.every((t) => t.kind === "bool") &&
    size >= 2 ** -16 &&
    size <= 2 ** 16;
  f32[word(CallStruct.scale)] = plain ? Math.sign(problem.scale) : problem.scale;
  f32[word(CallStruct.unit)] = plain ? size : 1;
  f32[word(CallStruct.exponent)] = (plain ? size : 1) * Math.LOG2E;
  f32[word(CallStruct.factor)] = problem.scale;
  i32[word(CallStruct.keys)] = problem.shape.Nk;
  i32[word(CallStruct.queryRow)] = strides.queryRow;
  i32[word(CallStruct.keyRow)] = strides.keyRow;
  i32[word(CallStruct.valueRow)] = strides.valueRow;
  i32[word(CallStruct.outRow)] = strides.outRow;
  i32[word(CallStruct.queryHead)] = strides.queryHead;
  i32[word(CallStruct.outHead)] = strides.outHead;
  i32[word(CallStruct.lseHead)] = strides.lseHead;
  i32[word(CallStruct.headRows)] = strides.headRows;
  i32[word(CallStruct.dropThreshold)] = dropoutThreshold(problem.dropoutP) | 0;
  f32[word(CallStruct.dropScale)] = 1 / (1 - problem.dropoutP);
  if (lists) {
    i32[word(CallStruct.queryPositions)] = lists.query.at;
    i32[word(CallStruct.queryPositionsBatch)] = lists.query.bytes;
    i32[word(CallStruct.keyPositions)] = lists.key.at;
    i32[word(CallStruct.keyPositionsBatch)] = lists.key.bytes;
  }
  strides.tensorRows.forEach((bytes, n) => {
    i32[word(CallStruct.tensorRow) + n] = bytes;
  });
  fillPool(
    pool,
    at + CallStruct.pool,
    i32 as Int32Array,
    f32 as Float32Array,
    (t) => tables.get(t) as number,
  );
  return at;
}

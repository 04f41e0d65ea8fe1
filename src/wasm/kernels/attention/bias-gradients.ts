/**
 * Gradients of terms that were added to the scores, from ds of a tile (before the derivative of the score mod):
 *
 *   float masks       ds of each cell; its sum over rows or over keys where the mask was broadcast along them
 *   tables            Σ ds·∂score/∂entry, over a whole row where the entry is the same for the row, else cell by cell
 *
 * Cells and sums over one axis are float32, sums into a table float64: an entry may have a term for every cell. The
 * addresses are stored after the words of the task: for each target an address and the bytes from row to row.
 */

import type { FunctionBuilder, I32Value, Local, V128Value } from "../../assembler/index.ts";
import { f32, f32x4, f64, i32, i32x4, v128 } from "../../assembler/index.ts";
import type { Arithmetic } from "../../codegen/math.ts";
import { type BiasGradients, targetsOf } from "../../codegen/spec.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import { sumLanes } from "../lanes.ts";

/** Adds the cells of a row to all targets. */
export class RowSums {
  private readonly f: FunctionBuilder;
  private readonly task: I32Value;
  private readonly sums: BiasGradients;
  /** Address of the current row, of every target. */
  private readonly rowAt: readonly Local<"i32">[];
  private readonly cellAt: Local<"i32">;
  private readonly columnAt: Local<"i32">;
  private readonly accumulators: readonly (readonly Local<"v128">[])[];

  constructor(f: FunctionBuilder, task: I32Value, sums: BiasGradients) {
    this.f = f;
    this.task = task;
    this.sums = sums;
    this.rowAt = Array.from({ length: targetsOf(sums) }, (_, n) => f.int(i32.load(task, targetWord(n))));
    this.cellAt = f.local("i32");
    this.columnAt = f.local("i32");
    this.accumulators = sums.rows.map(() => [f.local("v128"), f.local("v128")]);
  }

  private get columnsTarget(): number {
    return this.sums.cells ? 1 : 0;
  }
  private get rowsTarget(): number {
    return this.columnsTarget + (this.sums.columns ? 1 : 0);
  }

  /** Sets the sums of the row to 0. */
  beginRow(m: Arithmetic): void {
    for (const pair of this.accumulators) for (const x of pair) this.f.set(x, m.bits(0));
  }

  /** Starts at column `begin` of the tile whose first key is `key`. */
  begin(key: I32Value, begin: I32Value): void {
    const { f, sums } = this;
    if (!sums.cells && !sums.columns) return;
    const column = i32.sub(i32.add(key, begin), i32.load(this.task, TaskStruct.keyBase));
    const across = f.int(i32.shl(column, 2));
    if (sums.cells) f.set(this.cellAt, i32.add(this.rowAt[0], across));
    if (sums.columns) f.set(this.columnAt, i32.add(this.rowAt[this.columnsTarget], across));
  }

  /** Adds eight cells. `derivatives` are those of the rows, then of the tables; `indices` are the entries in each table. */
  add(
    ds: readonly V128Value[],
    derivatives: readonly (readonly V128Value[] | undefined)[],
    indices: readonly (readonly V128Value[])[],
    allowed: readonly V128Value[] | undefined,
  ): void {
    const { f, sums } = this;
    const times = (derivative: readonly V128Value[] | undefined) => {
      if (!derivative) return ds;
      const values = ds.map((x, half) => f.let(f32x4.mul(x, derivative[half])));
      // The derivative of a masked cell may be anything.
      return allowed ? values.map((x, half) => f.let(v128.and(x, allowed[half]))) : values;
    };
    if (sums.cells) ds.forEach((x, half) => f.storeVector(this.cellAt, x, 16 * half));
    if (sums.columns) {
      const old = ds.map((_, half) => f.let(v128.load(this.columnAt, 16 * half)));
      const next = ds.map((x, half) => f.let(f32x4.add(old[half], x)));
      next.forEach((x, half) => f.storeVector(this.columnAt, x, 16 * half));
    }
    this.accumulators.forEach((pair, n) => {
      const values = times(derivatives[n]);
      pair.forEach((sum, half) => f.set(sum, f32x4.add(sum, values[half])));
    });
    sums.tables.forEach((_, n) => {
      const base = this.rowAt[this.rowsTarget + sums.rows.length + n];
      times(derivatives[sums.rows.length + n]).forEach((x, half) => this.scatter(base, x, indices[n][half]));
    });
  }

  /** Adds four numbers to the entries of a table, one after another. */
  private scatter(base: Local<"i32">, values: V128Value, index: V128Value): void {
    const { f } = this;
    const [from, bytes] = [f.once(values), f.let(i32x4.shl(index, 3))];
    for (let lane = 0; lane < 4; lane++) {
      const at = f.int(i32.add(base, i32x4.extract_lane(bytes, lane)));
      const x = f64.promote_f32(f32x4.extract_lane(from, lane));
      f.store("f64.store", at, f64.add(f64.load(at), x));
    }
  }

  /** Advances by eight keys. */
  next(): void {
    if (this.sums.cells) this.f.step(this.cellAt, 32);
    if (this.sums.columns) this.f.step(this.columnAt, 32);
  }

  /** Adds the sums of the row to those of other tiles, and advances to the next row. */
  endRow(): void {
    const { f, task } = this;
    this.accumulators.forEach(([a, b], n) => {
      const sum = sumLanes(f, a, b);
      const at = this.rowAt[this.rowsTarget + n];
      f.store("f32.store", at, f32.add(f32.load(at), sum));
    });
    this.rowAt.forEach((at, n) => f.step(at, i32.load(task, targetWord(n) + 4)));
  }
}

/** Offset from a task of the words of target n: its address and the bytes from row to row. */
export const targetWord = (n: number): number => TaskStruct.size + 8 * n;

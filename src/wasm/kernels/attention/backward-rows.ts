/**
 * The rows of a tile of the backward kernel: queries, dO and lse copied into the workspace, and δ = do·o.
 *
 * δ is summed over the value columns in one chain, with the operations of the product do·v: where a row attends to a single key,
 * o is its value to the bit, and dp − δ is exactly 0.
 */

import { DTYPES, type StoredDType } from "../../../core/dtype.ts";
import type {
  Func,
  FunctionBuilder,
  I32Value,
  Local,
  ModuleBuilder,
  V128Value,
} from "../../assembler/index.ts";
import { f32, f32x4, i32, select, v128, ZERO } from "../../assembler/index.ts";
import { backwardSpaceOf, paddedKey, paddedValue, statStride } from "../../codegen/layout.ts";
import { type Arithmetic, loadFloats, loadOne, withConstants } from "../../codegen/math.ts";
import type { Spec } from "../../codegen/spec.ts";
import * as BackwardStruct from "../../codegen/structs/backward.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import { transpose4 } from "../lanes.ts";
import { clear, copyRow } from "./row-tile.ts";

/**
 * loadRows(task, ws, block, g, rows): copies the rows of a tile into the workspace: queries times the call's factor, dO, −lse and
 * δ. A fully masked row is zero, whatever its inputs are; so are the padding rows of the last strip.
 */
export function loadRows(module: ModuleBuilder, spec: Spec): Func {
  const space = backwardSpaceOf(spec);
  const [keyColumns, valueColumns] = [paddedKey(spec), paddedValue(spec)];
  return module.func("loadRows", ["task", "ws", "block", "g", "rows"], (f, { task, ws, block, g, rows }) => {
    const word = (at: number): I32Value => i32.load(task, at);
    const call = f.int(word(BackwardStruct.call));
    const place = (first: number, row: I32Value | number, head: number) =>
      f.int(i32.add(word(first), i32.add(i32.mul(block, row), i32.mul(g, word(head)))));
    const query = place(BackwardStruct.query, word(BackwardStruct.queryRow), BackwardStruct.queryHead);
    const dOutput = place(
      BackwardStruct.dOutput,
      word(BackwardStruct.dOutputRow),
      BackwardStruct.dOutputHead,
    );
    const output = place(BackwardStruct.output, word(BackwardStruct.outputRow), BackwardStruct.outputHead);
    const lse = place(BackwardStruct.lse, 4, BackwardStruct.lseHead);
    const delta = place(BackwardStruct.delta, 4, BackwardStruct.lseHead);
    const q = f.int(i32.add(ws, space.queries));
    const dO = f.int(i32.add(ws, space.dOutput));
    const stats = f.int(i32.add(ws, space.stats));
    const [r, at] = [f.local("i32"), f.local("i32")];
    const empty = (to: Local<"i32">, bytes: I32Value | number) => {
      f.set(at, to);
      clear(f, at, bytes);
    };
    withConstants(f, spec, (m) => {
      f.count(r, 0, rows, 1, () => {
        const total = f.let(f32.load(lse));
        f.store("f32.store", stats, f32.mul(total, -1));
        f.when(
          f32.eq(total, Number.NEGATIVE_INFINITY),
          () => {
            f.store("f32.store", stats, total);
            empty(q, 4 * keyColumns);
            empty(dO, 4 * valueColumns);
          },
          () => {
            const scale = v128.load32_splat(call, CallStruct.scale);
            copyRow(f, m, spec.query, spec.dk, query, q, (x) => f32x4.mul(x, scale));
            copyRow(f, m, spec.dOutput as StoredDType, spec.dv, dOutput, dO);
            for (let d = spec.dk; d < keyColumns; d++) f.store("f32.store", q, 0, 4 * d);
            for (let e = spec.dv; e < valueColumns; e++) f.store("f32.store", dO, 0, 4 * e);
          },
        );
        f.step(query, word(BackwardStruct.queryRow));
        f.step(dOutput, word(BackwardStruct.dOutputRow));
        for (const x of [lse, stats]) f.step(x, 4);
        f.step(q, 4 * keyColumns);
        f.step(dO, 4 * valueColumns);
      });
      const fill = f.int(i32.rem_s(rows, spec.tile.rows));
      f.when(fill, () => {
        f.set(fill, i32.sub(spec.tile.rows, fill));
        empty(q, i32.mul(fill, 4 * keyColumns));
        empty(dO, i32.mul(fill, 4 * valueColumns));
      });

      f.set(dO, i32.add(ws, space.dOutput));
      f.set(stats, i32.add(ws, space.stats));
      const outputRow = f.int(word(BackwardStruct.outputRow));
      const last = f.int(i32.sub(rows, 1));
      f.count(r, 0, rows, 4, () => {
        // Four rows at a time; after the last row, it is repeated.
        const each = [0, 1, 2, 3].map((n) => {
          const row = f.int(i32.add(r, n));
          f.set(row, select(last as I32Value, row, i32.gt_s(row, last)));
          return {
            o: f.int(i32.add(output, i32.mul(row, outputRow))),
            dO: f.int(i32.add(dO, i32.mul(row, 4 * valueColumns))),
          };
        });
        const sum = deltaOf(f, m, spec, each);
        // The output of a fully masked row may be anything.
        const isVisible = f32x4.ne(v128.load(i32.add(stats, i32.shl(r, 2))), m.c(-Infinity));
        f.storeVector(i32.add(stats, i32.shl(r, 2)), v128.and(sum, isVisible), statStride(spec));
      });
      f.count(r, 0, rows, 1, () => {
        f.store("f32.store", delta, f32.load(stats, statStride(spec)));
        f.step(delta, 4);
        f.step(stats, 4);
      });
    });
  });
}

/** δ of four rows, one per lane: a chain of multiply-adds over the columns, which are transposed four by four. */
function deltaOf(
  f: FunctionBuilder,
  m: Arithmetic,
  spec: Spec,
  rows: readonly { o: Local<"i32">; dO: Local<"i32"> }[],
): Local<"v128"> {
  const stored = spec.output as StoredDType;
  const bytes = DTYPES[stored].bytes;
  const quads = spec.dv - (spec.dv % 4);
  const sum = f.let(ZERO);
  const e = f.local("i32");
  f.count(e, 0, quads, 4, () => {
    const o = transposed(
      f,
      rows.map((row) => loadFloats(f, m, stored, row.o)),
    );
    const dO = transposed(
      f,
      rows.map((row) => v128.load(row.dO)),
    );
    o.forEach((x, n) => f.set(sum, m.madd(dO[n], x, sum)));
    for (const row of rows) {
      f.step(row.o, 4 * bytes);
      f.step(row.dO, 16);
    }
  });
  for (let n = 0; n < spec.dv - quads; n++) {
    const [o, dO] = [f.let(ZERO), f.let(ZERO)];
    rows.forEach((row, lane) => {
      const one = f32x4.extract_lane(loadOne(f, m, stored, row.o, bytes * n), 0);
      f.set(o, f32x4.replace_lane(o, one, lane));
      f.set(dO, f32x4.replace_lane(dO, f32.load(row.dO, 4 * n), lane));
    });
    f.set(sum, m.madd(dO, o, sum));
  }
  return sum;
}

/** Four vectors, transposed, in locals. */
function transposed(f: FunctionBuilder, vectors: readonly V128Value[]): V128Value[] {
  const locals = vectors.map((x) => f.let(x));
  return transpose4(f, locals).map((x) => f.let(x));
}

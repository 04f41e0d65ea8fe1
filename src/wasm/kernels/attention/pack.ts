/**
 * Packing: keys into panels [panel][d][columns], so that the score product reads them in order; values, where needed,
 * into float32 rows padded to full panels. Runs once for each key head, for all query heads of the group.
 */

import { DTYPES } from "../../../core/dtype.ts";
import type { FunctionBuilder, I32Value, Local } from "../../assembler/index.ts";
import { f32x4, i32, ModuleBuilder, ZERO } from "../../assembler/index.ts";
import { paddedValue } from "../../codegen/layout.ts";
import { type Arithmetic, loadFloats, loadOne, withConstants } from "../../codegen/math.ts";
import { panelOf, type Spec } from "../../codegen/spec.ts";
import * as PackStruct from "../../codegen/structs/pack.ts";
import { transpose4 } from "../lanes.ts";
import { copyRow } from "./row-tile.ts";

/** Bytes of the module; it exports `run(task, workspace)`. */
// long: keys in panels, keys in rows and values are the same loop over columns.
export function pack(spec: Spec): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder(spec);
  const columns = panelOf(spec.tile);
  const bytes = DTYPES[spec.key].bytes;

  const keys = module.func(
    "keys",
    ["source", "row", "count", "target"],
    (f, { source, row, count, target }) => {
      withConstants(f, spec, (m) => {
        f.down(count, columns, () => {
          f.when(
            i32.ge_s(count, columns),
            () => wholePanel(f, m, source, row, target),
            () => lastPanel(f, m, source, row, target, count),
          );
          f.step(source, i32.mul(row, columns));
          f.step(target, 4 * columns * spec.dk);
        });
      });
    },
  );

  /** Four keys at a time: four vectors along d become four along the keys. */
  function wholePanel(
    f: FunctionBuilder,
    m: Arithmetic,
    source: Local<"i32">,
    row: Local<"i32">,
    target: Local<"i32">,
  ): void {
    const quads = spec.dk - (spec.dk % 4);
    for (let column = 0; column < columns; column += 4) {
      const at = Array.from({ length: 4 }, (_, n) => f.int(i32.add(source, i32.mul(row, column + n))));
      const d = f.local("i32");
      const to = f.int(i32.add(target, 4 * column));
      f.count(d, 0, quads, 4, () => {
        const four = at.map((x) => f.let(loadFloats(f, m, spec.key, x)));
        transpose4(f, four).forEach((x, n) => f.storeVector(to, x, 4 * n * columns));
        for (const x of at) f.step(x, 4 * bytes);
        f.step(to, 16 * columns);
      });
      for (let tail = quads; tail < spec.dk; tail++) {
        at.forEach((x, n) => {
          const one = f32x4.extract_lane(loadOne(f, m, spec.key, x, (tail - quads) * bytes), 0);
          f.store("f32.store", to, one, 4 * columns * (tail - quads) + 4 * n);
        });
      }
    }
  }

  /** A last, incomplete panel: its other columns are zero. */
  function lastPanel(
    f: FunctionBuilder,
    m: Arithmetic,
    source: Local<"i32">,
    row: Local<"i32">,
    target: Local<"i32">,
    count: Local<"i32">,
  ): void {
    const column = f.local("i32");
    const d = f.local("i32");
    f.count(d, 0, 4 * columns * spec.dk, 16, () => f.storeVector(i32.add(target, d), ZERO));
    const from = f.int(source);
    f.count(column, 0, count, 1, () => {
      const to = f.int(i32.add(target, i32.shl(column, 2)));
      f.count(d, 0, spec.dk, 1, () => {
        const at = i32.add(from, i32.shl(d, Math.log2(bytes)));
        f.store("f32.store", to, f32x4.extract_lane(loadOne(f, m, spec.key, at), 0));
        f.step(to, 4 * columns);
      });
      f.step(from, row);
    });
  }

  const width = paddedValue(spec);
  const rows = module.func(
    "values",
    ["source", "row", "count", "target"],
    (f, { source, row, count, target }) => {
      withConstants(f, spec, (m) => {
        f.down(count, 1, () => {
          copyRow(f, m, spec.value, spec.dv, source, target);
          for (let e = spec.dv; e < width; e++) f.store("i32.store", target, 0, 4 * e);
          f.step(source, row);
          f.step(target, 4 * width);
        });
      });
    },
  );

  module.func(
    "run",
    ["task", "workspace"],
    (f, { task }) => {
      const word = (at: number): I32Value => i32.load(task, at);
      f.when(word(PackStruct.target), () =>
        f.call(
          keys,
          word(PackStruct.source),
          word(PackStruct.row),
          word(PackStruct.keys),
          word(PackStruct.target),
        ),
      );
      f.when(word(PackStruct.valueTarget), () =>
        f.call(
          rows,
          word(PackStruct.valueSource),
          word(PackStruct.valueRow),
          word(PackStruct.keys),
          word(PackStruct.valueTarget),
        ),
      );
    },
    { exported: true },
  );
  return module.encode();
}

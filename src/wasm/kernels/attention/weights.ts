/**
 * The weights kernel: finished weights p = e^(s − lse) of a tile of query rows, rebuilt from lse, one tile of keys at a time. The
 * same products, masks and exp2 as in the forward kernel:
 *
 *   for each tile of keys:   1 s = q·kᵀ   2 score mods and masks   3 p = e^(s − lse), written to its row of the result
 */

import { i32, ModuleBuilder } from "../../assembler/index.ts";
import { workspaceOf } from "../../codegen/layout.ts";
import type { Spec } from "../../codegen/spec.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import { scores } from "./products.ts";
import { beginRows, eachScoreTile } from "./row-tile.ts";
import { finishedWeights, updateRowMax } from "./softmax.ts";

/** Bytes of the module; it exports `run(task, workspace)`. */
export function weights(spec: Spec): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder(spec);
  const space = workspaceOf(spec);
  const scoreProduct = scores(module, spec);
  const rowMax = updateRowMax(module, spec, false);
  const maskedRowMax = updateRowMax(module, spec, true);
  const exponential = finishedWeights(module, spec);
  module.func(
    "run",
    ["task", "workspace"],
    (f, { task, workspace: ws }) => {
      const rows = beginRows(f, spec, space, task, ws);
      // Without score mods and float masks a full tile needs no second pass: its scores are the products.
      const passes = {
        scoreProduct,
        maskedRowMax,
        ...((spec.score || spec.tensors.includes("float")) && { rowMax }),
      };
      eachScoreTile(f, spec, task, rows, passes, ({ key, columns }) => {
        const outRow = i32.load(rows.call, CallStruct.outRow);
        const out = i32.add(i32.load(task, TaskStruct.out), i32.shl(f.int(i32.sub(key, rows.keyBase)), 2));
        const lse = i32.load(task, TaskStruct.lse);
        // 3 p = e^(s − lse)
        f.call(exponential, {
          task,
          s: rows.s,
          lse,
          rows: rows.count,
          row: rows.row0,
          key,
          columns,
          out,
          outRow,
        });
      });
    },
    { exported: true },
  );
  return module.encode();
}

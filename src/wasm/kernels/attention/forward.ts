/**
 * The forward kernel: softmax(Q·Kᵀ)·V of a tile of query rows, one tile of keys at a time (FlashAttention-2's order: queries
 * outer, keys inner). The passes and letters are those of reference/online.ts:
 *
 *   for each tile of keys:   1 s = q·kᵀ   2 m, α from max s   3 p = e^(s − m)   4 l = α·l + Σp   5 o = α·o + p·v
 *   at the end:              out = o / l, lse = m + ln l
 *
 * Queries are read where they are stored; keys are packed (pack.ts), values are in rows. The task's runs omit tiles that the
 * mask leaves empty; full tiles take the path without a predicate.
 */

import { callValue, i32, ModuleBuilder, v128 } from "../../assembler/index.ts";
import { paddedRows, statStride, workspaceOf } from "../../codegen/layout.ts";
import type { Spec } from "../../codegen/spec.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import { finite, scores, values, visibleValues } from "./products.ts";
import { beginRows, beginState, eachScoreTile, endState, finishRows, sinkRows } from "./row-tile.ts";
import { exponentiate, updateRowMax, updateRowSum } from "./softmax.ts";

/** Bytes of the module; it exports `run(task, workspace)`. */
export function forward(spec: Spec): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder(spec);
  const space = workspaceOf(spec);
  const selective = spec.mask !== undefined || spec.tensors.length > 0;

  const scoreProduct = scores(module, spec);
  const rowMax = updateRowMax(module, spec, false);
  // A last tile that ends between panels is masked too, so every kernel has the masked path.
  const maskedRowMax = updateRowMax(module, spec, true);
  const exponential = exponentiate(module, spec);
  const rowSum = spec.dropout ? undefined : updateRowSum(module, spec);
  const valueProduct = values(module, spec);
  const nanSafe = selective
    ? { finite: finite(module, spec), values: visibleValues(module, spec) }
    : undefined;

  module.func(
    "run",
    ["task", "workspace"],
    (f, { task, workspace: ws }) => {
      const rows = beginRows(f, spec, space, task, ws);
      const { call, s, stats, vRow } = rows;
      beginState(f, spec, space, task, ws);
      const sinks = f.int(i32.load(task, TaskStruct.sinks));
      f.when(i32.and(i32.ne(sinks, 0), i32.and(i32.load(task, TaskStruct.flags), 1)), () =>
        sinkRows(f, spec, space, ws, sinks, f.int(0), rows.count),
      );

      eachScoreTile(f, spec, task, rows, { scoreProduct, rowMax, maskedRowMax }, (tile) => {
        // 1 s = q·kᵀ, and 2 m, α from max s: eachScoreTile
        const { key, width, columns, masked } = tile;
        const v = f.int(i32.add(i32.load(task, TaskStruct.value), i32.mul(i32.sub(key, rows.keyBase), vRow)));
        const o = i32.add(ws, space.output);
        const alpha = i32.add(stats, 2 * statStride(spec));
        const softmax = () => {
          // 3 p = e^(s − m), in place
          f.call(exponential, { task, s, stats, rows: rows.count, row: rows.row0, key, columns });
          // 4 l = α·l + Σp; with dropout, pass 3 sums before it drops
          if (rowSum) f.call(rowSum, { s, stats, rows: rows.count, columns });
        };
        const fast = () => {
          softmax();
          // 5 o = α·o + p·v
          f.call(valueProduct, { p: s, v, vRow, o, alpha, keys: width, groups: rows.groups });
        };
        if (!nanSafe) {
          fast();
          return;
        }
        // Only a masked tile whose values are not all finite takes the NaN-safe path.
        const slow = f.int(0);
        f.when(masked, () => f.set(slow, i32.eqz(callValue(nanSafe.finite, { v, vRow, keys: width }))));
        f.when(
          slow,
          () => {
            const rawScores = f.int(i32.add(ws, space.rawScores));
            const n = f.local("i32");
            f.count(n, 0, paddedRows(spec) * spec.keyTile * 4, 16, () =>
              f.storeVector(i32.add(rawScores, n), v128.load(i32.add(s, n))),
            );
            softmax();
            // 5 o = α·o + p·v over the visible keys alone
            const sums = i32.add(ws, space.sums);
            f.call(nanSafe.values, {
              p: s,
              rawScores,
              v,
              vRow,
              o,
              alpha,
              keys: width,
              rows: rows.count,
              sums,
            });
          },
          fast,
        );
      });

      // out = o / l, lse = m + ln l
      endState(f, spec, space, task, ws, (o, at, lse) => {
        const out = f.int(i32.load(task, TaskStruct.out));
        finishRows(f, spec, o, at, lse, out, call, rows.count);
      });
    },
    { exported: true },
  );
  return module.encode();
}

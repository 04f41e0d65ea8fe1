/**
 * The forward kernel: softmax(Q·Kᵀ)·V of a block of query rows, one tile of keys at a time (FlashAttention-2's order:
 * queries outer, keys inner). The same letters as reference/online.ts:
 *
 *   for each tile of keys:   s = q·kᵀ      m, α ← max      p = e^(s − m)      l = α·l + Σp      o = α·o + p·v
 *   at the end:              out = o / l   lse = m + ln l
 *
 * Queries are read from memory as they lie; keys come packed (pack.ts), values in rows. Tiles the
 * mask leaves empty are not in the task's runs; full ones take the path without a predicate.
 */
import { callValue, i32, ModuleBuilder, v128 } from "../assembler/index.ts";
import { CallStruct, paddedRows, statStride, TaskStruct, workspaceOf } from "../codegen/layout.ts";
import { panelOf, type Spec } from "../codegen/spec.ts";
import { finite, queryRowBytes, scores, values, visibleValues } from "./products.ts";
import {
  beginState,
  clear,
  eachTile,
  endState,
  finishRows,
  loadQueries,
  maskSpan,
  scanTensors,
  sinkRows,
} from "./row-tile.ts";
import { exponentiate, finishedWeights, updateRowMax, updateRowSum } from "./softmax.ts";

/** The memory every kernel imports: at least one page, at most 4 GiB. */
export const memoryImport = (spec: { shared: boolean }) => ({
  initial: 1,
  maximum: 65536,
  shared: spec.shared,
});

/** Bytes of the module; it exports `run(task, workspace)`. */
export function forward(spec: Spec): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder(memoryImport(spec), { scoped: spec.wide });
  const space = workspaceOf(spec);
  const panel = panelOf(spec.tile);
  const weights = spec.kind === "weights";
  const selective = spec.mask !== undefined || spec.tensors.length > 0;
  const stride = statStride(spec);

  const product = scores(module, spec);
  const plainMaxima = updateRowMax(module, spec, false);
  // A last tile that ends between panels is masked too, so every kernel has the masked path.
  const maskedMaxima = updateRowMax(module, spec, true);
  const exponent = weights ? finishedWeights(module, spec) : exponentiate(module, spec);
  const total = weights || spec.dropout ? undefined : updateRowSum(module, spec);
  const accumulate = weights ? undefined : values(module, spec);
  const nanSafe =
    weights || !selective ? undefined : { finite: finite(module, spec), values: visibleValues(module, spec) };

  module.func(
    "run",
    ["i32", "i32"],
    (f, task, ws) => {
      const call = f.int(i32.load(task, TaskStruct.call));
      const rows = f.int(i32.load(task, TaskStruct.rows));
      const groups = f.int(i32.div_s(i32.add(rows, spec.tile.rows - 1), spec.tile.rows));
      const head = f.int(i32.load(task, TaskStruct.head));
      const row0 = f.int(i32.load(task, TaskStruct.row0));
      const keyBase = f.int(i32.load(task, TaskStruct.keyBase));
      const queries = f.int(i32.add(ws, space.queries));
      const s = f.int(i32.add(ws, space.scores));
      const stats = f.int(i32.add(ws, space.stats));
      const scratch = f.int(i32.add(ws, space.scratch));
      const vRow = f.int(i32.load(call, CallStruct.valueRow));

      const target = f.int(queries);
      loadQueries(f, spec, call, f.int(i32.load(task, TaskStruct.query)), target, rows);
      const padding = f.int(i32.sub(i32.mul(groups, spec.tile.rows), rows));
      // Rows of dk numbers, perhaps not a multiple of four: the workspace leaves room behind them.
      f.when(padding, () => clear(f, target, i32.mul(padding, queryRowBytes(spec))));
      if (!weights) {
        beginState(f, spec, space, task, ws);
        const sinks = f.int(i32.load(task, TaskStruct.sinks));
        f.when(i32.and(i32.ne(sinks, 0), i32.and(i32.load(task, TaskStruct.flags), 1)), () =>
          sinkRows(f, spec, space, ws, sinks, f.int(0), rows),
        );
      }

      eachTile(f, spec, task, (key, end, partial, run) => {
        const width = f.int(i32.sub(end, key));
        const panels = f.int(i32.div_s(i32.add(width, panel - 1), panel));
        const columns = f.int(i32.mul(panels, panel));
        const masked = f.int(i32.or(i32.ne(partial, 0), i32.ne(columns, width)));
        f.block((leave) => {
          if (spec.tensors.length > 0) {
            const scan = scanTensors(f, spec, task, call, rows, key, end);
            leave(i32.eqz(scan.some));
            f.set(masked, i32.or(masked, i32.eqz(scan.all)));
          }
          const from = i32.sub(key, keyBase);
          const k = i32.add(i32.load(task, TaskStruct.key), i32.mul(from, 4 * spec.dk));
          f.call(product, queries, k, s, panels, groups);
          const first = f.int(0);
          const operands = [task, scratch, s, stats, rows, head, row0, key, columns, first] as const;
          f.when(
            masked,
            () => {
              const span = maskSpan(f, spec, run, key, width, columns);
              f.call(maskedMaxima, ...operands, span.from, span.to);
            },
            () => {
              // Weights are exp(s − lse): without a change of the score there is nothing to do before.
              if (!weights || spec.score || spec.tensors.includes("float"))
                f.call(plainMaxima, ...operands, 0, 0);
            },
          );
          if (weights) {
            const outRow = i32.load(call, CallStruct.outRow);
            const out = i32.add(i32.load(task, TaskStruct.out), i32.shl(f.int(i32.sub(key, keyBase)), 2));
            f.call(exponent, task, s, i32.load(task, TaskStruct.lse), rows, row0, key, columns, out, outRow);
            return;
          }
          const v = f.int(i32.add(i32.load(task, TaskStruct.value), i32.mul(i32.sub(key, keyBase), vRow)));
          const output = i32.add(ws, space.output);
          const alpha = i32.add(stats, 2 * stride);
          const exponentiate = () => {
            f.call(exponent, task, s, stats, rows, row0, key, columns);
            if (total) f.call(total, s, stats, rows, columns);
          };
          const plain = () => {
            exponentiate();
            f.call(accumulate as NonNullable<typeof accumulate>, s, v, vRow, output, alpha, width, groups);
          };
          if (!nanSafe) plain();
          else {
            // Only a masked tile whose values are not all finite takes the slow road.
            const slow = f.int(0);
            f.when(masked, () => f.set(slow, i32.eqz(callValue(nanSafe.finite, v, vRow, width))));
            f.when(
              slow,
              () => {
                const kept = f.int(i32.add(ws, space.rawScores));
                const n = f.local("i32");
                f.count(n, 0, paddedRows(spec) * spec.keyTile * 4, 16, () =>
                  f.storeVector(i32.add(kept, n), v128.load(i32.add(s, n))),
                );
                exponentiate();
                const sums = i32.add(ws, space.sums);
                f.call(nanSafe.values, s, kept, v, vRow, output, alpha, width, rows, sums);
              },
              plain,
            );
          }
        });
      });

      if (!weights)
        endState(f, spec, space, task, ws, (o, at, lse) => {
          const out = f.int(i32.load(task, TaskStruct.out));
          finishRows(f, spec, o, at, lse, out, call, rows);
        });
    },
    { exported: true },
  );
  return module.encode();
}

/**
 * The backward kernel (Dao 2023, FlashAttention-2, algorithm 2): weights are recomputed from lse, tile by tile. A task
 * computes some rows against some keys of one key head; its letters are those of reference/backward.ts:
 *
 *   for each tile of rows, each query head of the group:   1 q, do, lse copied in, δ = do·o
 *     for each tile of keys:   2 s = q·kᵀ   3 dp = do·vᵀ   4 p = e^(s − lse), ds = p ∘ (dp − δ)
 *                              5 dv += pᵀ·do   6 dk += scale·dsᵀ·q   7 dq += scale·ds·k
 *
 * Queries and dO are copied into the workspace; keys and values are packed (pack.ts), keys also in rows. Gradients
 * are accumulated in memory. Tasks with the same rows or the same keys must not run at the same time, and the order
 * in which they run is the order of the sums: wasm/attention/backward/plan.ts ensures both.
 */

import { callValue, type I32Value, i32, type Local, ModuleBuilder } from "../../assembler/index.ts";
import { backwardSpaceOf, NEW_KEYS, NEW_ROWS, paddedKey, paddedValue } from "../../codegen/layout.ts";
import { panelOf, type Spec, stripOf, targetsOf } from "../../codegen/spec.ts";
import * as BackwardStruct from "../../codegen/structs/backward.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import { loadRows } from "./backward-rows.ts";
import { targetWord } from "./bias-gradients.ts";
import { finite, scores } from "./products.ts";
import { accumulateProduct, accumulateVisibleProduct, type ProductUpdate } from "./products-backward.ts";
import { clear, eachTile, maskSpan, scanTensors } from "./row-tile.ts";
import { backwardSoftmax } from "./softmax-backward.ts";

/** `n` rounded up to a multiple of `step` at run time. */
const upTo = (n: I32Value, step: number): I32Value => i32.mul(i32.div_s(i32.add(n, step - 1), step), step);

/** Bytes of the module; it exports `run(task, workspace)`. */
// long: the seven numbered passes are read in one piece, with the letters of the formula.
export function backward(spec: Spec): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder(spec);
  const { tile } = spec;
  const space = backwardSpaceOf(spec);
  const [panel, strip] = [panelOf(tile), stripOf(tile)];
  const [keyColumns, valueColumns] = [paddedKey(spec), paddedValue(spec)];
  const selective = spec.mask !== undefined || spec.tensors.length > 0;

  const product = scores(module, spec, { name: "scores", depth: spec.dk, row: 4 * keyColumns });
  const valueProduct = scores(module, spec, {
    name: "weightGradients",
    depth: spec.dv,
    row: 4 * valueColumns,
  });
  const plainSoftmax = backwardSoftmax(module, spec, false);
  // A last tile that ends between strips is masked too, so every kernel has the masked path.
  const maskedSoftmax = backwardSoftmax(module, spec, true);
  const sums: readonly ProductUpdate[] = [
    { name: "dValue", transposed: true, columns: valueColumns },
    { name: "dKey", transposed: true, columns: keyColumns, factor: CallStruct.unit },
    { name: "dQuery", transposed: false, columns: keyColumns, factor: CallStruct.factor },
  ];
  const [dValue, dKey, dQuery] = sums.map((of) => accumulateProduct(module, spec, of));
  const nanSafe = selective && {
    sums: sums.map((of) => accumulateVisibleProduct(module, spec, of)),
    keys: finite(module, spec, "finiteKeys", keyColumns),
    values: finite(module, spec, "finiteValues", valueColumns),
  };
  const copyIn = loadRows(module, spec);

  module.func(
    "run",
    ["task", "ws"],
    // long: the body of the kernel.
    (f, { task, ws }) => {
      const word = (at: number): I32Value => i32.load(task, at);
      const call = f.int(word(BackwardStruct.call));
      const unit = f.int(i32.add(ws, space.task));
      const [queries, dOutput, s, ds, visible, stats, scratch] = [
        space.queries,
        space.dOutput,
        space.scores,
        space.dScores,
        space.visible,
        space.stats,
        space.sums,
      ].map((at) => f.int(i32.add(ws, at)));
      const [tileRow, g, rows, dq, dirty] = Array.from({ length: 5 }, () => f.local("i32"));
      const set = (at: number, value: I32Value) => f.store("i32.store", unit, value, at);

      begin();
      f.count(tileRow, 0, word(BackwardStruct.rows), spec.rowTile, () => {
        f.set(rows, i32.sub(word(BackwardStruct.rows), tileRow));
        f.when(i32.gt_s(rows, spec.rowTile), () => f.set(rows, spec.rowTile));
        f.count(g, 0, word(BackwardStruct.heads), 1, () => {
          const down = i32.mul(i32.div_s(tileRow, spec.rowTile), word(BackwardStruct.indexBlock));
          const across = i32.mul(g, word(BackwardStruct.indexHead));
          const entry = f.int(i32.add(word(BackwardStruct.index), i32.add(down, across)));
          f.when(i32.load(entry, 4), () => {
            describe(entry);
            f.set(dq, i32.add(word(BackwardStruct.dQuery), i32.mul(g, word(BackwardStruct.dQueryHead))));
            f.set(dq, i32.add(dq, i32.mul(tileRow, 4 * keyColumns)));
            // 1 q, do, −lse, δ = do·o
            f.call(copyIn, { task, ws, block: tileRow, g, rows });
            if (nanSafe) {
              const clean = i32.and(
                callValue(nanSafe.keys, queries, 4 * keyColumns, rows),
                callValue(nanSafe.values, dOutput, 4 * valueColumns, rows),
              );
              f.set(dirty, i32.eqz(clean));
            }
            eachTile(f, spec, unit, visit);
          });
        });
      });

      /** Writes the words that are the same for all tiles of the task, and zeroes gradients that start here. */
      function begin(): void {
        set(TaskStruct.call, call);
        set(TaskStruct.batch, word(BackwardStruct.batch));
        set(TaskStruct.offset, word(BackwardStruct.offset));
        set(TaskStruct.keyBase, word(BackwardStruct.keyBase));
        const at = f.local("i32");
        f.when(i32.and(word(BackwardStruct.flags), NEW_ROWS), () => {
          f.count(g, 0, word(BackwardStruct.heads), 1, () => {
            f.set(at, i32.add(word(BackwardStruct.dQuery), i32.mul(g, word(BackwardStruct.dQueryHead))));
            clear(f, at, i32.mul(upTo(word(BackwardStruct.rows), tile.rows), 4 * keyColumns));
          });
        });
        f.when(i32.and(word(BackwardStruct.flags), NEW_KEYS), () => {
          const keys = f.int(upTo(word(BackwardStruct.keys), strip));
          f.set(at, word(BackwardStruct.dKey));
          clear(f, at, i32.mul(keys, 4 * keyColumns));
          f.set(at, word(BackwardStruct.dValue));
          clear(f, at, i32.mul(keys, 4 * valueColumns));
        });
      }

      /** Writes the current tile of rows and head as the words of a forward task, which masks and score mods read. */
      function describe(entry: Local<"i32">): void {
        set(TaskStruct.rows, rows);
        set(TaskStruct.row0, i32.add(word(BackwardStruct.row0), tileRow));
        set(TaskStruct.head, i32.add(word(BackwardStruct.head), g));
        set(TaskStruct.runs, i32.load(entry));
        set(TaskStruct.runCount, i32.load(entry, 4));
        if (spec.dropout)
          set(TaskStruct.dropKey, i32.load(i32.add(word(BackwardStruct.dropKeys), i32.shl(g, 2))));
        for (let n = 0; spec.biasGradients && n < targetsOf(spec.biasGradients); n++) {
          const [at, head, row] = [0, 4, 8].map((byte) => i32.load(word(BackwardStruct.sums), 12 * n + byte));
          set(targetWord(n), i32.add(at, i32.add(i32.mul(g, head), i32.mul(tileRow, row))));
          set(targetWord(n) + 4, row);
        }
        spec.tensors.forEach((_, n) => {
          const down = i32.mul(tileRow, i32.load(call, CallStruct.tensorRow + 4 * n));
          const across = i32.mul(g, word(BackwardStruct.tensorHead + 4 * n));
          set(TaskStruct.tensor + 4 * n, i32.add(word(BackwardStruct.tensor + 4 * n), i32.add(down, across)));
        });
      }

      /** One tile of keys: `key` … `end`. */
      function visit(key: Local<"i32">, end: Local<"i32">, partial: I32Value, run: Local<"i32">): void {
        const width = f.int(i32.sub(end, key));
        const panels = f.int(i32.div_s(i32.add(width, panel - 1), panel));
        // Keys in strips of the register tile; columns after the panels are masked, whatever their values.
        const strips = f.int(i32.div_s(i32.add(i32.mul(panels, panel), tile.rows - 1), tile.rows));
        const columns = f.int(upTo(i32.mul(strips, tile.rows), 8));
        const groups = f.int(i32.div_s(i32.add(rows, tile.rows - 1), tile.rows));
        const masked = f.int(i32.or(i32.ne(partial, 0), i32.ne(columns, width)));
        const from = f.int(i32.sub(key, word(BackwardStruct.keyBase)));
        f.block((leave) => {
          if (spec.tensors.length > 0) {
            const scan = scanTensors(f, spec, unit, call, rows, key, end);
            leave(i32.eqz(scan.some));
            f.set(masked, i32.or(masked, i32.eqz(scan.all)));
          }
          const k = i32.add(word(BackwardStruct.key), i32.mul(from, 4 * spec.dk));
          // 2 s = q·kᵀ
          f.call(product, { q: queries, k, s, panels, groups });
          const v = i32.add(word(BackwardStruct.value), i32.mul(from, 4 * spec.dv));
          // 3 dp = do·vᵀ, in the memory of ds
          f.call(valueProduct, { q: dOutput, k: v, s: ds, panels, groups });
          const row0 = i32.load(unit, TaskStruct.row0);
          // 4 p = e^(s − lse), ds = p ∘ (dp − δ), in place
          const operands = { task: unit, s, ds, visible, stats, rows, row: row0, key, columns };
          f.when(
            masked,
            () => {
              const span = maskSpan(f, spec, run, key, width, columns);
              f.call(maskedSoftmax, { ...operands, from: span.from, to: span.to });
            },
            () => f.call(plainSoftmax, { ...operands, from: 0, to: 0 }),
          );
          const keyRow = f.int(word(BackwardStruct.keyRow));
          const keyRows = f.int(i32.add(word(BackwardStruct.keyRows), i32.mul(from, keyRow)));
          const dv = f.int(i32.add(word(BackwardStruct.dValue), i32.mul(from, 4 * valueColumns)));
          const dk = f.int(i32.add(word(BackwardStruct.dKey), i32.mul(from, 4 * keyColumns)));
          const fast = () => {
            const overRows = { factors: call, inner: rows, groups: strips };
            // 5 dv += pᵀ·do
            f.call(dValue, { a: s, b: dOutput, bRow: 4 * valueColumns, c: dv, ...overRows });
            // 6 dk += scale·dsᵀ·q
            f.call(dKey, { a: ds, b: queries, bRow: 4 * keyColumns, c: dk, ...overRows });
            // 7 dq += scale·ds·k
            f.call(dQuery, { a: ds, b: keyRows, bRow: keyRow, c: dq, factors: call, inner: width, groups });
          };
          if (!nanSafe) return fast();
          // Only a masked tile whose operands are not all finite takes the NaN-safe path: 5 to 7 over the visible cells.
          const slow = f.int(0);
          f.when(masked, () =>
            f.set(slow, i32.or(dirty, i32.eqz(callValue(nanSafe.keys, keyRows, keyRow, width)))),
          );
          f.when(
            slow,
            () => {
              const [kv, kk, kq] = nanSafe.sums;
              const overRows = { visible, factors: call, inner: rows, rows: width, sums: scratch };
              f.call(kv, { a: s, b: dOutput, bRow: 4 * valueColumns, c: dv, ...overRows });
              f.call(kk, { a: ds, b: queries, bRow: 4 * keyColumns, c: dk, ...overRows });
              const overKeys = { visible, factors: call, inner: width, rows, sums: scratch };
              f.call(kq, { a: ds, b: keyRows, bRow: keyRow, c: dq, ...overKeys });
            },
            fast,
          );
        });
      }
    },
    { exported: true },
  );
  return module.encode();
}

/**
 * The backward pass of the softmax of a tile (Dao 2023, FlashAttention-2, algorithm 2): from the scores s and the products
 * dp = do·v of a tile
 *
 *   p = e^(s − lse)      ds = p ∘ (dp − δ),  δ = do·o of the row      with dropout, p and dp are multiplied by the cell's factor
 *
 * p overwrites s, ds overwrites dp, times the derivative of the score mod. In a masked cell both are 0, whatever their values
 * were. A fully masked row is stored with −lse = −∞, so its weights are 0.
 */

import type { NumberExpression } from "../../../masks/expression/expr.ts";
import type { Func, I32Value, Local, ModuleBuilder, V128Value } from "../../assembler/index.ts";
import { f32x4, i32, v128 } from "../../assembler/index.ts";
import { statStride } from "../../codegen/layout.ts";
import { type Arithmetic, weightEach, withConstants } from "../../codegen/math.ts";
import { poolOf, RowCompiler } from "../../codegen/score.ts";
import { expressionsOf, type Spec, scoreModDerivatives } from "../../codegen/spec.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import { RowSums } from "./bias-gradients.ts";
import { beginDropout } from "./dropout.ts";
import { eachSpan, ScoreRow } from "./score-row.ts";

/** The derivative of the score mod, and the derivatives and the indices of the sums of a spec, for two vectors of keys. */
interface ScoreChanges {
  derivative?: readonly V128Value[];
  derivatives: readonly (readonly V128Value[] | undefined)[];
  indices: readonly (readonly V128Value[])[];
}

/**
 * backwardSoftmax(task, s, ds, kept, stats, rows, row, key, columns, from, to): p and ds of the rows of a tile, in place. `stats`
 * holds −lse and δ of each row. The masked variant evaluates the mask for columns `from` … `to` and stores in `kept` which
 * cells are visible.
 */
// long: one cell is read from the scores to its stores in one place, with the loops around it.
export function backwardSoftmax(module: ModuleBuilder, spec: Spec, masked: boolean): Func {
  const pool = poolOf(expressionsOf(spec));
  const rowBytes = 4 * spec.keyTile;
  return module.func(
    masked ? "backwardSoftmaxMasked" : "backwardSoftmax",
    ["task", "s", "ds", "visible", "stats", "rows", "row", "key", "columns", "from", "to"],
    // long: the body of the kernel.
    (f, { task, s, ds, visible, stats, rows, row, key, columns, from, to }) => {
      const call = f.int(i32.load(task, TaskStruct.call));
      const [at, dsAt, keptAt, first] = [0, 1, 2, 3].map(() => f.local("i32"));
      const cells = new ScoreRow(f, spec, task, call, masked);
      const dropout = spec.dropout ? beginDropout(f, spec, task) : undefined;
      const sums = spec.biasGradients && new RowSums(f, task, spec.biasGradients);
      f.set(first, 0);
      withConstants(f, spec, (m) => {
        const inRegister = (offset: number) =>
          spec.wide ? undefined : f.let(v128.load32_splat(call, offset));
        const unit = inRegister(CallStruct.unit);

        /** Columns `start` … `stop` of one row, if there are any. */
        const span = (compiler: RowCompiler, start: I32Value, stop: I32Value, ask: boolean): void => {
          const begin = f.int(start);
          const across = f.int(i32.shl(begin, 2));
          f.set(at, i32.add(s, across));
          f.set(dsAt, i32.add(ds, across));
          if (masked) f.set(keptAt, i32.add(visible, across));
          const end = f.int(i32.add(s, i32.shl(stop, 2)));
          const total = f.let(v128.load32_splat(stats));
          const delta = f.let(v128.load32_splat(stats, statStride(spec)));
          cells.begin(m, key, begin, first, ask);
          sums?.begin(key, begin);
          f.loop(
            () => i32.ne(at, end),
            () => {
              cell(m, compiler, total, delta);
              cells.next(m);
              dropout?.next(m);
              sums?.next();
              f.step(at, 32);
              f.step(dsAt, 32);
              if (masked) f.step(keptAt, 32);
            },
          );
        };

        /** Eight cells, each step for both vectors, so that wide kernels widen them; stores after all loads. */
        const cell = (
          m: Arithmetic,
          compiler: RowCompiler,
          total: Local<"v128">,
          delta: Local<"v128">,
        ): void => {
          const each = (values: readonly V128Value[], step: (x: V128Value, half: number) => V128Value) =>
            values.map((x, half) => f.let(step(x, half)));
          const scores = [0, 1].map((half) => f.let(v128.load(at, 16 * half)));
          const product = [0, 1].map((half) => f.let(v128.load(dsAt, 16 * half)));
          const changes: ScoreChanges = { derivatives: [], indices: [] };
          const allowed = cells.change(m, compiler, scores, (values) => {
            // Derivatives may be the score itself, which is overwritten then.
            const vectors = (x: NumberExpression | undefined) =>
              x &&
              compiler
                .vectors(x, cells.keys, scores, values)
                .map((value) => (scores.includes(value as Local<"v128">) ? f.let(value) : value));
            changes.derivative = vectors(spec.scoreDerivative);
            if (!spec.biasGradients) return;
            changes.derivatives = scoreModDerivatives(spec.biasGradients).map(vectors);
            changes.indices = spec.biasGradients.tables.map(({ read }) => {
              const args = read.args.map((x) => compiler.vectors(x, cells.keys, undefined, values));
              return cells.keys.map((_, n) =>
                f.let(compiler.flat(read, (axis) => compiler.clamped(read, axis, args[axis][n]))),
              );
            });
          });
          const { derivative, derivatives, indices } = changes;
          const worth = unit ?? f.let(v128.load32_splat(call, CallStruct.unit));
          // In two roundings, as for the maximum in lse: the weight of a key that has all of it is then exactly 1.
          const scaled = each(scores, (x) => f32x4.mul(x, worth));
          const below = each(scaled, (x) => f32x4.add(x, total));
          const log2e = f.once(m.c(Math.LOG2E));
          const p = weightEach(
            f,
            m,
            each(below, (x) => f32x4.mul(x, log2e)),
          );
          const factor = dropout && [0, 1].map((half) => f.let(dropout.factor(m, half)));
          const dp = factor ? each(product, (x, half) => f32x4.mul(x, factor[half])) : product;
          const difference = each(dp, (x) => f32x4.sub(x, delta));
          let d = each(difference, (x, half) => f32x4.mul(p[half], x));
          if (sums) {
            const dScores = allowed ? each(d, (x, half) => v128.and(x, allowed[half])) : d;
            sums.add(dScores, derivatives, indices, allowed);
          }
          if (derivative) d = each(d, (x, half) => f32x4.mul(x, derivative[half]));
          let w = factor ? each(p, (x, half) => f32x4.mul(x, factor[half])) : p;
          if (allowed) {
            d = each(d, (x, half) => v128.and(x, allowed[half]));
            w = each(w, (x, half) => v128.and(x, allowed[half]));
          }
          w.forEach((x, half) => f.storeVector(at, x, 16 * half));
          d.forEach((x, half) => f.storeVector(dsAt, x, 16 * half));
          if (!masked) return;
          const zero = f.once(m.bits(0));
          const cellMasks = allowed ?? [0, 1].map(() => f.let(f32x4.eq(zero, zero)));
          cellMasks.forEach((x, half) => f.storeVector(keptAt, x, 16 * half));
        };

        f.down(rows, 1, () => {
          const compiler = new RowCompiler(f, m, pool, spec.inBounds, {
            call,
            b: i32.load(task, TaskStruct.batch),
            h: i32.load(task, TaskStruct.head),
            i: row,
            q: i32.add(row, i32.load(task, TaskStruct.offset)),
          });
          const { mask: _, ...unmasked } = spec;
          compiler.begin(expressionsOf(masked ? spec : unmasked));
          sums?.beginRow(m);
          dropout?.row(m, row, key);
          if (masked && dropout) span(compiler, f.int(0), columns, true);
          else
            eachSpan(f, columns, masked ? { from, to } : undefined, (start, stop, ask) =>
              span(compiler, start, stop, ask),
            );
          sums?.endRow();
          f.step(s, rowBytes);
          f.step(ds, rowBytes);
          if (masked) f.step(visible, rowBytes);
          f.step(stats, 4);
          f.step(row, 1);
          f.step(first, 1);
        });
      });
    },
  );
}

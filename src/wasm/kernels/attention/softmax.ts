/**
 * The softmax of a tile, one key tile at a time (Milakov & Gimelshein 2018; FlashAttention, Dao et al. 2022):
 *
 *   m' = max(m, max s)     α = e^(m − m')     p = e^(s − m')     l' = α·l + Σ p
 *
 * exp is exp2 of the difference times a factor that includes the scale, so a score is the plain product q·k and is compared with
 * its maximum without rounding. l is summed key by key, in the order of the value product: then the output of equal values is
 * that value, whatever the weights. A row without visible keys has m = −∞; the differences then use 0 instead of m', which
 * avoids −∞ − (−∞): every p is 0.
 */

import type { Func, FunctionBuilder, I32Value, ModuleBuilder, V128Value } from "../../assembler/index.ts";
import { f32, f32x4, i32, shuffle32, v128, ZERO } from "../../assembler/index.ts";
import { paddedRows, statStride } from "../../codegen/layout.ts";
import { type Arithmetic, exp2, maddOf, weightEach, withConstants } from "../../codegen/math.ts";
import { poolOf, RowCompiler } from "../../codegen/score.ts";
import { expressionsOf, type Spec } from "../../codegen/spec.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import { sumLanes, transpose4 } from "../lanes.ts";
import { beginDropout } from "./dropout.ts";
import { eachSpan, ScoreRow } from "./score-row.ts";

/** The eight numbers at `scratch`, reduced by `op`, in all lanes. */
function reduceLanes(
  scratch: I32Value,
  op: (a: V128Value, b: V128Value) => V128Value,
  f: FunctionBuilder,
): V128Value {
  const four = f.let(op(v128.load(scratch), v128.load(scratch, 16)));
  const pair = f.let(op(four, shuffle32(four, four, [2, 3, 0, 1])));
  return op(pair, shuffle32(pair, pair, [1, 0, 3, 2]));
}

/**
 * updateRowMax(task, scratch, s, stats, rows, head, row, key, columns, first, from, to): applies score mods and masks to the scores
 * of a tile in place, and updates m and α of its rows. `head` and `row` are those of the first row, `key` that of the first
 * column, `columns` is a multiple of 8; `first` is the index of the first row within the task. The masked variant evaluates
 * the mask for columns `from` … `to` only.
 */
export function updateRowMax(module: ModuleBuilder, spec: Spec, masked: boolean): Func {
  const pool = poolOf(expressionsOf(spec));
  const stride = statStride(spec);
  return module.func(
    masked ? "updateRowMaxMasked" : "updateRowMax",
    ["task", "scratch", "s", "stats", "rows", "head", "row", "key", "columns", "first", "from", "to"],
    (f, { task, scratch, s, stats, rows, head, row, key, columns, first, from, to }) => {
      const call = f.int(i32.load(task, TaskStruct.call));
      const at = f.local("i32");
      const highest = [f.local("v128"), f.local("v128")];
      const cells = new ScoreRow(f, spec, task, call, masked);

      /** Columns `start` … `stop` of one row, if there are any. */
      const span = (
        m: Arithmetic,
        compiler: RowCompiler,
        start: I32Value,
        stop: I32Value,
        ask: boolean,
      ): void => {
        const begin = f.int(start);
        f.set(at, i32.add(s, i32.shl(begin, 2)));
        const end = f.int(i32.add(s, i32.shl(stop, 2)));
        const changes = cells.begin(m, key, begin, first, ask);
        f.loop(
          () => i32.ne(at, end),
          () => {
            const scores = [0, 1].map((half) => f.let(v128.load(at, 16 * half)));
            // Step by step for both vectors, as in exp2Each.
            const allowed = cells.change(m, compiler, scores);
            if (allowed)
              scores.forEach((value, half) =>
                f.set(value, v128.bitselect(value, m.c(-Infinity), allowed[half])),
              );
            if (changes) scores.forEach((x, half) => f.storeVector(at, x, 16 * half));
            // pmax returns its first operand where the second is NaN: the maximum ignores NaN, and exp2 propagates it.
            scores.forEach((x, half) => f.set(highest[half], f32x4.pmax(highest[half], x)));
            cells.next(m);
            f.step(at, 32);
          },
        );
      };

      f.down(rows, 1, () => {
        withConstants(f, spec, (m) => {
          const compiler = new RowCompiler(f, m, pool, spec.inBounds, {
            call,
            b: i32.load(task, TaskStruct.batch),
            h: head,
            i: row,
            q: i32.add(row, i32.load(task, TaskStruct.offset)),
          });
          compiler.begin([masked ? spec.mask : undefined, spec.score]);
          for (const x of highest) f.set(x, m.c(-Infinity));
          eachSpan(f, columns, masked ? { from, to } : undefined, (start, stop, ask) =>
            span(m, compiler, start, stop, ask),
          );
          highest.forEach((x, half) => f.storeVector(scratch, x, 16 * half));
          const top = f.let(
            f32x4.extract_lane(
              reduceLanes(scratch, (a, b) => f32x4.pmax(a, b), f),
              0,
            ),
          );
          const old = f.let(f32.load(stats));
          const next = f.let(f32.max(old, top));
          f.store("f32.store", stats, next);
          const finite = f.let(f32x4.splat(next));
          f.set(finite, v128.and(finite, f32x4.ne(finite, m.c(-Infinity))));
          const step = f32x4.mul(
            f32x4.sub(f32x4.splat(old), finite),
            v128.load32_splat(call, CallStruct.exponent),
          );
          f.store("f32.store", stats, f32x4.extract_lane(exp2(f, m, step), 0), 2 * stride);
        });
        f.step(s, spec.keyTile * 4);
        f.step(stats, 4);
        f.step(row, 1);
        f.step(first, 1);
      });
    },
  );
}

/** exponentiate(task, s, stats, rows, row, key, columns): p = e^(s − m') in place; with dropout also l, from p before dropout. */
export function exponentiate(module: ModuleBuilder, spec: Spec): Func {
  const stride = statStride(spec);
  return module.func(
    "exponentiate",
    ["task", "s", "stats", "rows", "row", "key", "columns"],
    (f, { task, s, stats, rows, row, key, columns }) => {
      const at = f.local("i32");
      const end = f.local("i32");
      const sums = [f.local("v128"), f.local("v128")];
      const dropout = spec.dropout ? beginDropout(f, spec, task) : undefined;
      const exponent = i32.load(task, TaskStruct.call);
      const factorAt = f.int(exponent);
      withConstants(f, spec, (m) => {
        const inRegister = spec.wide ? undefined : f.let(v128.load32_splat(factorAt, CallStruct.exponent));
        f.down(rows, 1, () => {
          const top = f.let(v128.load32_splat(stats));
          f.set(top, v128.and(top, f32x4.ne(top, m.c(-Infinity))));
          f.set(at, s);
          f.set(end, i32.add(s, i32.shl(columns, 2)));
          if (dropout) for (const x of sums) f.set(x, m.bits(0));
          dropout?.row(m, row, key);
          f.repeat(() => {
            const factor = inRegister ?? f.let(v128.load32_splat(factorAt, CallStruct.exponent));
            const loaded = [0, 1].map((half) => f.let(v128.load(at, 16 * half)));
            const below = loaded.map((x) => f.let(f32x4.sub(x, top)));
            const p = weightEach(
              f,
              m,
              below.map((x) => f.let(f32x4.mul(x, factor))),
            ).map((x) => f.once(x));
            if (dropout)
              p.forEach((x, half) => {
                f.set(sums[half], f32x4.add(sums[half], x));
                f.set(x, dropout.apply(m, x, half));
              });
            p.forEach((x, half) => f.storeVector(at, x, 16 * half));
            dropout?.next(m);
            f.step(at, 32);
            return i32.ne(at, end);
          });
          if (dropout) {
            const sum = sumLanes(f, sums[0], sums[1]);
            f.store(
              "f32.store",
              stats,
              f32.add(f32.mul(f32.load(stats, stride), f32.load(stats, 2 * stride)), sum),
              stride,
            );
          }
          f.step(s, spec.keyTile * 4);
          f.step(stats, 4);
          f.step(row, 1);
        });
      });
    },
  );
}

/** Groups of four rows that are summed together: enough independent sums to hide the latency of an addition. */
const GROUPS = 3;

/**
 * updateRowSum(s, stats, rows, columns): l = α·l + Σ p of the rows, key by key, with the order and the operations of the value
 * product. A vector holds one key of four rows: their weights are transposed four by four.
 */
export function updateRowSum(module: ModuleBuilder, spec: Spec): Func {
  const stride = statStride(spec);
  const rowBytes = spec.keyTile * 4;
  const madd = maddOf(spec.fused);
  return module.func("updateRowSum", ["s", "stats", "rows", "columns"], (f, { s, stats, rows, columns }) => {
    const at = f.local("i32");
    const end = f.local("i32");
    const sums = Array.from({ length: GROUPS }, () => f.local("v128"));
    const groups = Math.min(GROUPS, Math.ceil(paddedRows(spec) / 4));
    const some = (count: number): void => {
      f.set(at, s);
      f.set(end, i32.add(s, i32.shl(columns, 2)));
      for (const x of sums) f.set(x, ZERO);
      f.repeat(() => {
        for (let g = 0; g < count; g++) {
          const rows = [0, 1, 2, 3].map((r) => f.let(v128.load(at, (4 * g + r) * rowBytes)));
          for (const x of transpose4(f, rows)) f.set(sums[g], f32x4.add(sums[g], x));
        }
        f.step(at, 16);
        return i32.ne(at, end);
      });
      for (let g = 0; g < count; g++)
        f.storeVector(
          stats,
          madd(v128.load(stats, stride + 16 * g), v128.load(stats, 2 * stride + 16 * g), sums[g]),
          stride + 16 * g,
        );
      f.step(s, 4 * count * rowBytes);
      f.step(stats, 16 * count);
      f.step(rows, -4 * count);
    };
    f.loop(
      () => i32.gt_s(rows, 4 * (groups - 1)),
      () => some(groups),
    );
    if (groups > 1)
      f.loop(
        () => i32.gt_s(rows, 0),
        () => some(1),
      );
  });
}

/** updateRowSumByRow(s, stats, rows, width): the same for few rows, one after another. */
export function updateRowSumByRow(module: ModuleBuilder, spec: Spec): Func {
  const stride = statStride(spec);
  const madd = maddOf(spec.fused);
  return module.func("updateRowSumByRow", ["s", "stats", "rows", "width"], (f, { s, stats, rows, width }) => {
    const at = f.local("i32");
    const sum = f.local("f32");
    f.down(rows, 1, () => {
      f.set(sum, 0);
      f.set(at, s);
      const end = f.int(i32.add(s, i32.shl(width, 2)));
      f.repeat(() => {
        f.set(sum, f32.add(sum, f32.load(at)));
        f.step(at, 4);
        return i32.ne(at, end);
      });
      const l = madd(
        v128.load32_splat(stats, stride),
        v128.load32_splat(stats, 2 * stride),
        f32x4.splat(sum),
      );
      f.store("f32.store", stats, f32x4.extract_lane(l, 0), stride);
      f.step(s, spec.keyTile * 4);
      f.step(stats, 4);
    });
  });
}

/**
 * finishedWeights(task, s, lse, rows, row, key, columns, out, outRow): the finished weights e^(s − lse) of a tile,
 * written to rows of `out`. A fully masked row has lse −∞ and weights 0.
 */
export function finishedWeights(module: ModuleBuilder, spec: Spec): Func {
  return module.func(
    "finishedWeights",
    ["task", "s", "lse", "rows", "row", "key", "columns", "out", "outRow"],
    (f, { task, s, lse, rows, row, key, columns, out, outRow }) => {
      const at = f.local("i32");
      const dropout = spec.dropout ? beginDropout(f, spec, task) : undefined;
      const unit = f.let(v128.load32_splat(i32.load(task, TaskStruct.call), CallStruct.unit));
      withConstants(f, spec, (m) => {
        f.down(rows, 1, () => {
          const total = f.let(v128.load32_splat(lse));
          f.set(total, f32x4.neg(v128.and(total, f32x4.ne(total, m.c(-Infinity)))));
          dropout?.row(m, row, key);
          f.count(at, 0, i32.shl(columns, 2), 32, () => {
            for (const half of [0, 1]) {
              const below = m.madd(v128.load(i32.add(s, at), 16 * half), unit, total);
              const x = f.let(f32x4.mul(below, m.c(Math.LOG2E)));
              const p = f.let(exp2(f, m, x));
              // Scores may exceed the lse of another call by so much that the weight overflows.
              f.set(p, v128.bitselect(m.c(Infinity), p, f32x4.ge(x, m.c(128))));
              f.storeVector(i32.add(out, at), dropout ? dropout.apply(m, p, half) : p, 16 * half);
            }
            dropout?.next(m);
          });
          f.step(s, spec.keyTile * 4);
          f.step(lse, 4);
          f.step(out, outRow);
          f.step(row, 1);
        });
      });
    },
  );
}

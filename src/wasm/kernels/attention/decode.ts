/**
 * The decode kernel: few query rows over many keys, bound by memory. Nothing is packed: keys and values are read once,
 * in order, in chunks of about 4 KiB that alternate between K and V, which keeps the hardware prefetcher active on some
 * processors (docs/optimization-log.md) and costs nothing on others. The rows of all query heads of a group share a chunk.
 */

import { DTYPES } from "../../../core/dtype.ts";
import type { Func, FunctionBuilder, Local, V128Value } from "../../assembler/index.ts";
import { callValue, f32x4, i32, ModuleBuilder, v128, ZERO } from "../../assembler/index.ts";
import { paddedValue, statStride, workspaceOf } from "../../codegen/layout.ts";
import { type Arithmetic, loadFloats, loadOne, maddOf, withConstants } from "../../codegen/math.ts";
import type { Spec } from "../../codegen/spec.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import { transpose4 } from "../lanes.ts";
import { queryRowBytes } from "./products.ts";
import {
  beginState,
  eachTile,
  endState,
  finishRows,
  loadQueries,
  maskSpan,
  scanTensors,
  sinkRows,
} from "./row-tile.ts";
import { exponentiate, updateRowMax, updateRowSumByRow } from "./softmax.ts";

/** Vectors of a row of output that stay in registers for a chunk of keys; with fewer, a row of V is read in more passes. */
const OUTPUT_VECTORS = 12;
/** Sums of a row of K that run side by side: enough to hide the latency of an addition. */
const CHAINS = 4;

/** dots(q, k, kRow, s, keys): s = q·kᵀ of one row, four keys at a time: sums of vectors along d, then transposed and added. */
function dotProducts(module: ModuleBuilder, spec: Spec): Func {
  return module.func("dots", ["q", "k", "kRow", "s", "keys"], (f, { q, k, kRow, s, keys }) => {
    withConstants(f, spec, (m) => {
      f.down(keys, 4, () => {
        const at = [f.int(k)];
        // For fewer than four last keys the addresses repeat; the extra scores are masked.
        for (let n = 1; n < 4; n++) at.push(f.int(i32.add(at[n - 1], i32.mul(kRow, i32.gt_s(keys, n)))));
        f.storeVector(s, fourDots(f, m, spec, q, at));
        f.step(k, i32.shl(kRow, 2));
        f.step(s, 16);
      });
    });
  });
}

/** Scores of four keys, one per lane. */
function fourDots(
  f: FunctionBuilder,
  m: Arithmetic,
  spec: Spec,
  q: Local<"i32">,
  at: Local<"i32">[],
): V128Value {
  const madd = maddOf(spec.fused);
  const quads = spec.dk - (spec.dk % 4);
  const bytes = DTYPES[spec.key].bytes;
  const d = f.local("i32");
  const end = f.int(i32.add(q, 16 * CHAINS * Math.floor(quads / 4 / CHAINS)));
  // Each row of K is read from its start to its end: rows side by side, read in turn, are too many streams for the prefetcher.
  const sums = at.map((x) => {
    const chains = Array.from({ length: CHAINS }, () => f.let(ZERO));
    const step = (count: number) => {
      for (const [n, sum] of chains.slice(0, count).entries())
        f.set(sum, madd(loadFloats(f, m, spec.key, x, 4 * n * bytes), v128.load(d, 16 * n), sum));
      f.step(x, 4 * count * bytes);
      f.step(d, 16 * count);
    };
    f.set(d, q);
    f.loop(
      () => i32.ne(d, end),
      () => step(CHAINS),
    );
    if ((quads / 4) % CHAINS > 0) step((quads / 4) % CHAINS);
    return f.let(f32x4.add(f32x4.add(chains[0], chains[1]), f32x4.add(chains[2], chains[3])));
  });
  // Transposed, each vector holds one lane of the four sums.
  const [a, b, c, e] = transpose4(f, sums);
  const four = f.let(f32x4.add(f32x4.add(a, b), f32x4.add(c, e)));
  for (let tail = quads; tail < spec.dk; tail++) {
    const ones = f.let(
      f32x4.splat(f32x4.extract_lane(loadOne(f, m, spec.key, at[0], (tail - quads) * bytes), 0)),
    );
    for (let n = 1; n < 4; n++)
      f.set(
        ones,
        f32x4.replace_lane(
          ones,
          f32x4.extract_lane(loadOne(f, m, spec.key, at[n], (tail - quads) * bytes), 0),
          n,
        ),
      );
    f.set(four, madd(ones, v128.load32_splat(d, 4 * (tail - quads)), four));
  }
  return four;
}

/** sums(p, kept, v, vRow, o, alpha, keys): o = α·o + p·v of one row; `nanSafe`: a key is not read where `kept` is −∞. */
function valueSums(module: ModuleBuilder, spec: Spec, nanSafe: boolean): Func {
  const madd = maddOf(spec.fused);
  return module.func(
    nanSafe ? "sumsKept" : "sums",
    ["p", "rawScores", "v", "vRow", "o", "alpha", "keys"],
    (f, { p, rawScores, v, vRow, o, alpha, keys }) => {
      const vectors = paddedValue(spec) / 4;
      const bytes = DTYPES[spec.value].bytes;
      const k = f.local("i32");
      const at = f.local("i32");
      withConstants(f, spec, (m) => {
        for (let first = 0; first < vectors; first += OUTPUT_VECTORS) {
          const accumulators = Array.from({ length: Math.min(OUTPUT_VECTORS, vectors - first) }, () =>
            f.local("v128"),
          );
          for (const x of accumulators) f.set(x, ZERO);
          f.set(at, i32.add(v, 4 * first * bytes));
          f.count(k, 0, i32.shl(keys, 2), 4, () => {
            const step = () => {
              const one = f.let(v128.load32_splat(i32.add(p, k)));
              accumulators.forEach((x, n) =>
                f.set(x, madd(one, valueVector(f, m, spec, at, first + n, n), x)),
              );
            };
            if (nanSafe) f.when(i32.ne(i32.load(i32.add(rawScores, k)), 0xff800000 | 0), step);
            else step();
            f.step(at, vRow);
          });
          const factor = f.let(v128.load32_splat(alpha));
          accumulators.forEach((x, n) => {
            const offset = 16 * (first + n);
            f.storeVector(o, madd(v128.load(o, offset), factor, x), offset);
          });
        }
      });
    },
  );
}

/** Vector `n` of a row of V; an incomplete last vector is read number by number. */
function valueVector(
  f: FunctionBuilder,
  m: Arithmetic,
  spec: Spec,
  at: Local<"i32">,
  n: number,
  offset: number,
): V128Value {
  const bytes = DTYPES[spec.value].bytes;
  const left = spec.dv - 4 * n;
  if (left >= 4) return loadFloats(f, m, spec.value, at, 4 * offset * bytes);
  const x = f.let(ZERO as V128Value);
  for (let lane = 0; lane < left; lane++)
    f.set(
      x,
      f32x4.replace_lane(
        x,
        f32x4.extract_lane(loadOne(f, m, spec.value, at, (4 * offset + lane) * bytes), 0),
        lane,
      ),
    );
  return x;
}

/** finite(v, vRow, keys): 1 where all values of a chunk are finite. */
function finiteValues(module: ModuleBuilder, spec: Spec): Func & { result: "i32" } {
  return module.func(
    "finite",
    ["v", "vRow", "keys"],
    (f, { v, vRow, keys }) => {
      const bad = f.let(ZERO);
      withConstants(f, spec, (m) => {
        f.down(keys, 1, () => {
          for (let n = 0; n < paddedValue(spec) / 4; n++)
            f.set(bad, f32x4.add(bad, f32x4.mul(valueVector(f, m, spec, v, n, n), ZERO)));
          f.step(v, vRow);
        });
      });
      f.result(i32.eqz(v128.any_true(f32x4.ne(bad, bad))));
    },
    { result: "i32" },
  ) as Func & { result: "i32" };
}

/** Bytes of the module; it exports `run(task, workspace)`. */
// long: the passes of a step of keys are read in one piece, with the letters of the formula.
export function decode(spec: Spec): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder(spec);
  const space = workspaceOf(spec);
  const stride = statStride(spec);
  const selective = spec.mask !== undefined || spec.tensors.length > 0;

  const dots = dotProducts(module, spec);
  const addValues = valueSums(module, spec, false);
  const addKept = selective ? valueSums(module, spec, true) : undefined;
  const finite = selective ? finiteValues(module, spec) : undefined;
  const plainMaxima = updateRowMax(module, spec, false);
  const maskedMaxima = updateRowMax(module, spec, true);
  const exponent = exponentiate(module, spec);
  const total = spec.dropout ? undefined : updateRowSumByRow(module, spec);

  module.func(
    "run",
    ["task", "ws"],
    // long: the body of the kernel.
    (f, { task, ws }) => {
      const call = f.int(i32.load(task, TaskStruct.call));
      const rows = f.int(i32.load(task, TaskStruct.rows));
      const headRows = f.int(i32.load(call, CallStruct.headRows));
      const heads = f.int(i32.div_s(rows, headRows));
      const row0 = f.int(i32.load(task, TaskStruct.row0));
      const keyBase = f.int(i32.load(task, TaskStruct.keyBase));
      const head = f.int(i32.load(task, TaskStruct.head));
      const kRow = f.int(i32.load(call, CallStruct.keyRow));
      const vRow = f.int(i32.load(call, CallStruct.valueRow));
      const scratch = f.int(i32.add(ws, space.scratch));
      const s = f.int(i32.add(ws, space.scores));
      const stats = f.int(i32.add(ws, space.stats));
      const queries = f.int(i32.add(ws, space.queries));
      const g = f.local("i32");
      const r = f.local("i32");
      const rowBytes = spec.keyTile * 4;

      const source = f.int(i32.load(task, TaskStruct.query));
      const target = f.int(queries);
      const from = f.local("i32");
      f.count(g, 0, heads, 1, () => {
        f.set(from, i32.add(source, i32.mul(g, i32.load(call, CallStruct.queryHead))));
        loadQueries(f, spec, call, from, target, headRows);
      });
      beginState(f, spec, space, task, ws);
      const sinks = f.int(i32.load(task, TaskStruct.sinks));
      f.when(i32.and(i32.ne(sinks, 0), i32.and(i32.load(task, TaskStruct.flags), 1)), () =>
        f.count(g, 0, heads, 1, () =>
          sinkRows(f, spec, space, ws, i32.add(sinks, i32.shl(g, 2)), f.int(i32.mul(g, headRows)), headRows),
        ),
      );

      eachTile(f, spec, task, (key, end, partial, run) => {
        const width = f.int(i32.sub(end, key));
        const columns = f.int(i32.and(i32.add(width, 7), -8));
        const masked = f.int(i32.or(i32.ne(partial, 0), i32.ne(columns, width)));
        f.block((leave) => {
          if (spec.tensors.length > 0) {
            const scan = scanTensors(f, spec, task, call, headRows, key, end);
            leave(i32.eqz(scan.some));
            f.set(masked, i32.or(masked, i32.eqz(scan.all)));
          }
          const k = f.int(i32.add(i32.load(task, TaskStruct.key), i32.mul(i32.sub(key, keyBase), kRow)));
          const v = f.int(i32.add(i32.load(task, TaskStruct.value), i32.mul(i32.sub(key, keyBase), vRow)));
          // 1 s = q·kᵀ, row by row
          f.count(r, 0, rows, 1, () => {
            const q = i32.add(queries, i32.mul(r, queryRowBytes(spec)));
            f.call(dots, { q, k, kRow, s: i32.add(s, i32.mul(r, rowBytes)), keys: width });
          });
          const span = maskSpan(f, spec, run, key, width, columns);
          // Columns after the last key hold old scores; they are masked and not multiplied with V.
          f.count(g, 0, heads, 1, () => {
            const first = f.int(i32.mul(g, headRows));
            const at = i32.add(s, i32.mul(first, rowBytes));
            // 2 m, α from max s, head by head
            const operands = {
              task,
              scratch,
              s: at,
              stats: i32.add(stats, i32.shl(first, 2)),
              rows: headRows,
              head: i32.add(head, g),
              row: row0,
              key,
              columns,
              first: 0,
            };
            f.when(
              masked,
              () => f.call(maskedMaxima, { ...operands, from: span.from, to: span.to }),
              () => f.call(plainMaxima, { ...operands, from: 0, to: 0 }),
            );
          });
          const slow = f.int(0);
          const rawScores = f.int(i32.add(ws, space.rawScores));
          if (finite) {
            f.when(masked, () => f.set(slow, i32.eqz(callValue(finite, { v, vRow, keys: width }))));
            f.when(slow, () => {
              const n = f.local("i32");
              f.count(n, 0, i32.mul(rows, rowBytes), 16, () =>
                f.storeVector(i32.add(rawScores, n), v128.load(i32.add(s, n))),
              );
            });
          }
          f.count(g, 0, heads, 1, () => {
            const first = f.int(i32.mul(g, headRows));
            // 3 p = e^(s − m), in place
            f.call(exponent, {
              task,
              s: i32.add(s, i32.mul(first, rowBytes)),
              stats: i32.add(stats, i32.shl(first, 2)),
              rows: headRows,
              row: row0,
              key,
              columns,
            });
          });
          // 4 l = α·l + Σp; with dropout, pass 3 sums before it drops
          if (total) f.call(total, { s, stats, rows, width });
          f.count(r, 0, rows, 1, () => {
            const down = f.int(i32.mul(r, rowBytes));
            const o = i32.add(ws, i32.add(i32.mul(r, paddedValue(spec) * 4), space.output));
            const alpha = i32.add(stats, i32.add(i32.shl(r, 2), 2 * stride));
            // 5 o = α·o + p·v, row by row
            const operands = {
              p: i32.add(s, down),
              rawScores: i32.add(rawScores, down),
              v,
              vRow,
              o,
              alpha,
              keys: width,
            };
            if (addKept)
              f.when(
                slow,
                () => f.call(addKept, operands),
                () => f.call(addValues, operands),
              );
            else f.call(addValues, operands);
          });
        });
      });

      endState(f, spec, space, task, ws, (o, at, lse) => {
        const lseHead = f.int(lse);
        f.count(g, 0, heads, 1, () => {
          const out = f.int(
            i32.add(i32.load(task, TaskStruct.out), i32.mul(g, i32.load(call, CallStruct.outHead))),
          );
          f.set(lse, i32.add(lseHead, i32.mul(g, i32.load(call, CallStruct.lseHead))));
          finishRows(f, spec, o, at, lse, out, call, headRows);
        });
      });
    },
    { exported: true },
  );
  return module.encode();
}

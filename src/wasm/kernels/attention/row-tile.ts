/**
 * Shared by the forward, weights and decode kernels for a tile of query rows: copying the queries, starting or resuming the
 * state, finishing it, and looping over the runs of keys of the plan.
 */

import { DTYPES, type StoredDType } from "../../../core/dtype.ts";
import type { Func, FunctionBuilder, I32Value, Local } from "../../assembler/index.ts";
import { f32, f32x4, i32, v128, ZERO } from "../../assembler/index.ts";
import {
  FIRST,
  LAST,
  paddedRows,
  paddedValue,
  stateBytes,
  statStride,
  type Workspace,
} from "../../codegen/layout.ts";
import { type Arithmetic, loadFloats, loadOne, log, withConstants } from "../../codegen/math.ts";
import { panelOf, type Spec } from "../../codegen/spec.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as RunStruct from "../../codegen/structs/run.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";
import { queryRowBytes } from "./products.ts";

/** A task's query rows, and the addresses of their data. */
export interface TaskRows {
  readonly call: Local<"i32">;
  /** Number of rows, and of strips of the register tile. */
  readonly count: Local<"i32">;
  readonly groups: Local<"i32">;
  readonly head: Local<"i32">;
  readonly row0: Local<"i32">;
  readonly keyBase: Local<"i32">;
  /** Addresses in the workspace: queries, scores, m and l and α, eight numbers of scratch. */
  readonly q: Local<"i32">;
  readonly s: Local<"i32">;
  readonly stats: Local<"i32">;
  readonly scratch: Local<"i32">;
  /** Bytes from value row to value row. */
  readonly vRow: Local<"i32">;
}

/** Reads a task and copies its queries, times the scale, into the workspace; the padding rows of the last strip are zero. */
export function beginRows(
  f: FunctionBuilder,
  spec: Spec,
  space: Workspace,
  task: Local<"i32">,
  ws: Local<"i32">,
): TaskRows {
  const call = f.int(i32.load(task, TaskStruct.call));
  const count = f.int(i32.load(task, TaskStruct.rows));
  const groups = f.int(i32.div_s(i32.add(count, spec.tile.rows - 1), spec.tile.rows));
  const head = f.int(i32.load(task, TaskStruct.head));
  const row0 = f.int(i32.load(task, TaskStruct.row0));
  const keyBase = f.int(i32.load(task, TaskStruct.keyBase));
  const q = f.int(i32.add(ws, space.queries));
  const s = f.int(i32.add(ws, space.scores));
  const stats = f.int(i32.add(ws, space.stats));
  const scratch = f.int(i32.add(ws, space.scratch));
  const vRow = f.int(i32.load(call, CallStruct.valueRow));
  const target = f.int(q);
  loadQueries(f, spec, call, f.int(i32.load(task, TaskStruct.query)), target, count);
  const padding = f.int(i32.sub(i32.mul(groups, spec.tile.rows), count));
  // dk may not be a multiple of four: the workspace has padding after the rows.
  f.when(padding, () => clear(f, target, i32.mul(padding, queryRowBytes(spec))));
  return { call, count, groups, head, row0, keyBase, q, s, stats, scratch, vRow };
}

/** A tile of keys whose scores are computed. */
export interface ScoreTile {
  /** First key, number of keys, and number of columns: keys rounded up to full panels. */
  readonly key: Local<"i32">;
  readonly width: Local<"i32">;
  readonly columns: Local<"i32">;
  /** 1 where a cell of the tile may be masked. */
  readonly masked: Local<"i32">;
}

/** Functions of the first two passes; without `rowMax` full tiles skip the second pass. */
export interface ScorePasses {
  readonly scoreProduct: Func;
  readonly rowMax?: Func;
  readonly maskedRowMax: Func;
}

/** For every visible tile of keys: pass 1, s = q·kᵀ, pass 2, score mods, masks, m and α, then `rest`. */
export function eachScoreTile(
  f: FunctionBuilder,
  spec: Spec,
  task: Local<"i32">,
  rows: TaskRows,
  { scoreProduct, rowMax, maskedRowMax }: ScorePasses,
  rest: (tile: ScoreTile) => void,
): void {
  const panel = panelOf(spec.tile);
  const { call, count, groups, head, row0, keyBase, q, s, stats, scratch } = rows;
  eachTile(f, spec, task, (key, end, partial, run) => {
    const width = f.int(i32.sub(end, key));
    const panels = f.int(i32.div_s(i32.add(width, panel - 1), panel));
    const columns = f.int(i32.mul(panels, panel));
    const masked = f.int(i32.or(i32.ne(partial, 0), i32.ne(columns, width)));
    f.block((leave) => {
      if (spec.tensors.length > 0) {
        const scan = scanTensors(f, spec, task, call, count, key, end);
        leave(i32.eqz(scan.some));
        f.set(masked, i32.or(masked, i32.eqz(scan.all)));
      }
      // 1 s = q·kᵀ
      const k = i32.add(i32.load(task, TaskStruct.key), i32.mul(i32.sub(key, keyBase), 4 * spec.dk));
      f.call(scoreProduct, { q, k, s, panels, groups });
      // 2 m, α from max s
      const first = f.int(0);
      const tile = { task, scratch, s, stats, rows: count, head, row: row0, key, columns, first };
      f.when(
        masked,
        () => {
          const { from, to } = maskSpan(f, spec, run, key, width, columns);
          f.call(maskedRowMax, { ...tile, from, to });
        },
        () => {
          if (rowMax) f.call(rowMax, { ...tile, from: 0, to: 0 });
        },
      );
      rest({ key, width, columns, masked });
    });
  });
}

/** Copies `rows` queries, times the call's scale, into the workspace; rows up to the register tile are zero. */
export function loadQueries(
  f: FunctionBuilder,
  spec: Spec,
  call: I32Value,
  source: Local<"i32">,
  target: Local<"i32">,
  rows: I32Value,
): void {
  const r = f.local("i32");
  withConstants(f, spec, (m) => {
    const scale = f.let(v128.load32_splat(call, CallStruct.scale));
    f.count(r, 0, rows, 1, () => {
      copyRow(f, m, spec.query, spec.dk, source, target, (x) => f32x4.mul(x, scale));
      f.step(source, i32.load(call, CallStruct.queryRow));
      f.step(target, queryRowBytes(spec));
    });
  });
}

/** Copies one row of numbers as float32, mapped by `change`; full vectors first, then the tail one by one. */
export function copyRow(
  f: FunctionBuilder,
  m: Arithmetic,
  storage: StoredDType,
  columns: number,
  source: I32Value,
  target: I32Value,
  change: (x: ReturnType<typeof loadFloats>) => ReturnType<typeof loadFloats> = (x) => x,
): void {
  const bytes = DTYPES[storage].bytes;
  const quads = columns - (columns % 4);
  if (quads > 32) {
    const d = f.local("i32");
    f.count(d, 0, quads, 4, () => {
      const from = i32.shl(d, Math.log2(bytes));
      f.storeVector(i32.add(target, i32.shl(d, 2)), change(loadFloats(f, m, storage, i32.add(source, from))));
    });
  } else
    for (let d = 0; d < quads; d += 4)
      f.storeVector(target, change(loadFloats(f, m, storage, source, d * bytes)), 4 * d);
  for (let d = quads; d < columns; d++)
    f.store(
      "f32.store",
      target,
      f32x4.extract_lane(change(loadOne(f, m, storage, source, d * bytes)), 0),
      4 * d,
    );
}

/** Zeroes the bytes from `at` on; a multiple of 16. */
export function clear(f: FunctionBuilder, at: Local<"i32">, bytes: I32Value | number): void {
  const end = f.int(i32.add(at, bytes));
  f.loop(
    () => i32.lt_u(at, end),
    () => {
      f.storeVector(at, ZERO);
      f.step(at, 16);
    },
  );
}

/** Copies a multiple of 16 bytes. */
function copy(f: FunctionBuilder, from: I32Value, to: I32Value, bytes: number): void {
  const n = f.local("i32");
  f.count(n, 0, bytes, 16, () => f.storeVector(i32.add(to, n), v128.load(i32.add(from, n))));
}

/** Starts m, l and the output of a tile of rows: without keys, or from the state of an earlier stage. */
export function beginState(
  f: FunctionBuilder,
  spec: Spec,
  space: Workspace,
  task: Local<"i32">,
  ws: Local<"i32">,
): void {
  const stride = statStride(spec);
  const outputBytes = paddedRows(spec) * paddedValue(spec) * 4;
  f.when(
    i32.and(i32.load(task, TaskStruct.flags), FIRST),
    () => {
      const o = f.int(i32.add(ws, space.output));
      clear(f, o, outputBytes);
      const n = f.local("i32");
      withConstants(f, spec, (m) => {
        f.count(n, 0, stride, 16, () => {
          f.storeVector(i32.add(ws, n), m.c(-Infinity), space.stats);
          f.storeVector(i32.add(ws, n), ZERO, space.stats + stride);
        });
      });
    },
    () => {
      const state = f.int(i32.load(task, TaskStruct.state));
      copy(f, state, i32.add(ws, space.stats), 2 * stride);
      copy(f, i32.add(state, 2 * stride), i32.add(ws, space.output), outputBytes);
    },
  );
}

/** Starts `rows` rows from `first` on with the sink of a head: m = sink, l = 1, as after a key of value 0. */
export function sinkRows(
  f: FunctionBuilder,
  spec: Spec,
  space: Workspace,
  ws: I32Value,
  sink: I32Value,
  first: I32Value,
  rows: I32Value,
): void {
  const value = f.let(f32.load(sink));
  f.when(f32.gt(value, Number.NEGATIVE_INFINITY), () => {
    const at = f.int(i32.add(ws, i32.shl(first, 2)));
    const n = f.local("i32");
    f.count(n, 0, rows, 1, () => {
      f.store("f32.store", at, value, space.stats);
      f.store("f32.store", at, 1, space.stats + statStride(spec));
      f.step(at, 4);
    });
  });
}

/** Calls `write` for finished rows, or stores the state for the next stage. */
export function endState(
  f: FunctionBuilder,
  spec: Spec,
  space: Workspace,
  task: Local<"i32">,
  ws: Local<"i32">,
  write: (o: Local<"i32">, stats: Local<"i32">, lse: Local<"i32">) => void,
): void {
  const stride = statStride(spec);
  f.when(
    i32.and(i32.load(task, TaskStruct.flags), LAST),
    () =>
      write(
        f.int(i32.add(ws, space.output)),
        f.int(i32.add(ws, space.stats)),
        f.int(i32.load(task, TaskStruct.lse)),
      ),
    () => {
      const state = f.int(i32.load(task, TaskStruct.state));
      copy(f, i32.add(ws, space.stats), state, 2 * stride);
      copy(f, i32.add(ws, space.output), i32.add(state, 2 * stride), stateBytes(spec) - 2 * stride);
    },
  );
}

/** Finished rows: out = O/l, or 0 for a fully masked row; lse = m·unit + ln l. Advances o, stats, lse and out past them. */
export function finishRows(
  f: FunctionBuilder,
  spec: Spec,
  o: Local<"i32">,
  stats: Local<"i32">,
  lse: Local<"i32">,
  out: Local<"i32">,
  call: I32Value,
  rows: I32Value,
): void {
  const r = f.local("i32");
  const outRow = f.int(i32.load(call, CallStruct.outRow));
  withConstants(f, spec, (m) => {
    f.count(r, 0, rows, 1, () => {
      const l = f.let(v128.load32_splat(stats, statStride(spec)));
      const isVisible = f.let(f32x4.ne(l, m.bits(0)));
      const inverse = f.let(v128.and(f32x4.div(m.c(1), l), isVisible));
      copyRow(f, m, "float32", spec.dv, o, out, (x) => f32x4.mul(x, inverse));
      const top = f32x4.mul(v128.load32_splat(stats), v128.load32_splat(call, CallStruct.unit));
      const total = v128.bitselect(f32x4.add(top, log(f, m, l)), m.c(-Infinity), isVisible);
      f.store("f32.store", lse, f32x4.extract_lane(total, 0));
      f.step(o, paddedValue(spec) * 4);
      f.step(stats, 4);
      f.step(lse, 4);
      f.step(out, outRow);
    });
  });
}

/** Loops over the runs of a task tile by tile: calls `tile(key, end, partial, run)` for keys key … end of one aligned tile. */
export function eachTile(
  f: FunctionBuilder,
  spec: Spec,
  task: Local<"i32">,
  tile: (key: Local<"i32">, end: Local<"i32">, partial: I32Value, run: Local<"i32">) => void,
): void {
  const run = f.int(i32.load(task, TaskStruct.runs));
  const last = f.int(i32.add(run, i32.mul(i32.load(task, TaskStruct.runCount), RunStruct.size)));
  const key = f.local("i32");
  const end = f.local("i32");
  const stop = f.local("i32");
  f.loop(
    () => i32.lt_u(run, last),
    () => {
      f.set(key, i32.load(run, RunStruct.from));
      f.set(stop, i32.load(run, RunStruct.to));
      f.loop(
        () => i32.lt_s(key, stop),
        () => {
          // Tiles begin at multiples of keyTile, wherever the run begins: the same sums for the same keys.
          f.set(end, i32.mul(i32.add(i32.div_s(key, spec.keyTile), 1), spec.keyTile));
          f.when(i32.gt_s(end, stop), () => f.set(end, stop));
          tile(key, end, i32.load(run, RunStruct.kind), run);
          f.set(key, end);
        },
      );
      f.step(run, RunStruct.size);
    },
  );
}

/** Columns `from` … `to` of a tile for which the mask is evaluated; multiples of 8. */
export interface MaskSpan {
  readonly from: Local<"i32">;
  readonly to: Local<"i32">;
}

/**
 * The span of a tile: in a partial run the span of the plan, in a full run the last, incomplete panel. With mask tensors it is the
 * whole tile.
 */
export function maskSpan(
  f: FunctionBuilder,
  spec: Spec,
  run: I32Value,
  key: I32Value,
  width: I32Value,
  columns: I32Value,
): MaskSpan {
  const from = f.int(0);
  const to = f.int(columns);
  if (spec.tensors.length === 0) {
    f.set(from, i32.sub(i32.load(run, RunStruct.maskFrom), key));
    f.set(to, i32.sub(i32.load(run, RunStruct.maskTo), key));
    f.when(i32.eq(i32.load(run, RunStruct.kind), RunStruct.full), () => f.set(from, columns));
    // Columns after the last key are masked by the number of keys.
    f.when(i32.ne(width, columns), () => {
      const last = f.int(i32.and(width, -8));
      f.when(i32.gt_s(from, last), () => f.set(from, last));
      f.set(to, columns);
    });
    f.when(i32.lt_s(from, 0), () => f.set(from, 0));
    f.when(i32.gt_s(to, columns), () => f.set(to, columns));
  }
  return { from, to };
}

/** Result of `scanTensors`, 0 or 1. */
export interface TileScan {
  readonly some: Local<"i32">;
  readonly all: Local<"i32">;
}

/**
 * Scans the mask tensors of a tile of `rows` rows and keys `key` … `end`: `some` = 0 where a tensor masks all cells,
 * `all` = 1 where no tensor masks any. Float tensors are only scanned for a number other than −∞, so with them `all` is 0: a
 * −∞ among their cells masks a value that may be NaN.
 */
export function scanTensors(
  f: FunctionBuilder,
  spec: Spec,
  task: Local<"i32">,
  call: I32Value,
  rows: I32Value,
  key: I32Value,
  end: I32Value,
): TileScan {
  const some = f.int(1);
  const all = f.int(spec.tensors.includes("float") ? 0 : 1);
  const r = f.local("i32");
  const at = f.local("i32");
  const stop = f.local("i32");
  const row = f.local("i32");
  const any = f.local("i32");
  spec.tensors.forEach((kind, n) => {
    const bytes = kind === "bool" ? 0 : 2;
    const offset = i32.shl(i32.sub(key, i32.load(task, TaskStruct.keyBase)), bytes);
    f.set(row, i32.add(i32.load(task, TaskStruct.tensor + 4 * n), offset));
    f.set(any, 0);
    f.block((leave) => {
      f.count(r, 0, rows, 1, () => {
        f.set(at, row);
        f.set(stop, i32.add(row, i32.shl(i32.sub(end, key), bytes)));
        f.loop(
          () => i32.lt_u(at, stop),
          () => {
            if (kind === "bool") {
              f.when(
                i32.load8_u(at),
                () => f.set(any, 1),
                () => f.set(all, 0),
              );
              leave(i32.and(any, i32.eqz(all)));
              f.step(at, 1);
            } else {
              f.when(i32.ne(i32.load(at), 0xff800000 | 0), () => f.set(any, 1));
              leave(any);
              f.step(at, 4);
            }
          },
        );
        f.step(row, i32.load(call, CallStruct.tensorRow + 4 * n));
      });
    });
    f.set(some, i32.and(some, any));
  });
  return { some, all };
}

/**
 * Score mods and masks of a row of scores, two vectors of keys at a time: it applies score mods, adds float masks and computes
 * which cells are visible. The forward, weights and backward kernels use it and process the scores further themselves.
 */

import type { Expression } from "../../../masks/expression/expr.ts";
import type { FunctionBuilder, I32Value, Local, V128Value } from "../../assembler/index.ts";
import { f32x4, i16x8, i32, i32x4, select, v128 } from "../../assembler/index.ts";
import type { Arithmetic } from "../../codegen/math.ts";
import type { RowCompiler } from "../../codegen/score.ts";
import type { Spec } from "../../codegen/spec.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";

/**
 * Calls `span(start, stop, isMasked)` for all columns of a row: in the masked variant of a kernel for those before and after
 * `from` … `to`, one loop that runs twice, then for those between, where masks are evaluated.
 */
export function eachSpan(
  f: FunctionBuilder,
  columns: Local<"i32">,
  masked: { readonly from: Local<"i32">; readonly to: Local<"i32"> } | undefined,
  span: (start: I32Value, stop: I32Value, isMasked: boolean) => void,
): void {
  const zero = f.int(0);
  if (!masked) {
    span(zero, columns, false);
    return;
  }
  const { from, to } = masked;
  const turn = f.local("i32");
  f.count(turn, 0, 2, 1, () =>
    span(select(to as I32Value, zero, turn), select(columns as I32Value, from, turn), false),
  );
  span(from, to, true);
}

/** Score mods and masks of the columns of one row. */
export class ScoreRow {
  private readonly f: FunctionBuilder;
  private readonly spec: Spec;
  private readonly task: I32Value;
  private readonly call: I32Value;
  private readonly tensors: Spec["tensors"];
  /** The keys of both vectors, where an expression reads them. */
  readonly keys: readonly Local<"v128">[];
  private readonly tensorAt: readonly Local<"i32">[];
  private isMasked = false;
  private changes = false;
  private readTensors: Spec["tensors"] = [];
  private limit: V128Value | undefined;

  /** `masked`: true in the masked variant of a kernel. */
  constructor(f: FunctionBuilder, spec: Spec, task: I32Value, call: I32Value, masked: boolean) {
    this.f = f;
    this.spec = spec;
    this.task = task;
    this.call = call;
    this.tensors = masked || spec.tensors.includes("float") ? spec.tensors : [];
    this.keys = [f.local("v128"), f.local("v128")];
    this.tensorAt = this.tensors.map(() => f.local("i32"));
  }

  /**
   * Starts at column `begin` of the tile whose first key is `key`, in row `first` of the task. `isMasked`: masks are evaluated.
   * Returns true where scores change.
   */
  begin(
    m: Arithmetic,
    key: I32Value,
    begin: Local<"i32">,
    first: I32Value,
    isMasked: boolean,
    needsKeys = false,
  ): boolean {
    const { f, spec, task, call } = this;
    this.isMasked = isMasked;
    this.readTensors = isMasked || spec.tensors.includes("float") ? this.tensors : [];
    this.changes = isMasked || spec.score !== undefined || this.readTensors.length > 0;
    if (this.changes || needsKeys) {
      const at0 = f.let(i32x4.splat(i32.add(key, begin)));
      this.keys.forEach((k, half) => f.set(k, i32x4.add(at0, m.lanes(half as 0 | 1))));
    }
    this.limit = isMasked ? f.let(v128.load32_splat(call, CallStruct.keys)) : undefined;
    this.readTensors.forEach((kind, n) => {
      const column = i32.sub(i32.add(key, begin), i32.load(task, TaskStruct.keyBase));
      const down = i32.mul(first, i32.load(call, CallStruct.tensorRow + 4 * n));
      const across = i32.add(i32.shl(column, kind === "bool" ? 0 : 2), down);
      f.set(this.tensorAt[n], i32.add(i32.load(task, TaskStruct.tensor + 4 * n), across));
    });
    return this.changes;
  }

  /**
   * Changes the scores of both vectors in place. Returns the cells that are not masked; undefined: all. `beforeChange` is called
   * while the scores are those before the score mod, with the values of expressions computed so far.
   */
  change(
    m: Arithmetic,
    compiler: RowCompiler,
    scores: readonly Local<"v128">[],
    beforeChange?: (values: Map<Expression, readonly V128Value[]>) => void,
  ): readonly V128Value[] | undefined {
    const { f, spec, isMasked, keys } = this;
    if (!this.changes) return undefined;
    const mask = isMasked ? spec.mask : undefined;
    const values = new Map();
    if (spec.score) {
      const changed = compiler.vectors(spec.score, keys, scores, values);
      beforeChange?.(values);
      scores.forEach((value, half) => f.set(value, changed[half]));
    }
    let allowed: readonly V128Value[] | undefined = mask && compiler.vectors(mask, keys, undefined, values);
    const restrict = (visible: readonly V128Value[]) => {
      const before = allowed;
      allowed = visible.map((x, half) => f.let(before ? v128.and(before[half], x) : x));
    };
    const { limit } = this;
    if (limit) restrict(keys.map((k) => i32x4.lt_s(k, limit)));
    this.readTensors.forEach((kind, n) => {
      const at = this.tensorAt[n];
      if (kind === "float") {
        const bias = scores.map((_, half) => f.let(v128.load(at, 16 * half)));
        scores.forEach((value, half) => f.set(value, f32x4.add(value, bias[half])));
        restrict(bias.map((x) => f32x4.ne(x, m.c(-Infinity))));
      } else if (isMasked) {
        const bytes = [0, 1].map((half) => i16x8.extend_low_i8x16_u(v128.load32_zero(at, 4 * half)));
        restrict(bytes.map((x) => i32x4.ne(i32x4.extend_low_i16x8_u(x), m.bits(0))));
      }
    });
    return allowed;
  }

  /** Advances by eight keys. */
  next(m: Arithmetic): void {
    const { f } = this;
    if (this.changes) for (const k of this.keys) f.set(k, i32x4.add(k, m.bits(8)));
    this.readTensors.forEach((kind, n) => f.step(this.tensorAt[n], kind === "bool" ? 8 : 32));
  }
}

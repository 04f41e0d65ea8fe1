/** Dropout of the cells of a row in a kernel: the bits of core/random/random.ts, eight keys at a time. */

import type { FunctionBuilder, I32Value, Local, V128Value } from "../../assembler/index.ts";
import { f32x4, i32, i32x4, v128 } from "../../assembler/index.ts";
import type { Arithmetic } from "../../codegen/math.ts";
import type { Spec } from "../../codegen/spec.ts";
import * as CallStruct from "../../codegen/structs/call.ts";
import * as TaskStruct from "../../codegen/structs/task.ts";

const SPREAD_Q = 0xc2b2ae3d | 0;
const SPREAD_K = 0x27d4eb2f;

/** Murmur's finalizer on one number; core/random/random.ts `mix`. */
function mixScalar(f: FunctionBuilder, value: I32Value): I32Value {
  const x = f.int(value);
  f.set(x, i32.mul(i32.xor(x, i32.shr_u(x, 16)), 0x85ebca6b | 0));
  f.set(x, i32.mul(i32.xor(x, i32.shr_u(x, 13)), 0xc2b2ae35 | 0));
  return i32.xor(x, i32.shr_u(x, 16));
}

/** Murmur's finalizer on four numbers. */
function mixVector(f: FunctionBuilder, m: Arithmetic, value: V128Value): V128Value {
  const x = f.let(value);
  f.set(x, i32x4.mul(v128.xor(x, i32x4.shr_u(x, 16)), m.bits(0x85ebca6b)));
  f.set(x, i32x4.mul(v128.xor(x, i32x4.shr_u(x, 13)), m.bits(0xc2b2ae35)));
  return v128.xor(x, i32x4.shr_u(x, 16));
}

/** Dropout of the cells of a row: bits of (head key, q, k) against the threshold; core/random/random.ts. */
export function beginDropout(f: FunctionBuilder, spec: Spec, task: Local<"i32">) {
  const call = f.int(i32.load(task, TaskStruct.call));
  const threshold = f.let(v128.load32_splat(call, CallStruct.dropThreshold));
  const scale = f.let(v128.load32_splat(call, CallStruct.dropScale));
  const listed = spec.dropout === "listed";
  const cells = listed ? listedCells(f, task, call) : countedCells(f, task);
  return {
    row: cells.row,
    apply(m: Arithmetic, p: V128Value, half: number): V128Value {
      return v128.and(f32x4.mul(p, scale), i32x4.ge_u(mixVector(f, m, cells.key(m, half)), threshold));
    },
    /** Dropout factor of each cell of a vector: 0 or 1/(1 − p). */
    factor(m: Arithmetic, half: number): V128Value {
      return v128.and(scale, i32x4.ge_u(mixVector(f, m, cells.key(m, half)), threshold));
    },
    next: cells.next,
  };
}

/** Dropout keys of the cells of a row before they are mixed, eight keys at a time. */
interface DropoutCells {
  row(m: Arithmetic, row: I32Value, key: I32Value): void;
  key(m: Arithmetic, half: number): Local<"v128">;
  next(m: Arithmetic): void;
}

const mixedRow = (f: FunctionBuilder, task: Local<"i32">, q: I32Value): I32Value =>
  mixScalar(f, i32.add(i32.load(task, TaskStruct.dropKey), i32.mul(q, SPREAD_Q)));

/** For positions row + offset and the index of the key. */
function countedCells(f: FunctionBuilder, task: Local<"i32">): DropoutCells {
  const seeded = [f.local("v128"), f.local("v128")];
  return {
    row(m, row, key) {
      const mixed = mixedRow(f, task, i32.add(row, i32.load(task, TaskStruct.offset)));
      const spread = m.bits(SPREAD_K);
      const k = i32x4.add(i32x4.splat(key), m.lanes());
      f.set(seeded[0], i32x4.add(i32x4.splat(mixed), i32x4.mul(k, spread)));
      f.set(seeded[1], i32x4.add(seeded[0], i32x4.mul(m.bits(4), spread)));
    },
    key: (_, half) => seeded[half],
    next(m) {
      for (const x of seeded) f.set(x, i32x4.add(x, i32x4.mul(m.bits(8), m.bits(SPREAD_K))));
    },
  };
}

/** For positions in the call's lists. */
function listedCells(f: FunctionBuilder, task: Local<"i32">, call: Local<"i32">): DropoutCells {
  const at = f.local("i32");
  const mixed = f.local("v128");
  const batch = (list: number, stride: number) =>
    i32.add(i32.load(call, list), i32.mul(i32.load(task, TaskStruct.batch), i32.load(call, stride)));
  return {
    row(_, row, key) {
      const query = i32.add(
        batch(CallStruct.queryPositions, CallStruct.queryPositionsBatch),
        i32.shl(row, 2),
      );
      f.set(mixed, i32x4.splat(mixedRow(f, task, i32.load(query))));
      f.set(at, i32.add(batch(CallStruct.keyPositions, CallStruct.keyPositionsBatch), i32.shl(key, 2)));
    },
    key: (m, half) => f.let(i32x4.add(mixed, i32x4.mul(v128.load(at, 16 * half), m.bits(SPREAD_K)))),
    next: () => f.step(at, 32),
  };
}

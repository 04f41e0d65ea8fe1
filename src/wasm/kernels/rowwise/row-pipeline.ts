/**
 * Shared by the kernels that pass over arrays once (functions of one number, norms, the loss, the optimizer): the
 * words of their tasks, and loops over the vectors of a row.
 */
import type { F32Value, FunctionBuilder, Local, V128Value } from "../../assembler/index.ts";
import { f32, f32x4, i32, ModuleBuilder, v128, ZERO } from "../../assembler/index.ts";
import { type Arithmetic, withConstants } from "../../codegen/math.ts";

/** Words of a task: how many rows, numbers of a row, and the address of each array's first row. */
export const PipelineStruct = { rows: 0, count: 4, arrays: 8, size: 64 } as const;

/** The parameters that such a kernel is specialized on, besides its name. */
export interface PipelineSpec {
  /** Multiply and add in one rounding (relaxed_madd) or two. */
  readonly fused: boolean;
  readonly shared: boolean;
}

/** A module that exports `run(task, workspace)`; `write` gets rows, numbers of a row and the addresses of `arrays` arrays. */
export function pipelineKernel(
  spec: PipelineSpec,
  arrays: number,
  write: (
    f: FunctionBuilder,
    m: Arithmetic,
    rows: Local<"i32">,
    count: Local<"i32">,
    at: Local<"i32">[],
  ) => void,
): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder({ shared: spec.shared });
  module.func(
    "run",
    ["task", "workspace"],
    (f, { task }) => {
      const rows = f.int(i32.load(task, PipelineStruct.rows));
      const count = f.int(i32.load(task, PipelineStruct.count));
      const at = Array.from({ length: arrays }, (_, n) =>
        f.int(i32.load(task, PipelineStruct.arrays + 4 * n)),
      );
      withConstants(f, { ...spec, wide: false }, (m) => write(f, m, rows, count, at));
    },
    { exported: true },
  );
  return module.encode();
}

/**
 * Loops over `vectors` vectors of some arrays, four at a time, then one at a time: `body` gets their offsets from the
 * pointers, which are moved, and does each step for all of them, loads before stores. Where V8 widens vectors, it then
 * finds the pairs. Constants are kept in registers: here that is faster than loading them at each use, as the wide kernels of
 * attention do (measured: 1.2 and 1.4 ns per number for silu).
 */
export function eachVector(
  f: FunctionBuilder,
  pointers: readonly Local<"i32">[],
  vectors: Local<"i32">,
  body: (offsets: readonly number[]) => void,
): void {
  const left = f.int(vectors);
  const turn = (count: number) =>
    f.loop(
      () => i32.ge_s(left, count),
      () => {
        body(Array.from({ length: count }, (_, n) => 16 * n));
        for (const at of pointers) f.step(at, 16 * count);
        f.step(left, -count);
      },
    );
  turn(4);
  turn(1);
}

/** Sets `vectors` vectors from `at` on to 0; `at` is moved. */
export function clearVectors(f: FunctionBuilder, at: Local<"i32">, vectors: Local<"i32">): void {
  eachVector(f, [at], vectors, (offsets) => {
    for (const offset of offsets) f.storeVector(at, ZERO, offset);
  });
}

/** One step for each of some vectors. */
export const each = (
  f: FunctionBuilder,
  xs: readonly Local<"v128">[],
  step: (x: Local<"v128">, n: number) => V128Value,
): Local<"v128">[] => xs.map((x, n) => f.let(step(x, n)));

/** Vectors at some offsets. */
export const loads = (f: FunctionBuilder, at: Local<"i32">, offsets: readonly number[]): Local<"v128">[] =>
  offsets.map((offset) => f.let(v128.load(at, offset)));

export function stores(
  f: FunctionBuilder,
  at: Local<"i32">,
  offsets: readonly number[],
  xs: readonly V128Value[],
): void {
  xs.forEach((x, n) => f.storeVector(at, x, offsets[n]));
}

/** The sum of all lanes of four vectors, in one fixed order. */
export function total(f: FunctionBuilder, [a, b, c, d]: readonly V128Value[]): F32Value {
  const sum = f.let(f32x4.add(f32x4.add(a, b), f32x4.add(c, d)));
  const lane = (n: number) => f32x4.extract_lane(sum, n);
  return f32.add(f32.add(lane(0), lane(1)), f32.add(lane(2), lane(3)));
}

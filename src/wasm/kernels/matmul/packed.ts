/**
 * The product kernel for a matrix that was packed once (ops/packed.ts): C = bias + A·B, B in panels [panel][k][16] in its own storage.
 * Sums have the order of those in kernels/matmul/matmul.ts, and so the same bits: blocks of DEPTH along K, each from 0.
 *
 *   several rows   A's rows into strips, then for each panel of B (widened where it has 16 bits) and each strip a register tile
 *   one row        for each panel of B 16 sums along all of K: B is read once, in order; reading it takes all of the time
 */
import { DTYPES, type StoredDType } from "../../../core/dtype.ts";
import { f32x4, i32, type Local, ModuleBuilder, v128, ZERO } from "../../assembler/index.ts";
import { loadFloats, maddOf, withConstants } from "../../codegen/math.ts";
import { panelOf, type RegisterTile, roundUp, shortDType, tileKey } from "../../codegen/spec.ts";
import { DEPTH, packing, product } from "./matmul.ts";

/** The parameters that the kernel is specialized on. */
export interface PackedProductSpec {
  /** Multiply and add in one rounding (relaxed_madd) or two. */
  readonly fused: boolean;
  /** Written so that V8 widens pairs of vectors to 256 bits. */
  readonly wide: boolean;
  readonly tile: RegisterTile;
  readonly b: StoredDType;
  readonly shared: boolean;
}

/** Columns of a packed panel: whole register tiles of every level. */
export const PACKED_COLUMNS = 16;
const VECTORS = PACKED_COLUMNS / 4;

/** Words of a task. */
export const PackedProductStruct = {
  /** First number of A, float32 along K, and bytes from row to row. */
  a: 0,
  aRow: 4,
  /** The first panel of B. */
  b: 8,
  rows: 12,
  /** Columns of C, rounded up to full panels. */
  columns: 16,
  depth: 20,
  c: 24,
  cRow: 28,
  /** The start value of each row: the bias, from the first column on. */
  bias: 32,
  size: 48,
} as const;

/**
 * Maximum number of rows of a task. A panel of B is read from memory and used for all of them; their strips stay in the L2 cache.
 * 12 to 15 % faster than 24 rows for matrices of 2 and 9 MB (measured, 128 rows).
 */
const MAX_ROWS = 132;

/** Rows of a task: full strips, and at least `blocks` tasks of about the same size where there are enough rows. */
export function packedTaskRows({ tile }: PackedProductSpec, rows: number, blocks: number): number {
  const count = Math.max(blocks, Math.ceil(rows / MAX_ROWS));
  return roundUp(Math.ceil(rows / count), tile.rows);
}

/** A thread's workspace: A's packed rows, one widened panel of B. */
export function packedWorkspace(spec: PackedProductSpec): { b: number; size: number } {
  const b = roundUp(roundUp(MAX_ROWS, spec.tile.rows) * DEPTH * 4 + 64, 64);
  return { b, size: b + (spec.b === "float32" ? 0 : PACKED_COLUMNS * DEPTH * 4) + 64 };
}

/** The readable key of a kernel: `packed matmul fma 6x2 f32`. */
export function packedProductKey(spec: PackedProductSpec): string {
  return `packed matmul ${tileKey(spec)} ${shortDType(spec.b)}${spec.shared ? "" : " unshared"}`;
}

/** Bytes of the module; it exports `run(task, workspace)`. */
export function packedProductKernel(spec: PackedProductSpec): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder(spec);
  const bytes = DTYPES[spec.b].bytes;
  const space = packedWorkspace(spec);
  const panel = panelOf(spec.tile);
  const packA = packing(module, spec, "float32", spec.tile.rows).along;
  const multiply = product(module, spec, 4 * PACKED_COLUMNS);
  const one = oneRow(module, spec);
  const widen = spec.b === "float32" ? undefined : widening(module, spec);
  module.func(
    "run",
    ["task", "ws"],
    (f, { task, ws }) => {
      const word = (at: number): Local<"i32"> => f.int(i32.load(task, at));
      const [a, aRow, b] = [PackedProductStruct.a, PackedProductStruct.aRow, PackedProductStruct.b].map(word);
      const rows = word(PackedProductStruct.rows);
      const columns = word(PackedProductStruct.columns);
      const depth = word(PackedProductStruct.depth);
      const [c, cRow, from] = [PackedProductStruct.c, PackedProductStruct.cRow, PackedProductStruct.bias].map(
        word,
      );
      const bPanel = f.int(i32.mul(depth, PACKED_COLUMNS * bytes));
      const left = f.int(columns);
      f.when(
        i32.eq(rows, 1),
        () =>
          f.down(left, PACKED_COLUMNS, () => {
            f.call(one, a, b, depth, c, from);
            f.step(b, bPanel);
            f.step(c, 4 * PACKED_COLUMNS);
            f.step(from, 4 * PACKED_COLUMNS);
          }),
        () => {
          const fromRow = f.int(0);
          const strips = f.int(i32.div_s(i32.add(rows, spec.tile.rows - 1), spec.tile.rows));
          const length = f.local("i32");
          const [bAt, cAt, fromAt, panelB] = Array.from({ length: 4 }, () => f.local("i32"));
          f.down(depth, DEPTH, () => {
            f.set(length, depth);
            f.when(i32.gt_s(depth, DEPTH), () => f.set(length, DEPTH));
            f.call(packA, a, aRow, rows, length, ws);
            f.set(left, columns);
            f.set(bAt, b);
            f.set(cAt, c);
            f.set(fromAt, from);
            f.down(left, PACKED_COLUMNS, () => {
              f.set(panelB, bAt);
              if (widen) {
                f.set(panelB, i32.add(ws, space.b));
                f.call(widen, bAt, panelB, length);
              }
              for (let column = 0; column < PACKED_COLUMNS; column += panel) {
                const at = 4 * column;
                f.call(
                  multiply,
                  ws,
                  i32.add(panelB, at),
                  length,
                  i32.add(cAt, at),
                  cRow,
                  i32.add(fromAt, at),
                  fromRow,
                  strips,
                );
              }
              f.step(bAt, bPanel);
              f.step(cAt, 4 * PACKED_COLUMNS);
              f.step(fromAt, 4 * PACKED_COLUMNS);
            });
            // The next block is added to C.
            f.set(from, c);
            f.set(fromRow, cRow);
            f.step(a, 4 * DEPTH);
            f.step(b, PACKED_COLUMNS * bytes * DEPTH);
          });
        },
      );
    },
    { exported: true },
  );
  return module.encode();
}

/** oneRow(a, b, depth, c, from): 16 columns of C = from + a·B for one row of A and one panel of B. */
function oneRow(module: ModuleBuilder, spec: PackedProductSpec) {
  const bytes = DTYPES[spec.b].bytes;
  const madd = maddOf(spec.fused);
  const unroll = 4;
  return module.func("one row", ["a", "b", "depth", "c", "from"], (f, { a, b, depth, c, from }) =>
    withConstants(f, spec, (m) => {
      const columns = Array.from({ length: VECTORS }, () => f.local("v128"));
      const sums = columns.map(() => f.local("v128"));
      const totals = columns.map((_, j) => f.let(v128.load(from, 16 * j)));
      const length = f.local("i32");
      const end = f.local("i32");
      /** Steps along k, `times` written out, until `a` is at `end`. */
      const steps = (times: number) =>
        f.repeat(() => {
          for (let u = 0; u < times; u++) {
            columns.forEach((x, j) =>
              f.set(x, loadFloats(f, m, spec.b, b, (u * PACKED_COLUMNS + 4 * j) * bytes)),
            );
            const one = f.let(v128.load32_splat(a, 4 * u));
            sums.forEach((x, j) => f.set(x, madd(one, columns[j], x)));
          }
          f.step(a, 4 * times);
          f.step(b, times * PACKED_COLUMNS * bytes);
          return i32.ne(a, end);
        });
      f.down(depth, DEPTH, () => {
        f.set(length, depth);
        f.when(i32.gt_s(depth, DEPTH), () => f.set(length, DEPTH));
        for (const x of sums) f.set(x, ZERO);
        f.set(end, i32.add(a, i32.mul(i32.and(length, -unroll), 4)));
        f.when(i32.ne(a, end), () => steps(unroll));
        f.set(end, i32.add(a, i32.mul(i32.and(length, unroll - 1), 4)));
        f.when(i32.ne(a, end), () => steps(1));
        totals.forEach((x, j) => f.set(x, f32x4.add(x, sums[j])));
      });
      totals.forEach((x, j) => f.storeVector(c, x, 16 * j));
    }),
  );
}

/** widen(source, target, length): `length` times 16 columns of a panel of 16-bit numbers as float32. */
function widening(module: ModuleBuilder, spec: PackedProductSpec) {
  const bytes = DTYPES[spec.b].bytes;
  return module.func("widen", ["source", "target", "length"], (f, { source, target, length }) =>
    withConstants(f, spec, (m) =>
      f.repeat(() => {
        const all = Array.from({ length: VECTORS }, (_, j) =>
          f.let(loadFloats(f, m, spec.b, source, 4 * j * bytes)),
        );
        all.forEach((x, j) => f.storeVector(target, x, 16 * j));
        f.step(source, PACKED_COLUMNS * bytes);
        f.step(target, 4 * PACKED_COLUMNS);
        f.step(length, -1);
        return length;
      }),
    ),
  );
}

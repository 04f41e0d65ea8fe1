/**
 * The matrix product kernel: C = start + A·B for a block of rows and some panels of columns (Goto & van de Geijn 2008).
 *
 *   for each block of at most 256 along K:
 *     A's rows into strips [strip][k][rows of a register tile]                   packed in the thread's workspace
 *     for each panel of B [k][columns of a register tile]:                        packed before, or here
 *       for each strip: a register tile of sums, from 0 in order of k; C = C + sums
 *
 * Both operands are read strictly in order, A broadcast number by number. C has full tiles: rows and columns after the last
 * ones are written too, and never read. Operands may be contiguous along K or across it, so none is transposed before.
 */
import { DTYPES, type StoredDType } from "../../../core/dtype.ts";
import type { Func, FunctionBuilder, I32Value, Local, V128Value } from "../../assembler/index.ts";
import { f32x4, i32, ModuleBuilder, v128, ZERO } from "../../assembler/index.ts";
import { type Arithmetic, loadFloats, loadOne, maddOf, withConstants } from "../../codegen/math.ts";
import { panelOf, type RegisterTile, roundUp, shortDType, tileKey } from "../../codegen/spec.ts";
import { transpose4 } from "../lanes.ts";

/** The parameters that a product kernel is specialized on; sizes are not among them. */
export interface ProductSpec {
  /** Multiply and add in one rounding (relaxed_madd) or two. */
  readonly fused: boolean;
  /** Written so that V8 widens pairs of vectors to 256 bits. */
  readonly wide: boolean;
  readonly tile: RegisterTile;
  readonly a: StoredDType;
  readonly b: StoredDType;
  readonly shared: boolean;
}

/** Maximum number of k in one sum from 0: a panel of B is then 8 or 16 KB, half of an L1 cache. Results depend on it. */
export const DEPTH = 256;

/** Rows of A that a task packs at a time. */
export const taskRows = (tile: RegisterTile): number =>
  24 - (24 % tile.rows) + (24 % tile.rows > 0 ? tile.rows : 0);

/** Words of a task. */
export const ProductStruct = {
  /** 0: a product; 1: pack B. */
  kind: 0,
  /** First element of A, bytes from row to row and from k to k; not 0 where rows are neighbors and not k. */
  a: 4,
  aRow: 8,
  aDeep: 12,
  aAcross: 16,
  /** First panel of packed B and bytes from panel to panel; or, where `b` is 0, B in place. */
  b: 20,
  bPanel: 24,
  bSource: 28,
  bColumn: 32,
  bDeep: 36,
  bAcross: 40,
  /** Rows, columns, and the length of the sums. */
  rows: 44,
  columns: 48,
  depth: 52,
  c: 56,
  cRow: 60,
  /** Start values that the first block's sums are added to, and the bytes from row to row: 0 for a bias. */
  from: 64,
  fromRow: 68,
  size: 80,
} as const;

/** A thread's workspace: A's packed rows, one panel of B. */
export function productWorkspace(spec: ProductSpec): { a: number; b: number; size: number } {
  const b = roundUp(taskRows(spec.tile) * DEPTH * 4 + 64, 64);
  return { a: 0, b, size: b + panelOf(spec.tile) * DEPTH * 4 + 64 };
}

/** The readable key of a kernel: `matmul fma 6x2 f32`. */
export function productKey(spec: ProductSpec): string {
  const storage = spec.a === spec.b ? shortDType(spec.a) : `${shortDType(spec.a)}/${shortDType(spec.b)}`;
  return `matmul ${tileKey(spec)} ${storage}${spec.shared ? "" : " unshared"}`;
}

/** Bytes of the module; it exports `run(task, workspace)`. */
export function productKernel(spec: ProductSpec): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder(spec);
  const { tile } = spec;
  const space = productWorkspace(spec);
  const [strip, panel] = [tile.rows, panelOf(tile)];
  const packA = packing(module, spec, spec.a, strip);
  const packB = packing(module, spec, spec.b, panel);
  const multiply = product(module, spec, 4 * panel);

  module.func(
    "run",
    ["task", "ws"],
    (f, { task, ws }) => {
      const word = (at: number): Local<"i32"> => f.int(i32.load(task, at));
      const depth = word(ProductStruct.depth);
      const columns = word(ProductStruct.columns);
      const source = word(ProductStruct.bSource);
      const [bColumn, bDeep, bAcross] = [
        word(ProductStruct.bColumn),
        word(ProductStruct.bDeep),
        word(ProductStruct.bAcross),
      ];
      const packed = word(ProductStruct.b);
      const copyLinesOfB = (
        from: Local<"i32">,
        count: Local<"i32">,
        length: Local<"i32">,
        to: Local<"i32">,
      ) =>
        f.when(
          bAcross,
          () => f.call(packB.across, from, bDeep, count, length, to),
          () => f.call(packB.along, from, bColumn, count, length, to),
        );
      f.when(
        i32.load(task, ProductStruct.kind),
        () => copyLinesOfB(source, columns, depth, packed),
        () => {
          const rows = word(ProductStruct.rows);
          const [a, aRow, aDeep, aAcross] = [
            word(ProductStruct.a),
            word(ProductStruct.aRow),
            word(ProductStruct.aDeep),
            word(ProductStruct.aAcross),
          ];
          const bPanel = word(ProductStruct.bPanel);
          const [c, cRow] = [word(ProductStruct.c), word(ProductStruct.cRow)];
          const [from, fromRow] = [word(ProductStruct.from), word(ProductStruct.fromRow)];
          const strips = f.int(i32.div_s(i32.add(rows, strip - 1), strip));
          const length = f.local("i32");
          const left = f.local("i32");
          const [bAt, cAt, fromAt, sourceAt, panelB] = Array.from({ length: 5 }, () => f.local("i32"));
          f.down(depth, DEPTH, () => {
            f.set(length, depth);
            f.when(i32.gt_s(depth, DEPTH), () => f.set(length, DEPTH));
            f.when(
              aAcross,
              () => f.call(packA.across, a, aDeep, rows, length, ws),
              () => f.call(packA.along, a, aRow, rows, length, ws),
            );
            f.set(left, columns);
            f.set(bAt, packed);
            f.set(cAt, c);
            f.set(fromAt, from);
            f.set(sourceAt, source);
            f.down(left, panel, () => {
              f.set(panelB, bAt);
              f.when(i32.eqz(packed), () => {
                const count = f.int(left);
                f.when(i32.gt_s(count, panel), () => f.set(count, panel));
                f.set(panelB, i32.add(ws, space.b));
                copyLinesOfB(sourceAt, count, length, panelB);
                f.step(sourceAt, i32.mul(bColumn, panel));
              });
              f.call(multiply, ws, panelB, length, cAt, cRow, fromAt, fromRow, strips);
              f.step(bAt, bPanel);
              f.step(cAt, 4 * panel);
              f.step(fromAt, 4 * panel);
            });
            // The next block is added to C.
            f.set(from, c);
            f.set(fromRow, cRow);
            f.step(a, i32.mul(aDeep, DEPTH));
            f.step(packed, i32.mul(i32.ne(packed, 0), 4 * panel * DEPTH));
            f.step(source, i32.mul(bDeep, DEPTH));
          });
        },
      );
    },
    { exported: true },
  );
  return module.encode();
}

/**
 * product(a, b, length, c, cRow, from, fromRow, strips): C = from + A·B for packed strips of A and one packed panel of B, with
 * `bDeep` bytes from one k to the next.
 */
export function product(
  module: ModuleBuilder,
  spec: Pick<ProductSpec, "fused" | "tile">,
  bDeep: number,
): Func {
  const { rows, vectors, unroll } = spec.tile;
  const madd = maddOf(spec.fused);
  return module.func(
    "product",
    ["a", "b", "length", "c", "cRow", "from", "fromRow", "strips"],
    (f, { a, b, length, c, cRow, from, fromRow, strips }) => {
      const acc = Array.from({ length: rows }, () => Array.from({ length: vectors }, () => f.local("v128")));
      const columns = acc[0].map(() => f.local("v128"));
      const bAt = f.local("i32");
      const end = f.local("i32");
      /** Steps along k, `times` written out, until `a` is at `end`. */
      const steps = (times: number) =>
        f.repeat(() => {
          for (let u = 0; u < times; u++) {
            columns.forEach((x, j) => f.set(x, v128.load(bAt, u * bDeep + 16 * j)));
            acc.forEach((row, r) => {
              const one = f.let(v128.load32_splat(a, 4 * (u * rows + r)));
              row.forEach((x, j) => f.set(x, madd(one, columns[j], x)));
            });
          }
          f.step(a, times * 4 * rows);
          f.step(bAt, times * bDeep);
          return i32.ne(a, end);
        });
      f.repeat(() => {
        f.set(bAt, b);
        for (const row of acc) for (const x of row) f.set(x, ZERO);
        if (unroll > 1) {
          f.set(end, i32.add(a, i32.mul(i32.and(length, -unroll), 4 * rows)));
          f.when(i32.ne(a, end), () => steps(unroll));
          f.set(end, i32.add(a, i32.mul(i32.and(length, unroll - 1), 4 * rows)));
          f.when(i32.ne(a, end), () => steps(1));
        } else {
          f.set(end, i32.add(a, i32.mul(length, 4 * rows)));
          steps(1);
        }
        // All of a row is computed before any of it is stored: a store between two loads keeps V8 from pairing them.
        for (const row of acc) {
          const old = row.map((_, j) => f.let(v128.load(from, 16 * j)));
          const next = row.map((x, j) => f.let(f32x4.add(old[j], x)));
          next.forEach((x, j) => f.storeVector(c, x, 16 * j));
          f.step(c, cRow);
          f.step(from, fromRow);
        }
        f.step(strips, -1);
        return strips;
      });
    },
  );
}

/**
 * Packs `count` lines into strips of `width`: [strip][k][width]. `along(source, line, count, length, target)` reads
 * lines that are contiguous along k, `line` bytes apart; `across(source, deep, count, length, target)` reads lines that are
 * neighbors, with `deep` bytes from one k to the next. The missing lines of a last strip are undefined.
 */
export function packing(
  module: ModuleBuilder,
  spec: Pick<ProductSpec, "fused" | "wide">,
  storage: StoredDType,
  width: number,
): { along: Func; across: Func } {
  const bytes = DTYPES[storage].bytes;
  const groups = Math.ceil(width / 4);
  const name = `${width} ${storage}`;

  /** All strips: `body` packs one and advances `target` past it. */
  const strips = (f: FunctionBuilder, count: Local<"i32">, body: () => void) =>
    f.down(count, width, () => {
      body();
    });

  const across = module.func(
    `across ${name}`,
    ["source", "deep", "count", "length", "target"],
    (f, { source, deep, count, length, target }) =>
      withConstants(f, spec, (m) =>
        strips(f, count, () => {
          const at = f.int(source);
          const left = f.int(length);
          f.repeat(() => {
            // Where the width is not a multiple of four, the last vector overlaps the next k, which is written after it.
            const all = Array.from({ length: groups }, (_, g) =>
              f.let(loadFloats(f, m, storage, at, 4 * bytes * g)),
            );
            all.forEach((x, g) => f.storeVector(target, x, 16 * g));
            f.step(at, deep);
            f.step(target, 4 * width);
            f.step(left, -1);
            return left;
          });
          f.step(source, width * bytes);
        }),
      ),
  );

  const along = module.func(
    `along ${name}`,
    ["source", "line", "count", "length", "target"],
    (f, { source, line, count, length, target }) =>
      withConstants(f, spec, (m) => {
        const at = Array.from({ length: width }, () => f.local("i32"));
        const last = f.local("i32");
        const end = f.local("i32");
        strips(f, count, () => {
          // Lines after the last one read the last one.
          f.set(last, i32.add(source, i32.mul(line, i32.sub(count, 1))));
          at.forEach((x, n) => {
            f.set(x, n === 0 ? source : i32.add(at[n - 1], line));
            if (n > 0) f.when(i32.le_s(count, n), () => f.set(x, last));
          });
          const tail = f.int(i32.and(length, 3));
          f.set(end, i32.add(at[0], i32.mul(i32.sub(length, tail), bytes)));
          f.when(i32.ne(at[0], end), () =>
            f.repeat(() => {
              transposed(f, m, storage, at, target, width);
              f.step(target, 16 * width);
              return i32.ne(at[0], end);
            }),
          );
          f.down(tail, 1, () => {
            at.forEach((x, n) => {
              f.store("f32.store", target, f32x4.extract_lane(loadOne(f, m, storage, x), 0), 4 * n);
              f.step(x, bytes);
            });
            f.step(target, 4 * width);
          });
          f.step(source, i32.mul(line, width));
        });
      }),
  );
  return { along, across };
}

/** Four k of each line, transposed: four vectors along k become four along the lines. Advances the pointers past them. */
function transposed(
  f: FunctionBuilder,
  m: Arithmetic,
  storage: StoredDType,
  at: readonly Local<"i32">[],
  target: I32Value,
  width: number,
): void {
  const groups: V128Value[][] = [];
  for (let n = 0; n < width; n += 4) {
    const four = [0, 1, 2, 3].map((i) => at[Math.min(n + i, width - 1)]);
    const loaded = four.map((x) => f.let(loadFloats(f, m, storage, x)));
    groups.push(transpose4(f, loaded).map((x) => f.let(x)));
  }
  // In order of k: where the width is not a multiple of four, the last vector of each k overlaps the next k.
  for (let k = 0; k < 4; k++)
    groups.forEach((four, g) => f.storeVector(target, four[k], 4 * width * k + 16 * g));
  for (const x of at) f.step(x, 4 * DTYPES[storage].bytes);
}

/**
 * The products of the backward pass, added to C:
 *
 *   C[M, E] += factor·A·B      A read along its rows (dQ += dS·K) or down its columns (dV += Pᵀ·dO, dK += dSᵀ·Q)
 *
 * A is a tile of scores, rows `keyTile` numbers apart; B has rows of any stride; C is stored dense, in full panels. The same
 * register tile as in products.ts: the sum over the inner dimension starts at 0 and is added to C once.
 */
import type { Func, I32Value, ModuleBuilder, V128Value } from "../../assembler/index.ts";
import { f32x4, i32, v128, ZERO } from "../../assembler/index.ts";
import { maddOf } from "../../codegen/math.ts";
import { panelOf, type Spec } from "../../codegen/spec.ts";
import { accumulateTile, tileOf } from "./products.ts";

/** Parameters of a product. */
export interface ProductUpdate {
  readonly name: string;
  /** True where the rows of C are columns of A. */
  readonly transposed: boolean;
  /** Columns of C, in full panels. */
  readonly columns: number;
  /** Byte offset from `factors` of the factor of the product; undefined for 1. */
  readonly factor?: number;
}

/** Bytes from one row of C to the next in A, and from one inner index to the next. */
const stepsOf = (spec: Spec, of: ProductUpdate): readonly [number, number] =>
  of.transposed ? [4, 4 * spec.keyTile] : [4 * spec.keyTile, 4];

/** old + factor·sum, in one rounding where the spec is fused. */
function added(
  spec: Spec,
  of: ProductUpdate,
  factors: I32Value,
  sums: readonly V128Value[],
  old: readonly V128Value[],
  hold: (x: V128Value) => V128Value,
): V128Value[] {
  if (of.factor === undefined) return sums.map((x, j) => f32x4.add(old[j], x));
  const factor = hold(v128.load32_splat(factors, of.factor));
  const madd = maddOf(spec.fused);
  return sums.map((x, j) => madd(x, factor, old[j]));
}

/** accumulateProduct(a, b, bRow, c, factors, inner, groups): `groups` strips of rows of C, sums over `inner` ≥ 1 rows of B. */
export function accumulateProduct(module: ModuleBuilder, spec: Spec, of: ProductUpdate): Func {
  const { tile } = spec;
  const width = 4 * of.columns;
  const panels = of.columns / panelOf(tile);
  const [down, along] = stepsOf(spec, of);
  return module.func(
    of.name,
    ["a", "b", "bRow", "c", "factors", "inner", "groups"],
    (f, { a, b, bRow, c, factors, inner, groups }) => {
      if (panels === 0) return;
      const acc = tileOf(f, spec);
      const group = f.local("i32");
      const column = f.local("i32");
      const [at, from, aRow, cRow] = [0, 1, 2, 3].map(() => f.local("i32"));
      const length = f.int(i32.mul(inner, along));
      f.set(column, panels);
      f.repeat(() => {
        f.set(group, groups);
        f.set(aRow, a);
        f.set(cRow, c);
        f.repeat(() => {
          f.set(at, aRow);
          f.set(from, b);
          const end = f.int(i32.add(at, length));
          accumulateTile(f, spec, acc, { at, row: down, step: along }, { at: from, step: bRow }, end, 1);
          acc.forEach((row, r) => {
            const old = row.map((_, j) => f.let(v128.load(cRow, r * width + 16 * j)));
            const next = added(spec, of, factors, row, old, (x) => f.let(x)).map((x) => f.let(x));
            next.forEach((x, j) => f.storeVector(cRow, x, r * width + 16 * j));
          });
          f.step(aRow, tile.rows * down);
          f.step(cRow, tile.rows * width);
          f.step(group, -1);
          return group;
        });
        f.step(b, 4 * panelOf(tile));
        f.step(c, 4 * panelOf(tile));
        f.step(column, -1);
        return column;
      });
    },
  );
}

/**
 * The same product over unmasked cells only: accumulateVisibleProduct(a, kept, b, bRow, c, factors, inner, rows, sums). `kept`
 * has A's layout and is 0 where a cell is masked: B is not read there, so its NaN does not propagate. Same order of sums, so
 * the same bits.
 */
export function accumulateVisibleProduct(module: ModuleBuilder, spec: Spec, of: ProductUpdate): Func {
  const width = 4 * of.columns;
  const [down, along] = stepsOf(spec, of);
  const madd = maddOf(spec.fused);
  return module.func(
    `${of.name}Kept`,
    ["a", "visible", "b", "bRow", "c", "factors", "inner", "rows", "sums"],
    (f, { a, visible, b, bRow, c, factors, inner, rows, sums }) => {
      if (width === 0) return;
      const [n, e, row, at] = [0, 1, 2, 3].map(() => f.local("i32"));
      f.down(rows, 1, () => {
        f.count(e, 0, width, 16, () => f.storeVector(i32.add(sums, e), ZERO));
        f.set(row, b);
        f.set(at, 0);
        f.count(n, 0, inner, 1, () => {
          f.when(i32.load(i32.add(visible, at)), () => {
            const one = f.let(v128.load32_splat(i32.add(a, at)));
            f.count(e, 0, width, 16, () => {
              const to = f.int(i32.add(sums, e));
              f.storeVector(to, madd(one, v128.load(i32.add(row, e)), v128.load(to)));
            });
          });
          f.step(row, bRow);
          f.step(at, along);
        });
        f.count(e, 0, width, 16, () => {
          const to = f.int(i32.add(c, e));
          const old = f.let(v128.load(to));
          const sum = f.let(v128.load(i32.add(sums, e)));
          f.storeVector(to, added(spec, of, factors, [sum], [old], (x) => f.let(x))[0]);
        });
        f.step(a, down);
        f.step(visible, down);
        f.step(c, width);
      });
    },
  );
}

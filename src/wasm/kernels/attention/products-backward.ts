/**
 * The products of the backward pass, added to C:
 *
 *   C[M, E] += factor·A·B      A read along its rows (dQ += dS·K) or down its columns (dV += Pᵀ·dO, dK += dSᵀ·Q)
 *
 * A is a tile of scores, rows `keyTile` numbers apart; B has rows of any stride; C is stored dense, in full panels. The same
 * register tile as in products.ts: the sum over the inner dimension starts at 0 and is added to C once.
 */
import type { Func, FunctionBuilder, I32Value, ModuleBuilder, V128Value } from "../../assembler/index.ts";
import { f32x4, i32, v128 } from "../../assembler/index.ts";
import { maddOf } from "../../codegen/math.ts";
import type { Spec } from "../../codegen/spec.ts";
import { type ProductSteps, stripProduct, visibleProduct } from "./products.ts";

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

/** The steps through A of a product. */
const stepsOf = (spec: Spec, of: ProductUpdate): ProductSteps =>
  of.transposed ? [4, 4 * spec.keyTile] : [4 * spec.keyTile, 4];

/** old + factor·sum, in one rounding where the spec is fused. */
const added =
  (f: FunctionBuilder, spec: Spec, of: ProductUpdate, factors: I32Value) =>
  (sums: readonly V128Value[], old: readonly V128Value[]): V128Value[] => {
    if (of.factor === undefined) return sums.map((x, j) => f32x4.add(old[j], x));
    const factor = f.let(v128.load32_splat(factors, of.factor));
    return sums.map((x, j) => maddOf(spec.fused)(x, factor, old[j]));
  };

/** accumulateProduct(a, b, bRow, c, factors, inner, groups): `groups` strips of rows of C, sums over `inner` ≥ 1 rows of B. */
export function accumulateProduct(module: ModuleBuilder, spec: Spec, of: ProductUpdate): Func {
  const names = ["a", "b", "bRow", "c", "factors", "inner", "groups"] as const;
  return module.func(of.name, names, (f, operands) =>
    stripProduct(f, spec, of.columns, stepsOf(spec, of), operands, () =>
      added(f, spec, of, operands.factors),
    ),
  );
}

/**
 * The same product over unmasked cells only: accumulateVisibleProduct(a, visible, b, bRow, c, factors, inner, rows, sums). `visible`
 * has A's layout and is 0 where a cell is masked.
 */
export function accumulateVisibleProduct(module: ModuleBuilder, spec: Spec, of: ProductUpdate): Func {
  const [down, along] = stepsOf(spec, of);
  const names = ["a", "visible", "b", "bRow", "c", "factors", "inner", "rows", "sums"] as const;
  return module.func(`${of.name}Kept`, names, (f, operands) => {
    const { a, visible, factors } = operands;
    visibleProduct(
      f,
      spec,
      of.columns,
      along,
      operands,
      (at) => i32.load(i32.add(visible, at)),
      () => added(f, spec, of, factors),
      () => {
        f.step(a, down);
        f.step(visible, down);
      },
    );
  });
}

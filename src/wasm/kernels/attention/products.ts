/**
 * The two matrix products of a tile, register-tiled:
 *
 *   scores   S[M, keys]  = Q·Kᵀ     Q row-major, K packed in panels [panel][d][columns]
 *   values   O[M, E]     = α·O + P·V  P and V row-major
 *
 * A tile of rows × vectors accumulators stays in registers; each step loads the vectors of B, then broadcasts one
 * number of A per row. V8 has 15 usable vector registers on x86: rows·vectors + vectors + 1 must not exceed them.
 * The sum over a tile's keys starts at 0 and is added to O once: two-level summation, 2–5 times more accurate than one chain.
 */
import type {
  Func,
  FunctionBuilder,
  I32Value,
  Local,
  ModuleBuilder,
  V128Value,
} from "../../assembler/index.ts";
import { f32x4, i32, v128, ZERO } from "../../assembler/index.ts";
import { paddedValue } from "../../codegen/layout.ts";
import { maddOf } from "../../codegen/math.ts";
import { panelOf, roundUp, type Spec } from "../../codegen/spec.ts";

/** Sums the products over the inner dimension in a tile of accumulators, from 0, until `a.at` reaches `end`. */
export function accumulateTile(
  f: FunctionBuilder,
  spec: Spec,
  acc: readonly (readonly Local<"v128">[])[],
  a: { at: Local<"i32">; row: number; step: number },
  b: { at: Local<"i32">; step: I32Value | number },
  end: I32Value,
  unroll: number,
): void {
  const madd = maddOf(spec.fused);
  const vectors = acc[0].map(() => f.local("v128"));
  for (const row of acc) for (const x of row) f.set(x, ZERO);
  f.repeat(() => {
    for (let u = 0; u < unroll; u++) {
      const fixed = typeof b.step === "number";
      vectors.forEach((x, j) => f.set(x, v128.load(b.at, 16 * j + (fixed ? u * (b.step as number) : 0))));
      acc.forEach((row, r) => {
        const one = f.let(v128.load32_splat(a.at, r * a.row + u * a.step));
        row.forEach((x, j) => f.set(x, madd(one, vectors[j], x)));
      });
      if (!fixed) f.step(b.at, b.step);
    }
    f.step(a.at, unroll * a.step);
    if (typeof b.step === "number") f.step(b.at, unroll * b.step);
    return i32.ne(a.at, end);
  });
}

/** Locals for a register tile. */
export function tileOf(f: FunctionBuilder, spec: Spec): Local<"v128">[][] {
  return Array.from({ length: spec.tile.rows }, () =>
    Array.from({ length: spec.tile.vectors }, () => f.local("v128")),
  );
}

/** Bytes of a row of the packed queries. */
export const queryRowBytes = (spec: Spec): number => 4 * Math.max(spec.dk, 1);

/**
 * scores(q, k, s, panels, groups): S of `groups` strips of rows against `panels` panels of packed keys. Rows of Q hold
 * `depth` numbers and are `row` bytes apart.
 */
export function scores(
  module: ModuleBuilder,
  spec: Spec,
  of = { name: "scores", depth: spec.dk, row: queryRowBytes(spec) },
): Func {
  const { tile } = spec;
  const { depth, row: rowBytes } = of;
  const panel = panelOf(tile);
  return module.func(of.name, ["q", "k", "s", "panels", "groups"], (f, { q, k, s, panels, groups }) => {
    const acc = tileOf(f, spec);
    const group = f.local("i32");
    const a = f.local("i32");
    const b = f.local("i32");
    const qRow = f.local("i32");
    const sRow = f.local("i32");
    f.down(panels, 1, () => {
      f.set(group, groups);
      f.set(qRow, q);
      f.set(sRow, s);
      f.repeat(() => {
        f.set(a, qRow);
        f.set(b, k);
        if (depth === 0) for (const row of acc) for (const x of row) f.set(x, ZERO);
        else {
          const unroll = depth % tile.unroll === 0 ? tile.unroll : 1;
          const end = f.int(i32.add(a, 4 * depth));
          accumulateTile(
            f,
            spec,
            acc,
            { at: a, row: rowBytes, step: 4 },
            { at: b, step: 4 * panel },
            end,
            unroll,
          );
        }
        acc.forEach((row, r) => row.forEach((x, j) => f.storeVector(sRow, x, r * spec.keyTile * 4 + 16 * j)));
        f.step(qRow, tile.rows * rowBytes);
        f.step(sRow, tile.rows * spec.keyTile * 4);
        f.step(group, -1);
        return group;
      });
      f.step(k, 4 * panel * depth);
      f.step(s, 4 * panel);
    });
  });
}

/** values(p, v, vRow, o, alpha, keys, groups): O = α·O + P·V over `keys` ≥ 1 rows of V. */
export function values(module: ModuleBuilder, spec: Spec): Func {
  const { tile } = spec;
  const width = paddedValue(spec) * 4;
  const panels = paddedValue(spec) / panelOf(tile);
  const madd = maddOf(spec.fused);
  return module.func(
    "values",
    ["p", "v", "vRow", "o", "alpha", "keys", "groups"],
    (f, { p, v, vRow, o, alpha, keys, groups }) => {
      if (panels === 0) return;
      const acc = tileOf(f, spec);
      const group = f.local("i32");
      const column = f.local("i32");
      const a = f.local("i32");
      const b = f.local("i32");
      const pRow = f.local("i32");
      const oRow = f.local("i32");
      const factor = f.local("i32");
      f.set(column, panels);
      f.repeat(() => {
        f.set(group, groups);
        f.set(pRow, p);
        f.set(oRow, o);
        f.set(factor, alpha);
        f.repeat(() => {
          f.set(a, pRow);
          f.set(b, v);
          const end = f.int(i32.add(a, i32.shl(keys, 2)));
          accumulateTile(
            f,
            spec,
            acc,
            { at: a, row: spec.keyTile * 4, step: 4 },
            { at: b, step: vRow },
            end,
            1,
          );
          // A row is computed before any of it is stored: a store between two loads keeps V8 from pairing them.
          acc.forEach((row, r) => {
            const alphaOf = f.let(v128.load32_splat(factor, 4 * r));
            const old = row.map((_, j) => f.let(v128.load(oRow, r * width + 16 * j)));
            const next = row.map((x, j) => f.let(madd(old[j], alphaOf, x)));
            next.forEach((x, j) => f.storeVector(oRow, x, r * width + 16 * j));
          });
          f.step(pRow, tile.rows * spec.keyTile * 4);
          f.step(oRow, tile.rows * width);
          f.step(factor, 4 * tile.rows);
          f.step(group, -1);
          return group;
        });
        f.step(v, 4 * panelOf(tile));
        f.step(o, 4 * panelOf(tile));
        f.step(column, -1);
        return column;
      });
    },
  );
}

/** finite(v, vRow, keys): 1 where every number of these rows of V is finite. x·0 is NaN for NaN and ±∞, and NaN stays. */
export function finite(
  module: ModuleBuilder,
  spec: Spec,
  name = "finite",
  width = paddedValue(spec),
): Func & { result: "i32" } {
  return module.func(
    name,
    ["v", "vRow", "keys"],
    (f, { v, vRow, keys }) => {
      const bad = [0, 1].map(() => f.let(ZERO));
      const zero = f.let(ZERO);
      f.down(keys, 1, () => {
        for (let e = 0; e < width; e += 4) {
          const sum = bad[(e / 4) % 2];
          f.set(sum, f32x4.add(sum, f32x4.mul(v128.load(v, 4 * e), zero)));
        }
        f.step(v, vRow);
      });
      const sum = f.let(f32x4.add(bad[0], bad[1]) as V128Value);
      f.result(i32.eqz(v128.any_true(f32x4.ne(sum, sum))));
    },
    { result: "i32" },
  ) as Func & { result: "i32" };
}

/**
 * visibleValues(p, kept, v, vRow, o, alpha, keys, rows, sums): the same O = α·O + P·V, but reads a row of V only where the
 * score is not −∞, so NaN in a masked value does not propagate. Same order of sums, so the same bits.
 */
export function visibleValues(module: ModuleBuilder, spec: Spec): Func {
  const width = roundUp(paddedValue(spec), 4);
  const madd = maddOf(spec.fused);
  return module.func(
    "valuesKept",
    ["p", "rawScores", "v", "vRow", "o", "alpha", "keys", "rows", "sums"],
    (f, { p, rawScores, v, vRow, o, alpha, keys, rows, sums }) => {
      const k = f.local("i32");
      const e = f.local("i32");
      const row = f.local("i32");
      f.down(rows, 1, () => {
        f.count(e, 0, 4 * width, 16, () => f.storeVector(i32.add(sums, e), ZERO));
        f.set(row, v);
        f.count(k, 0, i32.shl(keys, 2), 4, () => {
          f.when(i32.ne(i32.load(i32.add(rawScores, k)), 0xff800000 | 0), () => {
            const one = f.let(v128.load32_splat(i32.add(p, k)));
            f.count(e, 0, 4 * width, 16, () => {
              const at = f.int(i32.add(sums, e));
              f.storeVector(at, madd(one, v128.load(i32.add(row, e)), v128.load(at)));
            });
          });
          f.step(row, vRow);
        });
        const factor = f.let(v128.load32_splat(alpha));
        f.count(e, 0, 4 * width, 16, () => {
          const at = f.int(i32.add(o, e));
          f.storeVector(at, madd(v128.load(at), factor, v128.load(i32.add(sums, e))));
        });
        f.step(p, spec.keyTile * 4);
        f.step(rawScores, spec.keyTile * 4);
        f.step(o, 4 * width);
        f.step(alpha, 4);
      });
    },
  );
}

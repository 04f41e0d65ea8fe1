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
function accumulateTile(
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
function tileOf(f: FunctionBuilder, spec: Spec): Local<"v128">[][] {
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

/** How a product reads A: bytes from one row of C to the next, and from one inner index to the next. */
export type ProductSteps = readonly [down: number, along: number];

/** New vectors of a row of C, from the sums and the vectors before. */
type Finish = (sums: readonly V128Value[], old: readonly V128Value[]) => readonly V128Value[];

/**
 * C ← finish(A·B, C) for `groups` strips of rows and all panels of `columns` columns; sums are over `inner` ≥ 1 rows of B. `finishRow(r)`
 * makes the last step of row r of a strip; `factors` is a pointer to a number of each row, which it may read.
 */
export function stripProduct(
  f: FunctionBuilder,
  spec: Spec,
  columns: number,
  [down, along]: ProductSteps,
  {
    a,
    b,
    bRow,
    c,
    inner,
    groups,
  }: Readonly<Record<"a" | "b" | "bRow" | "c" | "inner" | "groups", Local<"i32">>>,
  finishRow: (r: number, factors: Local<"i32">) => Finish,
  rowFactors?: Local<"i32">,
): void {
  const { tile } = spec;
  const width = 4 * columns;
  const panels = columns / panelOf(tile);
  if (panels === 0) return;
  const acc = tileOf(f, spec);
  const [group, column, at, from, aRow, cRow, factors] = Array.from({ length: 7 }, () => f.local("i32"));
  const length = f.int(i32.mul(inner, along));
  f.set(column, panels);
  f.repeat(() => {
    f.set(group, groups);
    f.set(aRow, a);
    f.set(cRow, c);
    if (rowFactors) f.set(factors, rowFactors);
    f.repeat(() => {
      f.set(at, aRow);
      f.set(from, b);
      const end = f.int(i32.add(at, length));
      accumulateTile(f, spec, acc, { at, row: down, step: along }, { at: from, step: bRow }, end, 1);
      // A row is computed before any of it is stored: a store between two loads keeps V8 from pairing them.
      acc.forEach((row, r) => {
        const finish = finishRow(r, factors);
        const old = row.map((_, j) => f.let(v128.load(cRow, r * width + 16 * j)));
        const next = finish(row, old).map((x) => f.let(x));
        next.forEach((x, j) => f.storeVector(cRow, x, r * width + 16 * j));
      });
      f.step(aRow, tile.rows * down);
      f.step(cRow, tile.rows * width);
      if (rowFactors) f.step(factors, 4 * tile.rows);
      f.step(group, -1);
      return group;
    });
    f.step(b, 4 * panelOf(tile));
    f.step(c, 4 * panelOf(tile));
    f.step(column, -1);
    return column;
  });
}

/**
 * The same product row by row over visible cells only: where `isVisible` is 0 for the cell `at` bytes from its row's first, B is not read, so its
 * NaN does not propagate. The same order of sums, so the same bits. `sums` is workspace for a row; `next` advances past a row of A.
 */
export function visibleProduct(
  f: FunctionBuilder,
  spec: Spec,
  columns: number,
  along: number,
  {
    a,
    b,
    bRow,
    c,
    inner,
    rows,
    sums,
  }: Readonly<Record<"a" | "b" | "bRow" | "c" | "inner" | "rows" | "sums", Local<"i32">>>,
  isVisible: (at: Local<"i32">) => I32Value,
  finishRow: () => Finish,
  next: () => void,
): void {
  const width = 4 * roundUp(columns, 4);
  if (width === 0) return;
  const madd = maddOf(spec.fused);
  const [n, e, row, at] = [0, 1, 2, 3].map(() => f.local("i32"));
  f.down(rows, 1, () => {
    f.count(e, 0, width, 16, () => f.storeVector(i32.add(sums, e), ZERO));
    f.set(row, b);
    f.set(at, 0);
    f.count(n, 0, inner, 1, () => {
      f.when(isVisible(at), () => {
        const one = f.let(v128.load32_splat(i32.add(a, at)));
        f.count(e, 0, width, 16, () => {
          const to = f.int(i32.add(sums, e));
          f.storeVector(to, madd(one, v128.load(i32.add(row, e)), v128.load(to)));
        });
      });
      f.step(row, bRow);
      f.step(at, along);
    });
    const finish = finishRow();
    f.count(e, 0, width, 16, () => {
      const to = f.int(i32.add(c, e));
      const old = f.let(v128.load(to));
      f.storeVector(to, finish([f.let(v128.load(i32.add(sums, e)))], [old])[0]);
    });
    next();
    f.step(c, width);
  });
}

/** α·old + sum, where α of row r is at `factors`. */
const rescaled = (f: FunctionBuilder, spec: Spec, factors: Local<"i32">, r = 0): Finish => {
  const alpha = f.let(v128.load32_splat(factors, 4 * r));
  return (sums, old) => sums.map((x, j) => maddOf(spec.fused)(old[j], alpha, x));
};

/** values(p, v, vRow, o, alpha, keys, groups): O = α·O + P·V over `keys` ≥ 1 rows of V. */
export function values(module: ModuleBuilder, spec: Spec): Func {
  return module.func("values", ["p", "v", "vRow", "o", "alpha", "keys", "groups"], (f, operands) => {
    const { p: a, v: b, vRow: bRow, o: c, alpha, keys: inner, groups } = operands;
    const steps = [4 * spec.keyTile, 4] as const;
    const product = { a, b, bRow, c, inner, groups };
    stripProduct(f, spec, paddedValue(spec), steps, product, (r, at) => rescaled(f, spec, at, r), alpha);
  });
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
 * visibleValues(p, rawScores, v, vRow, o, alpha, keys, rows, sums): the same O = α·O + P·V, but reads a row of V only where the
 * score is not −∞.
 */
export function visibleValues(module: ModuleBuilder, spec: Spec): Func {
  const names = ["p", "rawScores", "v", "vRow", "o", "alpha", "keys", "rows", "sums"] as const;
  return module.func("valuesKept", names, (f, operands) => {
    const { p: a, rawScores, v: b, vRow: bRow, o: c, alpha, keys: inner, rows, sums } = operands;
    visibleProduct(
      f,
      spec,
      paddedValue(spec),
      4,
      { a, b, bRow, c, inner, rows, sums },
      (at) => i32.ne(i32.load(i32.add(rawScores, at)), 0xff800000 | 0),
      () => rescaled(f, spec, alpha),
      () => {
        f.step(a, 4 * spec.keyTile);
        f.step(rawScores, 4 * spec.keyTile);
        f.step(alpha, 4);
      },
    );
  });
}

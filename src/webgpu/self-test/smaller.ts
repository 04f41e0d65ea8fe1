/** A small problem for which the same kernels are printed as for a call: with its masks, score mods, dtypes and options, on other numbers. */
import { type Problem, resolve } from "../../backend/problem.ts";
import type { DType } from "../../core/dtype.ts";
import { rowMajor, sizeOf, type Tensor, viewOf } from "../../core/tensor.ts";
import { type Expression, NumberExpression, substitute, type Table } from "../../masks/expression/expr.ts";
import { COLUMNS } from "../attention/forward.ts";
import { TILE } from "../tile.ts";

/** Makes tensors of numbers. */
export interface InputMaker {
  /** A tensor of numbers f(sin(…)) that do not repeat, rounded to a dtype. */
  input(seed: number, shape: readonly number[], f?: (x: number) => number, dtype?: DType): Tensor;
}

/** A size that has as many groups of 32 columns as `size`, and is even where `size` is. */
const narrow = (size: number): number =>
  Math.max(0, Math.min(size, TILE * (Math.ceil(Math.min(size, COLUMNS) / TILE) - 1) + 4));

/** Replaces the tables of an expression that are on another device. */
function hosted<E extends Expression>(expr: E, tables: ReadonlyMap<Table, Table>): E {
  const reads = new Map<Expression, NumberExpression>();
  const visit = (x: Expression): void => {
    const table = tables.get(x.value as Table);
    if (table) reads.set(x, new NumberExpression("table", x.type, x.args, table));
    for (const argument of x.args) visit(argument);
  };
  visit(expr);
  return substitute(expr, reads);
}

/** The problem: up to two batch entries and heads, M queries and N keys, the last query at the last key. */
export function smaller(m: InputMaker, problem: Problem, M: number, N: number): Problem {
  const { shape, offsets, positions, dropoutP, seed } = problem;
  const [B, H, queries, keys] = [Math.min(2, shape.B), Math.min(2, shape.Hq), Math.min(M, shape.Nq), Math.min(N, shape.Nk)]; // biome-ignore format: a row
  const [D, E] = [narrow(shape.dk), narrow(shape.dv)];
  const shapes = [[B, H, queries, D], [B, 1, keys, D], [B, 1, keys, E]]; // biome-ignore format: a row
  // Operands over one storage are bound once.
  const storages = new Map<unknown, Tensor>();
  const starts = [0, sizeOf(shapes[0]), sizeOf(shapes[0]) + sizeOf(shapes[1])];
  const inputs = [shape.query, shape.key, shape.value].map(({ tensor: { storage, dtype } }, n) => {
    const all = storages.get(storage) ?? m.input(n + 1, [starts[2] + sizeOf(shapes[2])], undefined, dtype);
    storages.set(storage, all);
    return viewOf(all, shapes[n], rowMajor(shapes[n]), starts[n]);
  });
  const small = resolve("webgpu", inputs[0], inputs[1], inputs[2], {
    attnMask: problem.tensors.map(({ kind, tensor }, n) =>
      m.input(n + 7, [queries, keys], (x) => (kind === "float" ? x : +(x > -0.7)), tensor.dtype),
    ),
    ...((problem.sinks ?? problem.deviceSinks) && { sinks: [0.5, -1].slice(0, H) }),
    dropoutP,
    seed,
  });
  const moves = offsets.some((x) => x !== offsets[0]);
  const first = Float64Array.from({ length: B }, (_, b) => Math.max(0, keys - queries) + (moves ? b : 0));
  const valuesOf = ({ shape }: Table) => Float64Array.from({ length: sizeOf(shape) }, (_, n) => Math.sin(n));
  const tables = new Map(
    problem.deviceTables.map((t): [Table, Table] => [t, Object.create(t, { data: { value: valuesOf(t) } })]),
  );
  return {
    ...small,
    ...(problem.mask && { mask: hosted(problem.mask, tables) }),
    ...(problem.score && { score: hosted(problem.score, tables) }),
    offsets: first,
    positions: positions.counted
      ? { counted: true, query: (b, i) => first[b] + i, key: (_, j) => j }
      : positions,
  };
}

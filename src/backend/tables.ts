/** The tables of masks and score mods against the sizes of a call: nothing may read outside of a list. */
import { ShapeError } from "../core/errors.ts";
import type { Shape } from "../core/shape.ts";
import { compileBounds } from "../masks/expression/bounds.ts";
import type { Expression, Table } from "../masks/expression/expr.ts";
import { type Positions, positionBounds } from "./positions.ts";

/** One index of a table, along `axis`, with the smallest and the largest value that it has in the call. */
interface TableRead {
  readonly axis: number;
  readonly index: Expression;
  readonly low: number;
  readonly high: number;
}

/**
 * A strict table (ids, lengths, slopes …) must cover every index of the call; an exact one has no further entries. Returns the
 * tables that are on other devices. `isPlaced`: an option sets the positions.
 */
export function checkTables(
  what: string,
  expr: Expression,
  shape: Shape,
  positions: Positions,
  isPlaced: boolean,
): Table[] {
  if (shape.B * shape.Hq * shape.Nq * shape.Nk === 0) return [];
  const box = {
    b0: 0,
    b1: shape.B - 1,
    h0: 0,
    h1: shape.Hq - 1,
    i0: 0,
    i1: shape.Nq - 1,
    ...positionBounds(positions, shape.Nq, shape.Nk),
  };
  const uses = new Map<Table, TableRead[]>();
  const visit = (x: Expression): void => {
    if (x.op === "table") {
      const t = x.value as Table;
      const reads = uses.get(t) ?? [];
      if (t.strict)
        x.args.forEach((index, axis) => {
          const { low, high, last } = compileBounds(index)(box);
          reads.push({ axis, index, low: low[last], high: high[last] });
        });
      uses.set(t, reads);
    }
    x.args.forEach(visit);
  };
  visit(expr);
  for (const [t, reads] of uses) checkTable(what, t, reads, shape, isPlaced);
  return [...uses.keys()].filter(({ source }) => source.device !== "cpu");
}

const INDEX_NAMES: Readonly<Record<string, string>> = {
  b: "b (batch entry)",
  h: "h (query head)",
  i: "i (query row)",
  q: "q (query position)",
  k: "k (key position)",
};

function checkTable(
  what: string,
  t: Table,
  reads: readonly TableRead[],
  shape: Shape,
  isPlaced: boolean,
): void {
  const fail = (axis: number, text: string, low: number, high: number): never => {
    throw new ShapeError(
      "table-length",
      `${what}: ${t.name} has ${t.shape[axis]} entries on axis ${axis}, but ${text}`,
      {
        table: t.name,
        shape: t.shape,
        low,
        high,
      },
    );
  };
  for (const { axis, index, low, high } of reads)
    if (low < 0 || high >= t.shape[axis])
      fail(axis, `${INDEX_NAMES[String(index.value)] ?? "its index"} runs from ${low} to ${high}`, low, high);
  for (const [axis, isExact] of (t.exact ?? []).entries()) {
    const along = reads.filter((index) => index.axis === axis);
    if (!isExact || along.length === 0) continue;
    const isCounted = along.some(({ index }) => index.value === "b" || index.value === "h");
    if (isPlaced && !isCounted) continue;
    const high = Math.max(...along.map((index) => index.high));
    if (high + 1 !== t.shape[axis])
      fail(
        axis,
        `this call has ${high + 1}: ${[...new Set(along.map(({ index }) => INDEX_NAMES[String(index.value)] ?? "its index"))].join(" and ")} runs to ${high}; give exactly ${high + 1}`,
        0,
        high,
      );
  }
  const positions = Math.max(shape.Nq, shape.Nk);
  if (t.highest !== undefined && !isPlaced && t.highest >= positions)
    throw new ShapeError(
      "table-length",
      `${what}: ${t.name} lists position ${t.highest}, but this call has positions 0 to ${positions - 1}`,
      { table: t.name, highest: t.highest, positions },
    );
}

/**
 * Positions of the queries and keys of a call in their sequence. Masks, score mods and dropout use positions; kernels
 * count rows and keys. Where query positions are row + offset and key positions are the indices of the keys, expressions do
 * not change. In any other call the variables q and k are substituted by expressions of the row i and the index of
 * the key: k + keyOffset, or a lookup in a list. So backends, the tile classifier and derivatives need no rule for positions.
 * At the end of the file, the tables of masks and score mods are checked: no position of the call may read outside of a list.
 */
import { formatValue, isList, OptionError, refuseGot, ShapeError } from "../core/errors.ts";
import type { Shape } from "../core/shape.ts";
import { compileBounds } from "../masks/expression/bounds.ts";
import type { Expression, NumberExpression, Table } from "../masks/expression/expr.ts";
import { LIMITS, substitute, VARS } from "../masks/expression/expr.ts";
import { table } from "../masks/expression/table.ts";

/** Options of a call for the positions of its queries and keys. */
export interface PositionOptions {
  /**
   * Causal attention; `true` needs Nq = Nk or positions: an offset or a list. `"lower-right"` aligns the last query with the
   * last key, `"upper-left"` query 0 with key 0; a `queryOffset` takes precedence. Default false.
   */
  isCausal?: boolean | "upper-left" | "lower-right";
  /** Position of query 0, a number or one for each batch entry. Default 0. */
  queryOffset?: number | ArrayLike<number>;
  /** Position of key 0, a number or one for each batch entry. Default 0. */
  keyOffset?: number | ArrayLike<number>;
  /** Position of every query row, [Nq], increasing; instead of `queryOffset`. Default queryOffset + row. */
  queryPositions?: ArrayLike<number>;
  /** Position of every key, [Nk], increasing; instead of `keyOffset`. Default keyOffset + index of the key. */
  keyPositions?: ArrayLike<number>;
}

/** Resolved positions. */
export interface Positions {
  /** Position of query 0 of every batch entry; 0 where there is a list. */
  readonly offsets: Float64Array;
  /** Position of key 0 of every batch entry; 0 where there is a list. */
  readonly keyOffsets: Float64Array;
  readonly queryList?: Int32Array;
  readonly keyList?: Int32Array;
  readonly isCausal: boolean;
  /** An option sets the positions. */
  readonly isPlaced: boolean;
}

/** Checks the position options of a call. */
export function resolvePositions(what: string, shape: Shape, options: PositionOptions): Positions {
  const { B, Nq, Nk } = shape;
  const { queryOffset, keyOffset, queryPositions, keyPositions, isCausal = false } = options;
  if (![true, false, "upper-left", "lower-right"].includes(isCausal))
    refuseGot("causal", `${what}: isCausal must be true, false, "upper-left" or "lower-right"`, isCausal);
  for (const [list, offset, of] of [
    [queryPositions, queryOffset, "query"],
    [keyPositions, keyOffset, "key"],
  ] as const)
    if (list !== undefined && offset !== undefined)
      throw new OptionError(
        "positions",
        `${what}: ${of}Positions and ${of}Offset both say where the ${of === "query" ? "queries" : "keys"} are; give one of them`,
      );
  const isPlaced = [queryOffset, keyOffset, queryPositions, keyPositions].some((x) => x !== undefined);
  if (isCausal === true && Nq !== Nk && !isPlaced)
    throw new OptionError(
      "causal-alignment",
      `${what}: isCausal: true is ambiguous for ${Nq} queries and ${Nk} keys; say isCausal: "upper-left" (query 0 at key 0) or "lower-right" (last query at last key), or give queryOffset`,
      { Nq, Nk },
    );
  if (typeof isCausal === "string" && (queryPositions ?? keyPositions) !== undefined)
    throw new OptionError(
      "causal-alignment",
      `${what}: isCausal: "${isCausal}" aligns rows, but ${queryPositions ? "queryPositions" : "keyPositions"} says where they are; with positions say isCausal: true`,
      { isCausal },
    );
  const queries = listOf(what, "queryPositions", queryPositions, Nq);
  const keys = listOf(what, "keyPositions", keyPositions, Nk);
  const keyOffsets =
    keys.offset !== undefined
      ? new Float64Array(B).fill(keys.offset)
      : offsetsOf(what, "keyOffset", keyOffset ?? 0, B, Nk);
  // Alignment: query 0 with key 0, or the last query with the last key.
  const aligned = keyOffsets.map((at) =>
    typeof isCausal !== "string" ? 0 : isCausal === "lower-right" ? at + Nk - Nq : at,
  );
  let offsets: Float64Array = aligned;
  if (queries.offset !== undefined) offsets = new Float64Array(B).fill(queries.offset);
  else if (queryOffset !== undefined) {
    offsets = offsetsOf(what, "queryOffset", queryOffset, B, Nq);
    for (let b = 0; b < B; b++)
      if (isCausal === "lower-right" && offsets[b] !== aligned[b])
        throw new OptionError(
          "causal-alignment",
          `${what}: isCausal: "lower-right" puts query 0 at key ${aligned[b]}, queryOffset at ${offsets[b]}; with queryOffset say isCausal: true`,
          { isCausal, Nq, Nk, queryOffset: offsets[b] },
        );
  }
  return {
    offsets,
    keyOffsets,
    ...(queries.list && { queryList: queries.list }),
    ...(keys.list && { keyList: keys.list }),
    isCausal: isCausal !== false,
    isPlaced,
  };
}

/** One offset for each batch entry. */
function offsetsOf(
  what: string,
  name: "queryOffset" | "keyOffset",
  offset: number | ArrayLike<number>,
  B: number,
  rows: number,
): Float64Array {
  const values: ArrayLike<number> = typeof offset === "number" ? new Float64Array(B).fill(offset) : offset;
  const code = name === "queryOffset" ? "query-offset" : "key-offset";
  if (typeof offset !== "number" && (!isList(values) || values.length !== B))
    throw new ShapeError(
      code,
      `${what}: ${name} must be a number or one for each of ${B} batch entries, got ${formatValue(offset)}`,
      { got: offset },
    );
  return Float64Array.from(values, (at) => {
    if (at !== 0 && !(Number.isInteger(at) && Math.abs(at) + rows < 2 ** 31))
      refuseGot(code, `${what}: ${name} must be integers below 2^31`, at);
    return at;
  });
}

/** A checked list of positions; a list without gaps becomes an offset. */
function listOf(
  what: string,
  name: "queryPositions" | "keyPositions",
  values: ArrayLike<number> | undefined,
  rows: number,
) {
  if (values === undefined) return {};
  const code = name === "queryPositions" ? "query-positions" : "key-positions";
  if (!isList(values) || values.length !== rows)
    throw new ShapeError(
      code,
      `${what}: ${name} must be a list of ${rows} positions, one for each ${name === "queryPositions" ? "query" : "key"}, got ${formatValue(values)}`,
      { got: values, want: rows },
    );
  for (let n = 0; n < rows; n++)
    if (
      !(Number.isInteger(values[n]) && Math.abs(values[n]) < 2 ** 30) ||
      (n > 0 && values[n] <= values[n - 1])
    )
      throw new OptionError(
        code,
        `${what}: ${name} must be increasing integers below 2^30, got ${formatValue(values[n])}${n > 0 ? ` after ${formatValue(values[n - 1])}` : ""} at index ${n}`,
        { got: values[n], index: n },
      );
  if (rows === 0 || values[rows - 1] - values[0] === rows - 1) return { offset: values[0] ?? 0 };
  return { list: Int32Array.from(values) };
}

/** True where the key positions are not the indices of the keys. */
const hasKeyPositions = ({ keyOffsets, keyList }: Positions): boolean =>
  keyList !== undefined || keyOffsets.some((x) => x !== 0);

/** A function that rewrites an expression over positions as one over rows and indices of keys. */
export function toRows(positions: Positions): <E extends Expression>(expr: E) => E {
  const { queryList, keyList, keyOffsets } = positions;
  const replacements = new Map<Expression, NumberExpression>();
  if (queryList) replacements.set(VARS.q, table(queryList, { name: "queryPositions" }).at(VARS.i));
  if (keyList) replacements.set(VARS.k, table(keyList, { name: "keyPositions" }).at(VARS.k));
  else if (hasKeyPositions(positions)) {
    const [first] = keyOffsets;
    const moved = keyOffsets.every((x) => x === first)
      ? VARS.k.add(first)
      : VARS.k.add(table(Int32Array.from(keyOffsets), { name: "keyOffset" }).at(VARS.b));
    replacements.set(VARS.k, moved);
  }
  return (expr) => (replacements.size === 0 ? expr : substitute(expr, replacements));
}

/** Positions of a call's queries and keys by row, for dropout, which is keyed by positions. @beta */
export interface RowPositions {
  /** Position of query row `row` of batch entry `b`. */
  query(b: number, row: number): number;
  /** Position of key `k` of batch entry `b`. */
  key(b: number, k: number): number;
  /** True where they are offset + row and the index of the key: kernels compute these themselves. */
  readonly counted: boolean;
}

/** Positions by row. */
export function rowPositions(positions: Positions): RowPositions {
  const { offsets, keyOffsets, queryList, keyList } = positions;
  return {
    query: (b, row) => (queryList ? queryList[row] : row + offsets[b]),
    key: (b, k) => (keyList ? keyList[k] : k + keyOffsets[b]),
    counted: queryList === undefined && !hasKeyPositions(positions),
  };
}

/** The ranges of positions in a call, which bound its variables q and k. */
function positionBounds({ offsets, keyOffsets, queryList, keyList }: Positions, Nq: number, Nk: number) {
  const low = (xs: Float64Array) => xs.reduce((a, b) => Math.min(a, b), Infinity);
  const high = (xs: Float64Array) => xs.reduce((a, b) => Math.max(a, b), -Infinity);
  return {
    offset0: queryList ? queryList[0] : low(offsets),
    // q ends at i1 + offset1, where i1 is the last row.
    offset1: queryList ? queryList[Nq - 1] - (Nq - 1) : high(offsets),
    k0: keyList ? keyList[0] : low(keyOffsets),
    k1: keyList ? keyList[Nk - 1] : high(keyOffsets) + Nk - 1,
  };
}

/** One index of a table, along `axis`, with the smallest and the largest value that it has in the call. */
interface TableRead {
  readonly axis: number;
  readonly index: Expression;
  readonly low: number;
  readonly high: number;
}

/**
 * A strict table (ids, lengths, slopes …) must cover every index of the call; an exact one has no further entries. Returns the
 * tables that are on other devices.
 */
export function checkTables(what: string, expr: Expression, shape: Shape, positions: Positions): Table[] {
  const { isPlaced } = positions;
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
    if (!isPlaced) checkLimit(what, x, shape);
    x.args.forEach(visit);
  };
  visit(expr);
  for (const [t, reads] of uses) checkTable(what, t, reads, shape, isPlaced);
  return [...uses.keys()].filter(({ source }) => source.device !== "cpu");
}

/** Refuses lengths beyond the rows or keys of a call that is no part of a longer sequence. */
function checkLimit(what: string, x: Expression, { Nq, Nk }: Shape): void {
  const counted = LIMITS.get(x);
  if (!counted) return;
  const { what: mask, axis, limit } = counted;
  const count = axis === "keys" ? Nk : Nq;
  const table = typeof limit === "number" ? undefined : (limit.value as Table);
  if (table && table.source.device !== "cpu") return;
  const largest = typeof limit === "number" ? limit : Math.max(...table!.data);
  if (largest > count)
    throw new ShapeError(
      "length",
      `${what}: ${mask} counts ${largest} ${axis}, the call has ${count}; lengths of another sequence? In a part of a sequence, keyOffset or queryOffset say where it is`,
      { got: largest, count },
    );
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
      { table: t.name, shape: t.shape, low, high },
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

/**
 * The shapes of a call, checked once. The result has B batch entries, Hq query heads in groups of G over Hkv key heads,
 * Nq queries and Nk keys, and says where each row of each operand is stored; backends trust it.
 */
import { argumentError, formatTensor, refuseValue, ShapeError } from "./errors.ts";
import { rowMajor, sizeOf, type Tensor } from "./tensor.ts";

/** Order of the last three axes: heads before positions, or positions before heads. @beta */
export type Layout = "bhsd" | "bshd";

/** The `layout` option of a call, checked. Default `"bhsd"`. */
export function checkLayout(what: string, layout: Layout = "bhsd"): Layout {
  if (layout !== "bhsd" && layout !== "bshd") refuseValue(what, "layout", '"bhsd" or "bshd"', layout);
  return layout;
}

/** One of query, key, value: element of row n, column d of head h of batch entry b is base[b] + h·head + n·row + d·column. */
export interface Operand {
  readonly tensor: Tensor;
  readonly base: Float64Array;
  readonly head: number;
  readonly row: number;
  readonly column: number;
}

/** Lengths of a call, and the leading axes its result has. @beta */
export interface Shape {
  readonly B: number;
  readonly Hq: number;
  readonly Hkv: number;
  /** Query heads that share a key head: Hq / Hkv. */
  readonly G: number;
  readonly Nq: number;
  readonly Nk: number;
  readonly dk: number;
  readonly dv: number;
  readonly layout: Layout;
  /** Batch axes after broadcasting. */
  readonly batch: readonly number[];
  /** True where the tensors have an axis of heads. */
  readonly heads: boolean;
  readonly query: Operand;
  readonly key: Operand;
  readonly value: Operand;
}

interface Axes {
  batch: number[];
  batchStrides: number[];
  H: number;
  head: number;
  N: number;
  row: number;
  D: number;
  column: number;
}

/** Checks the three shapes against each other. */
export function resolveShape(what: string, query: Tensor, key: Tensor, value: Tensor, layout: Layout): Shape {
  const all = () =>
    `${formatTensor("query", query)}, ${formatTensor("key", key)}, ${formatTensor("value", value)}`;
  const fail = (code: string, text: string): never => {
    throw new ShapeError(code, `${what}: ${text}; ${all()}`, {
      query: query.shape,
      key: key.shape,
      value: value.shape,
      layout,
    });
  };
  const least = layout === "bshd" ? 3 : 2;
  for (const [name, t] of Object.entries({ query, key, value }))
    if (t.shape.length < least)
      fail(
        "rank",
        `${name} has ${t.shape.length} ${t.shape.length === 1 ? "axis" : "axes"}, expected ${layout === "bshd" ? "[..., N, H, d]" : "[..., N, d] or [..., H, N, d]"}`,
      );
  // One leading axis is batch; from two on, the last is heads. `bshd` always has heads.
  const heads = layout === "bshd" || Math.max(query.shape.length, key.shape.length, value.shape.length) >= 4;
  const [q, k, v] = [query, key, value].map((t) => axesOf(t, layout, heads));
  if (q.D !== k.D) fail("head-size", `query and key must have the same head size dk, got ${q.D} and ${k.D}`);
  if (k.N !== v.N) fail("key-length", `key and value must have the same length Nk, got ${k.N} and ${v.N}`);
  if (k.H !== v.H) fail("value-heads", `key and value must have the same heads, got ${k.H} and ${v.H}`);
  if (k.H === 0 ? q.H !== 0 : q.H % k.H !== 0)
    fail(
      "heads",
      `${k.H} key heads do not divide ${q.H} query heads${
        layout === "bhsd" && isHeadsLater(query.shape, key.shape, value.shape)
          ? '; where the axes are [B, N, H, d], pass layout: "bshd"'
          : ""
      }`,
    );
  const rank = Math.max(q.batch.length, k.batch.length, v.batch.length);
  const batch = Array.from({ length: rank }, (_, axis) => {
    const lengths = [q, k, v].map((t) => t.batch[axis - rank + t.batch.length] ?? 1);
    const long = lengths.find((n) => n !== 1) ?? 1;
    if (lengths.some((n) => n !== 1 && n !== long))
      fail(
        "batch",
        `leading axes ${lengths.join(", ")} do not broadcast${heads ? "" : " (grouped heads need tensors of rank 4, [1, H, N, d] for one text; layerWeights of heed/models adds the axis)"}`,
      );
    return long;
  });
  const B = sizeOf(batch);
  return {
    B,
    Hq: q.H,
    Hkv: k.H,
    G: k.H === 0 ? 1 : q.H / k.H,
    Nq: q.N,
    Nk: k.N,
    dk: q.D,
    dv: v.D,
    layout,
    batch,
    heads,
    query: operand(query, q, batch),
    key: operand(key, k, batch),
    value: operand(value, v, batch),
  };
}

function axesOf(t: Tensor, layout: Layout, heads: boolean): Axes {
  const n = t.shape.length;
  const [rowAxis, headAxis] = layout === "bshd" ? [n - 3, n - 2] : [n - 2, n - 3];
  const hasHead = heads && headAxis >= 0;
  const batchEnd = heads ? Math.max(n - 3, 0) : n - 2;
  return {
    batch: t.shape.slice(0, batchEnd),
    batchStrides: t.strides.slice(0, batchEnd),
    H: hasHead ? t.shape[headAxis] : 1,
    head: hasHead ? t.strides[headAxis] : 0,
    N: t.shape[rowAxis],
    row: t.strides[rowAxis],
    D: t.shape[n - 1],
    column: t.strides[n - 1],
  };
}

function operand(t: Tensor, axes: Axes, batch: readonly number[]): Operand {
  return {
    tensor: t,
    base: batchBases(t.offset, axes.batch, axes.batchStrides, batch),
    head: axes.head,
    row: axes.row,
    column: axes.column,
  };
}

/**
 * Where the rows of a tensor are stored: the output, its gradient, or the gradient of an input, in the shape of that input. A
 * batch axis along which the tensor is broadcast has no stride, so gradients are added over it.
 * @beta
 */
export function operandOf(s: Shape, t: Tensor): Operand {
  checkShape("operandOf", s);
  return operand(t, axesOf(t, s.layout, s.heads), s.batch);
}

/** First element of every batch entry; axes of length 1 and missing axes broadcast. */
export function batchBases(
  offset: number,
  axes: readonly number[],
  strides: readonly number[],
  batch: readonly number[],
): Float64Array {
  const bases = new Float64Array(sizeOf(batch));
  const steps = rowMajor(batch);
  for (let b = 0; b < bases.length; b++) {
    let at = offset;
    for (let axis = 0; axis < axes.length; axis++) {
      const full = axis - axes.length + batch.length;
      if (axes[axis] > 1) at += (Math.floor(b / steps[full]) % batch[full]) * strides[axis];
    }
    bases[b] = at;
  }
  return bases;
}

/** Where a tensor that broadcasts to the scores stores a cell: (b, h, q, k) is base[b] + h·head + q·row + k·column. @beta */
export interface CellStrides {
  readonly base: Float64Array;
  readonly head: number;
  readonly row: number;
  readonly column: number;
}

/** Strides of a tensor that broadcasts, right-aligned, to the scores [..., Hq, Nq, Nk]. A broadcast axis has stride 0. @beta */
export function cellStrides(
  s: Shape,
  axes: readonly number[],
  strides: readonly number[],
  offset = 0,
): CellStrides {
  checkShape("cellStrides", s);
  const rank = axes.length;
  const stride = (fromEnd: number) =>
    rank >= fromEnd && axes[rank - fromEnd] !== 1 ? strides[rank - fromEnd] : 0;
  const lead = axes.slice(0, Math.max(0, rank - (s.heads ? 3 : 2)));
  return {
    base: batchBases(offset, lead, strides, s.batch),
    head: s.heads ? stride(3) : 0,
    row: stride(2),
    column: stride(1),
  };
}

/** Shape of the output: [..., Hq, Nq, dv], or [..., Nq, Hq, dv] in layout `bshd`. @beta */
export function outputShape(s: Shape): number[] {
  checkShape("outputShape", s);
  if (!s.heads) return [...s.batch, s.Nq, s.dv];
  return s.layout === "bshd" ? [...s.batch, s.Nq, s.Hq, s.dv] : [...s.batch, s.Hq, s.Nq, s.dv];
}

/** Shape of lse [..., Hq, Nq], or with `last` of the weights [..., Hq, Nq, Nk]; the same in both layouts. @beta */
export function rowShape(s: Shape, ...last: number[]): number[] {
  checkShape("rowShape", s);
  return s.heads ? [...s.batch, s.Hq, s.Nq, ...last] : [...s.batch, s.Nq, ...last];
}

/** Shape of the weights of some heads and rows: [..., heads, rows, Nk]. @beta */
export function selectionShape(
  s: Shape,
  selection: { readonly heads: readonly number[]; readonly rows: readonly number[] },
): number[] {
  checkShape("selectionShape", s);
  const { heads, rows } = selection;
  return s.heads ? [...s.batch, heads.length, rows.length, s.Nk] : [...s.batch, rows.length, s.Nk];
}

/** Throws an OptionError unless `s` is the shape of a problem. */
export function checkShape(what: string, s: Shape): void {
  if (!Array.isArray((s as Partial<Shape> | undefined)?.batch))
    throw argumentError(what, "the field shape of a Problem", s);
}

/** True where the second-to-last axis looks like heads: equal in all three shapes, while the axis before it differs. */
function isHeadsLater(...shapes: (readonly number[])[]): boolean {
  const [query, key, value] = shapes.map((shape) => [shape.at(-3), shape.at(-2)] as const);
  return query[1] === key[1] && key[1] === value[1] && key[0] === value[0] && query[0] !== key[0];
}

/**
 * The rows of a head by heed's compiled kernels, for tests that compare them with those of the store: the recipe of a head becomes
 * masks and score mods of `heed`, and its rows are computed by `scaledDotProductAttention` (for the sums) and `attentionWeights`, in
 * float32; those of a head in float64 in float64.
 */
import * as heed from "../../../src/index.ts";
import type { FloatArray } from "../../../src/rows/head-rows.ts";
import type { StoreHead } from "../../../src/store/compute/head.ts";
import type { Kernel, RowVisit } from "../../../src/store/compute/row-source.ts";
import { maskOf, namedMods } from "../../../src/store/recipe/head-recipe.ts";

/** Weights of one step: 1 MiB in float32. */
const CELLS = 2 ** 18;

/** A kernel of a store that runs on heed's engine. */
export const engineKernel: Kernel = {
  source: "attentionWeights",
  exact: false,
  rowsPerStep: ({ data }) => Math.max(8, Math.floor(CELLS / Math.max(1, data.Nk) / 8) * 8),
  run: runRows,
};

function runRows(head: StoreHead, from: number, to: number, visit: RowVisit): void {
  const { Nk, d, query, key, recipe, keep, bias } = head.data;
  const rows = to - from;
  const wide = query instanceof Float64Array || key instanceof Float64Array || bias instanceof Float64Array;
  const floats = (x: FloatArray): FloatArray =>
    wide && !(x instanceof Float64Array) ? Float64Array.from(x) : x;
  const q = { data: floats(query!.subarray(from * d, to * d)), shape: [rows, d] };
  const k = { data: floats(key!), shape: [Nk, d] };
  const mask = maskOf(recipe);
  const masks: unknown[] = mask ? [mask] : [];
  if (keep) {
    const visible = new Uint8Array(rows * Nk);
    for (let n = 0; n < visible.length; n++)
      visible[n] = (keep.data[from * Nk + n] !== 0) === (keep.polarity === "keep") ? 1 : 0;
    masks.push({ data: visible, shape: [rows, Nk], dtype: "bool" });
  }
  if (bias) masks.push({ data: floats(bias.subarray(from * Nk, to * Nk)), shape: [rows, Nk] });
  const options = {
    scale: recipe.scale,
    // Masks and score mods depend on positions, or on tables of all rows, so any range of rows can be computed separately.
    queryOffset: recipe.queryOffset + from,
    attnMask: masks as never,
    scoreMod: namedMods(recipe).map(({ mod }) => mod({ query: query!, key: key!, d, scale: recipe.scale })),
    ...(recipe.sink === undefined ? {} : { sinks: [recipe.sink] }),
  };
  // Values have no columns: only lse is used.
  const v = { data: wide ? new Float64Array(0) : new Float32Array(0), shape: [Nk, 0] };
  const { lse } = heed.scaledDotProductAttention(q, k, v, options);
  const weights = heed.attentionWeights(q, k, lse, options).data as FloatArray;
  for (let r = 0; r < rows; r++)
    visit(from + r, weights.subarray(r * Nk, (r + 1) * Nk), { lse: (lse.data as FloatArray)[r] });
}

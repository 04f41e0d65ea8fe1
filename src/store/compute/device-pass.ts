/**
 * A pass over a head on a device such as a GPU, by heed's calls in float32: the recipe of the head becomes masks and score mods. The
 * pictures of a head come from maps of it. Its rows are read back for the measures, unless they are too many: then those are computed as without a device.
 */
import {
  attentionMap,
  attentionWeights,
  type MaskLike,
  scaledDotProductAttention,
  Tensor,
} from "../../index.ts";
import { CellPool, type Overview, type PoolCut } from "../measures/pool.ts";
import { maskOf, namedMods } from "../recipe/head-recipe.ts";
import type { PassDevice } from "./device.ts";
import type { PassAnswer } from "./request.ts";
import type { Subject } from "./subject.ts";
import { PassRows } from "./work.ts";

/** Weights that are read back at once, and of a head whose rows are all read back. */
const [BLOCK, ALL] = [2 ** 22, 2 ** 28];

/** A device that computes passes; `place` moves a tensor there. */
export const passDevice = (place: (t: Tensor) => Promise<Tensor>): PassDevice => ({
  pass: (...request) => passOn(place, ...request),
});

/** A pass over a head: all of it, or of a long head the overview. */
async function passOn(
  move: (t: Tensor) => Promise<Tensor>,
  ...[subject, { size }, report, isWanted]: Parameters<PassDevice["pass"]>
): Promise<PassAnswer | Overview> {
  const { Nq, Nk, d, query, key, recipe, keep, bias } = subject.head.data;
  const placed: Tensor[] = [];
  const place = async (data: Float32Array | Uint8Array, shape: number[], dtype: "float32" | "bool") => {
    const tensor = await move(new Tensor(data, shape, dtype));
    placed.push(tensor);
    return tensor;
  };
  try {
    const [q, k] = await Promise.all([
      place(query as Float32Array, [Nq, d], "float32"),
      place(key as Float32Array, [Nk, d], "float32"),
    ]);
    const mask = maskOf(recipe);
    const masks: MaskLike[] = mask ? [mask] : [];
    if (keep) {
      const isKept = Uint8Array.from(keep.data, (x) => Number((x !== 0) === (keep.polarity === "keep")));
      masks.push(await place(isKept, [Nq, Nk], "bool"));
    }
    if (bias) masks.push(await place(bias as Float32Array, [Nq, Nk], "float32"));
    const vectors = { query: query!, key: key!, d, scale: recipe.scale };
    const options = {
      scale: recipe.scale,
      queryOffset: recipe.queryOffset,
      attnMask: masks,
      scoreMod: namedMods(recipe).map(({ mod }) => mod(vectors)),
      ...(recipe.sink === undefined ? {} : { sinks: [recipe.sink] }),
    };
    // Values have no columns: only lse is used.
    const v = await place(new Float32Array(0), [Nk, 0], "float32");
    const { output, lse } = scaledDotProductAttention(q, k, v, options);
    placed.push(output, lse);
    const poolOf = async (cut: PoolCut) => {
      const cells = "size" in cut ? cut : { cell: 2 ** cut.level };
      const { largest, mean } = attentionMap(q, k, lse, { ...options, ...cells });
      placed.push(largest, mean);
      const pool = new CellPool(Nq, Nk, cut);
      const [tops, means] = await Promise.all([largest.read(), mean.read()]);
      fill(pool, tops as Float32Array, means as Float32Array, subject);
      return pool;
    };
    if (subject.wantsMap) subject.maps.set("weights", await poolOf({ level: subject.mapLevel }));
    const overview = (await poolOf({ size })).overview();
    if (Nq * Nk > ALL) return overview;
    const pass = new PassRows(subject, size, overview);
    const rowLse = (await lse.read()) as Float32Array;
    const step = Math.max(1, Math.floor(BLOCK / Math.max(1, Nk)));
    for (let from = 0; from < Nq && isWanted(); from += step) {
      report?.({ done: from / Nq, overview: () => pass.overview });
      const rows = Array.from({ length: Math.min(step, Nq - from) }, (_, n) => from + n);
      const weights = attentionWeights(q, k, lse, { ...options, rows });
      placed.push(weights);
      const numbers = (await weights.read()) as Float32Array;
      placed.pop()!.dispose();
      for (const [n, i] of rows.entries())
        pass.add(i, numbers.subarray(n * Nk, (n + 1) * Nk), { lse: rowLse[i] }, false);
    }
    return pass.answer();
  } finally {
    for (const tensor of placed) tensor.dispose();
  }
}

/** Fills a pool with all rows of a head from its map: the largest and the mean weight of each cell. */
function fill(pool: CellPool, largest: Float32Array, mean: Float32Array, { head }: Subject): void {
  const { ends, unmasked, columns } = pool;
  const { Nq } = head.data;
  const heights = new Uint32Array(pool.rows);
  for (let i = 0; i < Nq; i++) {
    const row = pool.rowOf(i);
    const runs = head.runs(i);
    heights[row]++;
    for (let n = 0, c = 0; n < runs.length; n += 2)
      for (let j = runs[n]; j < runs[n + 1]; ) {
        while (ends[c] <= j) c++;
        const end = Math.min(ends[c], runs[n + 1]);
        unmasked[row * columns + c] += end - j;
        j = end;
      }
  }
  pool.peak.set(largest);
  for (let at = 0; at < mean.length; at++) {
    const c = at % columns;
    const width = ends[c] - (c === 0 ? 0 : ends[c - 1]);
    pool.sum[at] = mean[at] * heights[Math.floor(at / columns)] * width;
    if (!Number.isFinite(pool.sum[at])) pool.odd[at] = 1;
  }
  pool.done = Nq;
}

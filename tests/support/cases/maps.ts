/** Maps of attention, compared with the weights of the reference: sizes that divide nothing, masks, groups, empty rows, dropout. */
import {
  type AttentionOptions,
  alibi,
  attentionMap,
  attentionWeights,
  causal,
  documents,
  type MapOptions,
  queryLengths,
  scaledDotProductAttention,
  slidingWindow,
  softcap,
  Tensor,
} from "heed";
import { expect } from "vitest";
import { normal } from "./call.ts";

type Lengths = readonly [query: number, key: number];

/** A map: query and key lengths, the cells, and the options of the call. */
export const MAPS: Readonly<
  Record<string, { lengths: Lengths; cells?: Partial<MapOptions>; options?: AttentionOptions }>
> = {
  "one query, one key": { lengths: [1, 1] },
  "a cell a weight": { lengths: [37, 41] },
  "sizes that divide nothing": { lengths: [67, 101], cells: { size: 7 } },
  "one cell": { lengths: [65, 33], cells: { size: 1 } },
  "cells of 8, the last ones smaller": { lengths: [67, 101], cells: { cell: 8 } },
  "cells larger than the head": { lengths: [5, 40], cells: { cell: 64 } },
  "causal": { lengths: [130, 130], cells: { size: 33 }, options: { isCausal: true } },
  "a window": { lengths: [97, 97], cells: { size: 10 }, options: { attnMask: slidingWindow(9, 0) } },
  "documents and score mods": {
    lengths: [70, 70],
    cells: { size: 13 },
    options: {
      attnMask: [documents(Int32Array.from({ length: 70 }, (_, n) => +(n > 29)), Int32Array.from({ length: 70 }, (_, n) => +(n > 29))), causal()],
      scoreMod: [alibi([0.5, 0.1, 0.01, 0]), softcap(2)],
    },
  },
  "empty rows and sinks": { lengths: [40, 50], cells: { size: 6 }, options: { attnMask: queryLengths([3, 40]), sinks: [0, 1, -2, 3] } },
  "a mask of numbers": { lengths: [33, 34], cells: { size: 5 }, options: { attnMask: normal(9, [33, 34]) } },
  "dropout": { lengths: [50, 60], cells: { size: 9 }, options: { dropoutP: 0.25, seed: 3 } },
  "two heads of four": { lengths: [40, 45], cells: { size: 8, heads: [3, 1] } },
}; // biome-ignore format: a row a map

/** Compares a map with the weights in float64. `place` puts a tensor where the map is made. */
export async function checkMap(name: string, place: (t: Tensor) => Promise<Tensor>): Promise<void> {
  const { lengths, cells = {}, options = {} } = MAPS[name];
  const [Nq, Nk] = lengths;
  const inputs = [normal(1, [2, 4, Nq, 12]), normal(2, [2, 2, Nk, 12])];
  const [q, k] = inputs.map((t) => new Tensor(t.toFloat64(), t.shape, "float64"));
  const wide = { ...options, ...(options.attnMask instanceof Tensor && { attnMask: new Tensor(options.attnMask.toFloat64(), options.attnMask.shape, "float64") }) }; // biome-ignore format: one object
  const { lse } = scaledDotProductAttention(q, k, k, wide);
  const { heads = [0, 1, 2, 3], size = 512, cell } = cells;
  const weights = attentionWeights(q, k, lse, { ...wide, heads }).toFloat64();
  const placedOptions = { ...options, ...(options.attnMask instanceof Tensor && { attnMask: await place(options.attnMask) }) }; // biome-ignore format: one object
  const [query, key] = await Promise.all(inputs.map(place));
  const state = scaledDotProductAttention(query, key, key, placedOptions);
  const map = attentionMap(query, key, state.lse, { ...placedOptions, ...cells });
  const [largest, mean] = await Promise.all([map.largest.read(), map.mean.read()]);
  const count = (n: number) => (cell === undefined ? Math.min(n, size) : Math.ceil(n / cell));
  const [R, C] = [count(Nq), count(Nk)];
  expect(map.largest.shape).toEqual([2, heads.length, R, C]);
  expect(map.mean.shape).toEqual([2, heads.length, R, C]);
  const cellOf = (i: number, n: number, all: number) =>
    cell === undefined ? Math.floor((i * all) / n) : Math.floor(i / cell);
  const [tops, sums, areas] = [0, 1, 2].map(() => new Float64Array(largest.length));
  weights.forEach((w, at) => {
    const [head, i, j] = [Math.floor(at / Nk / Nq), Math.floor(at / Nk) % Nq, at % Nk];
    const to = (head * R + cellOf(i, Nq, R)) * C + cellOf(j, Nk, C);
    tops[to] = Math.max(tops[to], w);
    sums[to] += w;
    areas[to]++;
  });
  for (let at = 0; at < largest.length; at++) {
    expect(Math.abs((largest[at] as number) - tops[at]), `largest ${at}`).toBeLessThanOrEqual(1e-5);
    expect(Math.abs((mean[at] as number) - sums[at] / areas[at]), `mean ${at}`).toBeLessThanOrEqual(1e-5);
  }
}

/** The cases of tests/golden/pytorch/sdpa-gradients in heed's words: what they hold and which options they mean. */
import type { AttentionOptions, MaskLike, ScoreMod, Tensor } from "heed";
import {
  alibi,
  documents,
  keyLengths,
  prefixLm,
  queryLengths,
  relativeBias,
  slidingWindow,
  softcap,
  tensor,
} from "heed";
import { describe, it } from "vitest";
import { has, LEVELS, use } from "../support/backends/levels.ts";
import { readGolden } from "../support/shared.ts";

/** A case of the manifest. */
export interface Golden {
  name: string;
  file: string;
  rank: number;
  queries: number;
  keys: number;
  options: {
    isCausal?: AttentionOptions["isCausal"];
    queryOffset?: number | number[];
    windowSize?: number | [number, number];
    keyLengths?: number[];
    queryLengths?: number[];
    scale?: number;
    softcap?: number;
    layout?: "bhsd" | "bshd";
  };
  pattern: {
    documents?: { query: number[][]; key: number[][] };
    prefixLengths?: number[];
    relativeBias?: { numBuckets: number; maxDistance: number; bidirectional: boolean };
  };
  tags: string[];
  tolerance: number;
  float32ReferenceError: Record<string, number>;
}

/** The folder of the cases. */
export const folder = "sdpa-gradients";
/** All cases. */
export const { cases } = readGolden<{ cases: Golden[] }>(folder, "manifest.json");

/** The options of a case in heed's words, its tensors as `float`s. */
export function optionsOf(
  c: Golden,
  tensors: Map<string, Tensor>,
  float: (t: Tensor) => Tensor,
): AttentionOptions {
  const { isCausal, queryOffset, scale, layout, windowSize } = c.options;
  const masks: MaskLike[] = [];
  const changes: ScoreMod[] = [];
  if (windowSize !== undefined) {
    const [left, right] = typeof windowSize === "number" ? [windowSize, windowSize] : windowSize;
    masks.push(slidingWindow(left, right));
  }
  if (c.options.keyLengths) masks.push(keyLengths(c.options.keyLengths));
  if (c.options.queryLengths) masks.push(queryLengths(c.options.queryLengths));
  const { documents: ids, prefixLengths, relativeBias: buckets } = c.pattern;
  if (ids) {
    const rows = (list: number[][]) => tensor(Int32Array.from(list.flat()), [list.length, list[0].length]);
    masks.push(documents(rows(ids.query), rows(ids.key)));
  }
  if (prefixLengths) masks.push(prefixLm(prefixLengths));
  const mask = tensors.get("attn_mask");
  if (mask) masks.push(mask.dtype === "bool" ? mask : float(mask));
  if (c.options.softcap) changes.push(softcap(c.options.softcap));
  const slopes = tensors.get("alibi_slopes");
  if (slopes) changes.push(alibi(float(slopes)));
  const table = tensors.get("relative_table");
  if (table) changes.push(relativeBias(float(table), buckets));
  const sinks = tensors.get("sinks");
  return {
    isCausal,
    queryOffset,
    scale,
    layout,
    ...(masks.length && { attnMask: masks }),
    ...(changes.length && { scoreMod: changes }),
    ...(sinks && { sinks: float(sinks) }),
  };
}

/** A tensor in float32. */
export const asFloat32 = (t: Tensor) => tensor(Float32Array.from(t.toFloat64()), t.shape);
/** A tensor as it is. */
export const same = (t: Tensor) => t;

/** A test of every case: in float64, and in float32 on every level, as stored and in the other layout. */
export function everyCase(
  runCase: (c: Golden, dtype: "float64" | "float32", layout: "as stored" | "bshd") => void,
): void {
  describe("float64, within 1e-11 (1e-8 where logits are huge)", () => {
    for (const c of cases) it(c.name, () => runCase(c, "float64", "as stored"));
  });

  for (const level of LEVELS.filter(has))
    describe(`float32 on ${level}, within three errors of a plain version`, () => {
      for (const c of cases.filter((one) => !one.tags.includes("float64-only"))) {
        it(c.name, () => {
          use(level, 2);
          runCase(c, "float32", "as stored");
        });
        if (c.rank === 4 && c.options.layout !== "bshd")
          it(`${c.name}, as [B, N, H, d]`, () => {
            use(level, 2);
            runCase(c, "float32", "bshd");
          });
      }
    });
}

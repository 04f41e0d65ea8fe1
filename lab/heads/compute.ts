/**
 * Many heads: twelve heads of one layer on the same word. Weights and outputs of each, their averages, and what happens when
 * several heads share one key and one value.
 */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { literal } from "../frame/words.ts";
import { halves } from "../head/packed.ts";
import { KEY, QUERY, TOKENS, VALUE } from "./layer.ts";

/** What a reader changes. */
export type Heads = {
  /** 1 for each head that is heard, [12]. */
  readonly on: readonly number[];
  /** Key heads: 12, 4 or 1. */
  readonly groups: number;
  /** Whether the average is hidden until it was predicted. */
  readonly hide: boolean;
  readonly guess1: number;
};

/** What the picture shows. */
export interface HeadsNumbers {
  readonly words: readonly string[];
  /** [12][12]: rows are heads, columns words. */
  readonly weights: readonly (readonly number[])[];
  /** Length of each head's output. */
  readonly lengths: readonly number[];
  /** Average of the weights of the heads that are heard, [12]. */
  readonly average: readonly number[];
  /** Length of the average of the outputs, and of what the average weights make of the average values. */
  readonly averageOfOutputs: number;
  readonly outputOfAverages: number;
  /** Distance of the two, as a share of the first. */
  readonly apart: number;
  /** Bytes of keys and values that a cache keeps for a word, float16. */
  readonly cache: number;
  /** What the listings print: the average share of “cat”, from weights rounded as the listings have them. */
  readonly listed: number;
}

const HEADS = 12;
const N = 12;
const D = 32;
/** Place of “cat”. */
const CAT = 2;

/** The numbers of a state. */
export function compute({ on, groups }: Heads): HeadsNumbers {
  const query = tensor(halves(QUERY), [HEADS, 1, D]);
  const shared = (text: string) => {
    const all = halves(text);
    // The first head of each group keeps its keys and values; the others read them too.
    const size = N * D;
    const kept = Float32Array.from(
      { length: groups * size },
      (_, i) => all[Math.floor(i / size) * (HEADS / groups) * size + (i % size)],
    );
    return { numbers: kept, tensor: tensor(kept, [1, groups, N, D]) };
  };
  const [key, value] = [shared(KEY), shared(VALUE)];
  const { output, weights } = scaledDotProductAttention(
    query.reshape([1, HEADS, 1, D]),
    key.tensor,
    value.tensor,
    {
      returnWeights: true,
    },
  );
  const w = weights!.toFloat64();
  const o = output.toFloat64();
  const heard = on.flatMap((one, h) => (one === 1 ? [h] : []));
  const mean = (at: (h: number) => number) =>
    heard.length === 0 ? 0 : heard.reduce((sum, h) => sum + at(h), 0) / heard.length;
  const average = Array.from({ length: N }, (_, j) => mean((h) => w[h * N + j]));
  const outputs = Array.from({ length: D }, (_, e) => mean((h) => o[h * D + e]));
  const values = Array.from({ length: N * D }, (_, i) =>
    mean((h) => value.numbers[Math.floor((h * groups) / HEADS) * N * D + i]),
  );
  const averaged = Array.from({ length: D }, (_, e) =>
    average.reduce((sum, weight, j) => sum + weight * values[j * D + e], 0),
  );
  const size = Math.hypot(...outputs);
  return {
    words: TOKENS,
    weights: Array.from({ length: HEADS }, (_, h) => [...w.subarray(h * N, (h + 1) * N)]),
    lengths: Array.from({ length: HEADS }, (_, h) => Math.hypot(...o.subarray(h * D, (h + 1) * D))),
    average,
    averageOfOutputs: size,
    outputOfAverages: Math.hypot(...averaged),
    apart: size === 0 ? 0 : Math.hypot(...averaged.map((x, e) => x - outputs[e])) / size,
    cache: groups * D * 2 * 2,
    listed: listed(
      Array.from({ length: HEADS }, (_, h) => Number(literal(w[h * N + CAT]))),
      on,
    ),
  };
}

/** The average of the heads that are heard, as the listing computes it: attention with equal scores. */
function listed(shares: readonly number[], on: readonly number[]): number {
  const zeros = tensor(new Float64Array(HEADS), [HEADS, 1]);
  const value = tensor(Float64Array.from(shares), [HEADS, 1]);
  const attnMask = tensor(Uint8Array.from(on), [1, HEADS], "bool");
  return scaledDotProductAttention(tensor(Float64Array.of(1), [1, 1]), zeros, value, { attnMask }).output.at(
    0,
    0,
  );
}

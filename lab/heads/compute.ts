/**
 * Many heads: the heads of one layer on the same word, twelve of them, or four on the reader's own sentence. Weights and outputs
 * of each, their averages, and what happens when several heads share one key head and one value head.
 */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { literal, PIECES, roundScore } from "../frame/words.ts";
import { shownTokens } from "../head/head.ts";
import type { OwnLink } from "../head/link.ts";
import { decodeFloat16 } from "../head/packed.ts";
import { keyHeadsOf } from "./groups.ts";
import { LAYER } from "./layer.ts";
import { type Mix, mixOf } from "./mix.ts";

/** What a reader changes. */
export type Heads = {
  /** 1 for each head that is on, [12]; empty for the one with the link of the largest contrast, alone. */
  readonly on: readonly number[];
  /** Key heads of twelve: 12, 4 or 1. */
  readonly groups: number;
  /** Whether the average is hidden until it was predicted. */
  readonly hide: boolean;
  /** "weights": rows of weights; "mixed": the outputs side by side and what W^O makes of them, for heads that share no keys. */
  readonly shown: string;
  /** The reader's own sentence, read by the small encoder; "" for the common one. */
  readonly ownText: string;
};

/** What the picture shows. */
export interface HeadsNumbers {
  readonly words: readonly string[];
  /** The word that looks, the word that is asked about, and the head whose link between them has the largest contrast. */
  readonly query: number;
  readonly target: number;
  readonly finder: number;
  /** Of the reader's own sentence: the layer of the small encoder, and its link of the largest contrast. */
  readonly link?: OwnLink;
  /** 1 for each head that is on, [heads], and key heads. */
  readonly on: readonly number[];
  readonly keyHeads: number;
  /** [heads][words] */
  readonly weights: readonly (readonly number[])[];
  /** Length of each head's output. */
  readonly lengths: readonly number[];
  /** Average of the weights of the heads that are on, [words]. */
  readonly average: readonly number[];
  /** Length of the average of the outputs, and of what the average weights make of the average values. */
  readonly averageOfOutputs: number;
  readonly outputOfAverages: number;
  /** Distance of the two, as a share of the first. */
  readonly apart: number;
  /** Bytes of keys and values that a cache keeps for a word, float16. */
  readonly cache: number;
  /** Concat and W^O of the heads that are on. */
  readonly mix: Mix;
  /** What one word adds to one number of the outputs, for the listings. */
  readonly part: OutputPart;
}

/** The part of the outputs that comes from the word that is asked about, in one of their numbers. */
export interface OutputPart {
  /** Which number of the outputs, counted from 0: the one in which the finder's value of the word is largest. */
  readonly index: number;
  /** Each head's weight of the word and that number of its value, rounded as the listings have them, [heads]. */
  readonly weights: readonly number[];
  readonly values: readonly number[];
  /** What the listings print: the averages of the weights and of weight × value, and average weight × average value. */
  readonly printed: readonly [weight: number, ofOutputs: number, ofAverages: number];
}

const D = 32;

/** A layer on a sentence: queries of one word [heads, 32], keys and values [heads, words, 32]. */
interface Layer {
  readonly words: readonly string[];
  readonly query: number;
  readonly target: number;
  readonly finder: number;
  readonly link?: OwnLink;
  readonly queries: Float32Array;
  readonly keys: Float32Array;
  readonly values: Float32Array;
  /** What outputs [heads · 32] become through W^O, each by its own part, [heads · width]. */
  mixed(outputs: Float64Array): ArrayLike<number>;
  /** Length of the word's vector before the layer. */
  readonly state: number;
}

/** The head of the first page, and the word that it finds. */
const [TELLING, FOUND] = [4, "time"];

/** Twelve heads looking from “flies”. */
function common(): Layer {
  const words = shownTokens(LAYER.tokens);
  return {
    words,
    query: LAYER.at,
    target: words.indexOf(FOUND),
    finder: TELLING,
    queries: decodeFloat16(LAYER.query),
    keys: decodeFloat16(LAYER.key),
    values: decodeFloat16(LAYER.value),
    mixed: () => decodeFloat16(LAYER.mixed),
    state: LAYER.state,
  };
}

/** The layer of the small encoder that has the strongest link in the reader's sentence, looking from where that link begins. */
async function ownOf(ownText: string): Promise<Layer> {
  const { tokens, link, query, key, value, projection, states } = await (
    await import("../head/own.ts")
  ).ownLayer(ownText, PIECES);
  const [heads, n, d] = query.shape;
  const all = query.toFloat64();
  const at = (i: number) => all[(Math.floor(i / d) * n + link.from) * d + (i % d)];
  return {
    words: tokens,
    query: link.from,
    target: link.to,
    finder: link.head,
    link,
    queries: Float32Array.from({ length: heads * d }, (_, i) => at(i)),
    keys: Float32Array.from(key.toFloat64()),
    values: Float32Array.from(value.toFloat64()),
    mixed: (outputs) =>
      Float64Array.from({ length: heads * heads * d }, (_, i) => {
        const [h, row] = [Math.floor(i / (heads * d)), i % (heads * d)];
        const from = h * d;
        return outputs
          .subarray(from, from + d)
          .reduce((sum, x, e) => sum + x * projection[row * heads * d + from + e], 0);
      }),
    state: Math.hypot(...states.subarray(link.from * heads * d, (link.from + 1) * heads * d)),
  };
}

/** The numbers of a state. */
export async function compute({ on: chosen, groups: keyHeads, ownText }: Heads): Promise<HeadsNumbers> {
  const layer = ownText === "" ? common() : await ownOf(ownText);
  const { words, query, target, finder, link } = layer;
  const [heads, n] = [layer.queries.length / D, words.length];
  const on = Array.from({ length: heads }, (_, h) =>
    chosen.length === 0 ? Number(h === finder) : chosen[h],
  );
  const groups = keyHeadsOf(keyHeads, ownText);
  const shared = (all: Float32Array) => {
    // The first head of each group keeps its keys and values; the others read them too.
    const size = n * D;
    const rows = Float32Array.from(
      { length: groups * size },
      (_, i) => all[Math.floor(i / size) * (heads / groups) * size + (i % size)],
    );
    return { numbers: rows, tensor: tensor(rows, [1, groups, n, D]) };
  };
  const [key, value] = [shared(layer.keys), shared(layer.values)];
  const { output, weights } = scaledDotProductAttention(
    tensor(layer.queries, [1, heads, 1, D]),
    key.tensor,
    value.tensor,
    {
      returnWeights: true,
    },
  );
  const w = weights!.toFloat64();
  const o = output.toFloat64();
  const headsOn = on.flatMap((one, h) => (one === 1 ? [h] : []));
  const mean = (at: (h: number) => number) =>
    headsOn.length === 0 ? 0 : headsOn.reduce((sum, h) => sum + at(h), 0) / headsOn.length;
  const average = Array.from({ length: n }, (_, j) => mean((h) => w[h * n + j]));
  const outputs = Array.from({ length: D }, (_, e) => mean((h) => o[h * D + e]));
  const values = Array.from({ length: n * D }, (_, i) =>
    mean((h) => value.numbers[Math.floor((h * groups) / heads) * n * D + i]),
  );
  const averaged = Array.from({ length: D }, (_, e) =>
    average.reduce((sum, weight, j) => sum + weight * values[j * D + e], 0),
  );
  const size = Math.hypot(...outputs);
  return {
    words,
    query,
    target,
    finder,
    ...(link && { link }),
    on,
    keyHeads: groups,
    weights: Array.from({ length: heads }, (_, h) => [...w.subarray(h * n, (h + 1) * n)]),
    lengths: Array.from({ length: heads }, (_, h) => Math.hypot(...o.subarray(h * D, (h + 1) * D))),
    average,
    averageOfOutputs: size,
    outputOfAverages: Math.hypot(...averaged),
    apart: size === 0 ? 0 : Math.hypot(...averaged.map((x, e) => x - outputs[e])) / size,
    mix: mixOf(o, layer.mixed(o), on, layer.state),
    cache: groups * D * 2 * 2,
    part: partOf(
      largestAt(layer.values.subarray((finder * n + target) * D, (finder * n + target + 1) * D)),
      (h) => w[h * n + target],
      (h, index) => value.numbers[(Math.floor((h * groups) / heads) * n + target) * D + index],
      on,
    ),
  };
}

/** The index of the number farthest from 0. */
const largestAt = (numbers: Float32Array): number =>
  numbers.reduce((best, x, i) => (Math.abs(x) > Math.abs(numbers[best]) ? i : best), 0);

/** The part of one word in number `index` of the outputs, averaged over the heads that are on as the listings do it. */
function partOf(
  index: number,
  weightOf: (head: number) => number,
  numberOf: (head: number, index: number) => number,
  on: readonly number[],
): OutputPart {
  const weights = on.map((_, h) => Number(literal(weightOf(h))));
  const values = on.map((_, h) => roundScore(numberOf(h, index)));
  const column = (numbers: readonly number[]) => tensor(Float64Array.from(numbers), [on.length, 1]);
  const attnMask = tensor(Uint8Array.from(on), [1, on.length], "bool");
  // An average is attention with equal scores.
  const average = (numbers: readonly number[]) =>
    scaledDotProductAttention(tensor(Float64Array.of(1), [1, 1]), column(on.map(() => 0)), column(numbers), {
      attnMask,
    }).output.at(0, 0);
  const ofOutputs = average(weights.map((weight, h) => weight * values[h]));
  return {
    index,
    weights,
    values,
    printed: [average(weights), ofOutputs, average(weights) * average(values)],
  };
}

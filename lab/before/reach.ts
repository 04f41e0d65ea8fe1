/**
 * How far back the last output reaches: the share of each of 32 words in its gradient, through a recurrent network and through
 * attention, both untrained, over eight draws of parameters and words.
 */
import { randn, type Tensor } from "../../src/index.ts";
import { GRU } from "../../src/nn/history/index.ts";
import { mean, pick, SelfAttention, square } from "../../src/nn/index.ts";
import { Tape } from "../../src/train/index.ts";

/** Words of the text, numbers of a word, and draws. */
export const WORDS = 32;
const D = 32;
const DRAWS = 8;

/** The share of each word: the median of the draws, the smallest and the largest. */
export interface Reach {
  readonly middle: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** Both ways; the gradient is that of the mean square of the last output. */
export interface Reaches {
  readonly recurrent: Reach;
  readonly attention: Reach;
}

/** Shares of the words in the gradient of the last output. */
function sharesOf(layer: (x: Tensor) => Tensor, seed: number): number[] {
  const x = randn([1, WORDS, D], { seed });
  const tape = new Tape();
  const last = tape.run(() => mean(square(pick(layer(x), 0, -1))));
  const gradient = tape.gradients(last, [x]).get(x)!.toFloat64();
  const sizes = Array.from({ length: WORDS }, (_, i) => Math.hypot(...gradient.subarray(i * D, (i + 1) * D)));
  const sum = sizes.reduce((a, b) => a + b, 0);
  return sizes.map((size) => size / sum);
}

const cache = new Map<number, Reaches>();

/** The reach of eight draws from a seed on. */
export function reachOf(seed: number): Reaches {
  const stored = cache.get(seed);
  if (stored !== undefined) return stored;
  const over = (layerOf: (seed: number) => (x: Tensor) => Tensor): Reach => {
    const draws = Array.from({ length: DRAWS }, (_, i) => sharesOf(layerOf(seed + i), seed + i));
    const sorted = Array.from({ length: WORDS }, (_, at) =>
      draws.map((shares) => shares[at]).sort((a, b) => a - b),
    );
    return {
      middle: sorted.map((shares) => Math.sqrt(shares[DRAWS / 2 - 1] * shares[DRAWS / 2])),
      low: sorted.map((shares) => shares[0]),
      high: sorted.map((shares) => shares[DRAWS - 1]),
    };
  };
  const reaches = {
    recurrent: over((one) => {
      const gru = new GRU(D, D, { seed: one });
      return (x) => gru.forward(x).output;
    }),
    attention: over((one) => {
      const layer = new SelfAttention(D, { seed: one });
      return (x) => layer.forward(x).output;
    }),
  };
  cache.set(seed, reaches);
  return reaches;
}

/**
 * Dot, scaled, additive: three ways to score the same queries and keys. Random numbers and freshly initialized layers; entropy
 * over 64 queries and 64 keys for four lengths of the lists, one row of eight keys, and times measured here.
 */
import { Generator, scaledDotProductAttention, tensor } from "../../src/index.ts";
import { AdditiveAttention } from "../../src/nn/history/index.ts";
import { fillUniform } from "../../src/nn/index.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { roundScore } from "../frame/words.ts";

/** What a reader changes. */
export type Scorers = {
  /** Exponent of the length of the lists: d = 2^power, 4 to 10. */
  readonly power: number;
  /** Queries and keys of the race. */
  readonly n: number;
  /** How often the race was run; 0 for not yet. */
  readonly race: number;
};

/** One of the three. */
export interface Scorer {
  /** Scores of one query with eight keys, rounded as the listings have them, and softmax of those. */
  readonly scores: readonly number[];
  readonly shares: readonly number[];
  /** Mean entropy over 64 rows of 64 keys, for d = 16, 64, 256, 1024. */
  readonly entropies: readonly number[];
  readonly parameters: number;
  /** Multiplications and additions of the scores, in all, for the race's n. */
  readonly work: number;
  /** Bytes of what is between query and key, if it is stored. */
  readonly bytes: number;
  /** Milliseconds of the race; NaN before it. */
  readonly ms: number;
}

/** What the picture shows: dot, scaled, additive. */
export interface ScorersNumbers {
  readonly all: readonly Scorer[];
}

const SIZE = 64;
const POWERS = [4, 6, 8, 10] as const;
const EIGHT = 8;

const normals = (seed: number, rows: number, d: number) => {
  const random = new Generator(seed);
  return tensor(
    Float32Array.from({ length: rows * d }, () => random.normal()),
    [rows, d],
  );
};

/** A layer that has learned nothing: w, a matrix of one row, is drawn like the two others (Glorot & Bengio 2010). */
function additive(d: number): AdditiveAttention {
  const layer = new AdditiveAttention(d, d, d, { seed: 3 });
  const bound = Math.sqrt(6 / (d + 1));
  fillUniform(layer.w, 4, -bound, bound);
  return layer;
}

/** Weights of the three for the same queries and keys, in the order dot, scaled, additive. */
function weightsOf(d: number, rows: number, keys: number) {
  // One draw among many: the mean entropy of 64 rows differs by up to 0.1 between draws, and this one is near the middle.
  const [q, k] = [normals(7, SIZE, d), normals(8, SIZE, d)];
  const query = tensor((q.data as Float32Array).subarray(0, rows * d), [rows, d]);
  const key = tensor((k.data as Float32Array).subarray(0, keys * d), [keys, d]);
  const layer = additive(d);
  const returnWeights = true;
  const dot = scaledDotProductAttention(query, key, key, { scale: 1, returnWeights });
  const scaled = scaledDotProductAttention(query, key, key, { returnWeights });
  const added = layer.forward(query, key, key, { returnWeights });
  return [dot, scaled, added].map(({ weights, lse }) => ({
    weights: weights!.toFloat64(),
    lse: lse.toFloat64(),
  }));
}

const cache = new Map<string, readonly number[][]>();

/** Mean entropies: [scorer][power]. */
function entropies(): readonly (readonly number[])[] {
  let entropies = cache.get("entropies");
  if (entropies === undefined) {
    entropies = [[], [], []];
    for (const power of POWERS)
      for (const [s, { weights }] of weightsOf(2 ** power, SIZE, SIZE).entries())
        entropies[s].push(-weights.reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0) / SIZE);
    cache.set("entropies", entropies);
  }
  return entropies;
}

/** One row of eight keys; scores are logarithms of the weights plus the row's log-sum-exp. */
function rows(power: number): readonly number[][] {
  const key = `row ${power}`;
  let scorers = cache.get(key);
  if (scorers === undefined) {
    scorers = weightsOf(2 ** power, 1, EIGHT).map(({ weights, lse }) =>
      // A share that is 0 in float32 has a score at least 103 below the largest.
      Array.from(weights, (weight) => roundScore((weight > 0 ? Math.log(weight) : -103) + lse[0]) + 0),
    );
    cache.set(key, scorers);
  }
  return scorers;
}

/** Milliseconds of one call of each, the best of three. */
function times(n: number, d: number): number[] {
  const [query, key] = [normals(1, n, d), normals(2, n, d)];
  const layer = additive(d);
  const calls = [
    () => scaledDotProductAttention(query, key, key, { scale: 1 }),
    () => scaledDotProductAttention(query, key, key),
    () => layer.forward(query, key, key),
  ];
  return calls.map((call) => {
    let best = Number.POSITIVE_INFINITY;
    for (let turn = 0; turn < 3; turn++) {
      const start = performance.now();
      call();
      best = Math.min(best, performance.now() - start);
    }
    return best;
  });
}

/** The numbers of a state. */
export function compute({ power, n, race }: Scorers): ScorersNumbers {
  const d = 2 ** power;
  const ms = race > 0 ? times(n, d) : [Number.NaN, Number.NaN, Number.NaN];
  return {
    all: rows(power).map((scores, s) => ({
      scores,
      shares: softmaxOf(scores),
      entropies: entropies()[s],
      parameters: s < 2 ? 0 : 2 * d * d + d,
      work: 2 * n * n * d + (s < 2 ? 0 : 4 * n * d * d + 2 * n * n * d),
      bytes: s < 2 ? 0 : n * n * d * 4,
      ms: ms[s],
    })),
  };
}

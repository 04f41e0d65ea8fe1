/**
 * Dot, scaled, additive: three ways to score the same queries and keys. Random numbers and freshly initialized layers; entropy
 * over 64 queries and 64 keys for four lengths of the lists, one row of eight keys, and times measured here.
 */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { AdditiveAttention } from "../../src/nn/history/index.ts";
import { fillUniform } from "../../src/nn/index.ts";
import { Normals } from "../frame/chance.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { roundScore } from "../frame/words.ts";

/** What a reader changes. */
export type Scorers = {
  /** Exponent of the length of the lists: d = 2^power, 4 to 10. */
  readonly power: number;
  /** "shares", "entropy" or "cost". */
  readonly show: string;
  /** Queries and keys of the race. */
  readonly n: number;
  /** How often the race was run; 0 for not yet. */
  readonly race: number;
  /** Lengths whose entropies are drawn, of the four: those of the prediction are hidden before the guess. */
  readonly lengths: number;
  /** Seed of the random queries and keys. */
  readonly seed: number;
};

/** One of the three. */
export interface Scorer {
  /** Scores of one query with eight keys, rounded as the listings have them, and softmax of those. */
  readonly scores: readonly number[];
  readonly shares: readonly number[];
  /** Mean of the largest share over 64 rows of eight keys. */
  readonly largest: number;
  /** Mean entropy over 64 rows of 64 keys, for d = 16, 64, 256, 1024. */
  readonly entropies: readonly number[];
  /** The same of the other seeds thrown. */
  readonly earlier: readonly (readonly number[])[];
  readonly parameters: number;
  /** Multiplications, additions and tanh of the scores, in all, for the race's n. */
  readonly work: number;
  /** Bytes of what is between query and key, if it is stored. */
  readonly bytes: number;
  /** Milliseconds of the race; NaN before it. */
  readonly ms: number;
  /** Milliseconds of as many tanh as additive has, and nothing else; NaN before the race, and of the others. */
  readonly tanh: number;
  /** The sum of the absolute values in additive's w; 0 of the others. */
  readonly bound: number;
}

/** What the picture shows: dot, scaled, additive. */
export interface ScorersNumbers {
  readonly all: readonly Scorer[];
}

const SIZE = 64;
const POWERS = [4, 6, 8, 10] as const;
const EIGHT = 8;

const normals = (seed: number, which: number, rows: number, d: number) =>
  tensor(new Normals(seed, which, d).list(rows * d), [rows, d]);

/** A layer that has learned nothing: w, a matrix of one row, is drawn like the two others (Glorot & Bengio 2010). */
function additive(d: number, seed: number): AdditiveAttention {
  const layer = new AdditiveAttention(d, d, d, { seed: seed + 2 });
  const bound = Math.sqrt(6 / (d + 1));
  fillUniform(layer.w, seed + 3, -bound, bound);
  return layer;
}

/** Weights of the three for the same queries and keys, in the order dot, scaled, additive. */
function weightsOf(seed: number, d: number, rows: number, keys: number) {
  const [q, k] = [normals(seed, 1, SIZE, d), normals(seed, 2, SIZE, d)];
  const query = tensor((q.data as Float32Array).subarray(0, rows * d), [rows, d]);
  const key = tensor((k.data as Float32Array).subarray(0, keys * d), [keys, d]);
  const layer = additive(d, seed);
  const returnWeights = true;
  const dot = scaledDotProductAttention(query, key, key, { scale: 1, returnWeights });
  const scaled = scaledDotProductAttention(query, key, key, { returnWeights });
  const added = layer.forward(query, key, key, { returnWeights });
  return [dot, scaled, added].map(({ weights, lse }) => ({
    weights: weights!.toFloat64(),
    lse: lse.toFloat64(),
  }));
}

/** Entropies of every seed thrown: [scorer][power]; and rows by power and seed. */
const thrown = new Map<number, readonly (readonly number[])[]>();
const cache = new Map<string, readonly number[][]>();

/** What is in a map, computed where it is not there yet. */
function once<K, T>(map: Map<K, T>, key: K, make: () => T): T {
  map.set(key, map.get(key) ?? make());
  return map.get(key)!;
}

/** Mean entropies: [scorer][power]. */
const entropies = (seed: number): readonly (readonly number[])[] =>
  once(thrown, seed, () => {
    const all: number[][] = [[], [], []];
    for (const power of POWERS)
      for (const [s, { weights }] of weightsOf(seed, 2 ** power, SIZE, SIZE).entries())
        all[s].push(-weights.reduce((sum, p) => sum + (p > 0 ? p * Math.log(p) : 0), 0) / SIZE);
    return all;
  });

/** One row of eight keys; scores are logarithms of the weights plus the row's log-sum-exp. */
const rows = (power: number, seed: number): readonly number[][] =>
  once(cache, `row ${power} ${seed}`, () =>
    weightsOf(seed, 2 ** power, 1, EIGHT).map(({ weights, lse }) =>
      // A share that is 0 in float32 has a score at least 103 below the largest.
      Array.from(weights, (weight) => roundScore((weight > 0 ? Math.log(weight) : -103) + lse[0]) + 0),
    ),
  );

/** Mean of the largest share over 64 rows of eight keys: [scorer]. */
const largestOf = (power: number, seed: number): readonly number[] =>
  once(cache, `largest ${power} ${seed}`, () => [
    weightsOf(seed, 2 ** power, SIZE, EIGHT).map(({ weights }) => {
      let sum = 0;
      for (let row = 0; row < SIZE; row++)
        sum += Math.max(...weights.subarray(row * EIGHT, (row + 1) * EIGHT));
      return sum / SIZE;
    }),
  ])[0];

/** Milliseconds of one call of each and of additive's tanh alone, the best of three where they are short. */
function times(n: number, d: number): number[] {
  const [query, key] = [normals(1, 1, n, d), normals(1, 2, n, d)];
  const layer = additive(d, 1);
  const inputs = query.data as Float32Array;
  const tanhs = () => {
    let sum = 0;
    for (let i = 0; i < n; i++) for (const x of inputs) sum += Math.tanh(x);
    return sum;
  };
  const calls = [
    () => scaledDotProductAttention(query, key, key, { scale: 1 }),
    () => scaledDotProductAttention(query, key, key),
    () => layer.forward(query, key, key),
    tanhs,
  ];
  const best = calls.map(() => Number.POSITIVE_INFINITY);
  for (let turn = 0; turn < (n * n * d > 2 ** 24 ? 1 : 3); turn++)
    for (const [at, call] of calls.entries()) {
      const start = performance.now();
      call();
      best[at] = Math.min(best[at], performance.now() - start);
    }
  return best;
}

/** The numbers of a state. */
export function compute({ power, n, race, seed }: Scorers): ScorersNumbers {
  const d = 2 ** power;
  const ms: readonly number[] = race > 0 ? times(n, d) : new Array(4).fill(Number.NaN);
  const bound = () => [
    [
      additive(d, seed)
        .w.toFloat64()
        .reduce((sum, x) => sum + Math.abs(x), 0),
    ],
  ];
  return {
    all: rows(power, seed).map((scores, s) => ({
      scores,
      shares: softmaxOf(scores),
      largest: largestOf(power, seed)[s],
      entropies: entropies(seed)[s],
      earlier: [...thrown].filter(([one]) => one !== seed).map(([, all]) => all[s]),
      parameters: s < 2 ? 0 : 2 * d * d + d,
      work: 2 * n * n * d + (s < 2 ? 0 : 4 * n * d * d + 2 * n * n * d),
      bytes: s < 2 ? 0 : n * n * d * 4,
      ms: ms[s],
      tanh: s < 2 ? Number.NaN : ms[3],
      bound: s < 2 ? 0 : once(cache, `bound ${power} ${seed}`, bound)[0][0],
    })),
  };
}

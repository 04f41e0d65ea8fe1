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

/** What is measured of a scorer at a length: one row of eight scores, the mean of the largest share of 64 such rows, the mean entropy of 64 rows of 64 keys. */
type Measured = Pick<Scorer, "scores" | "largest" | "bound"> & { readonly entropy: number };

/** Entropies of every seed thrown, [scorer][power]; and what was measured, by power and seed. */
const thrown = new Map<number, readonly (readonly number[])[]>();
const cache = new Map<string, readonly Measured[]>();

/** What is in a map, computed where it is not there yet. */
function once<K, T>(map: Map<K, T>, key: K, make: () => T): T {
  map.set(key, map.get(key) ?? make());
  return map.get(key)!;
}

/** Dot, scaled and additive on the same queries and keys. */
const measured = (power: number, seed: number): readonly Measured[] =>
  once(cache, `${power} ${seed}`, () => {
    const d = 2 ** power;
    const [q, k] = [normals(seed, 1, SIZE, d), normals(seed, 2, SIZE, d)];
    const layer = additive(d, seed);
    // In float64 no weight of the dot product is 0, so each has a logarithm.
    const [query, key] = [q, k].map((list) => tensor(list.toFloat64(), [SIZE, d]));
    const returnWeights = true;
    const all = [
      scaledDotProductAttention(query, key, key, { scale: 1, returnWeights }),
      scaledDotProductAttention(query, key, key, { returnWeights }),
      layer.forward(q, k, k, { returnWeights }),
    ];
    const bound = layer.w.toFloat64().reduce((sum, x) => sum + Math.abs(x), 0);
    return all.map(({ weights, lse }, s) => {
      const p = weights!.toFloat64();
      // Scores of the first eight keys: logarithms of the weights plus the row's log-sum-exp.
      const scores = Float64Array.from({ length: SIZE * EIGHT }, (_, at) => {
        const row = Math.floor(at / EIGHT);
        return Math.log(p[row * SIZE + (at % EIGHT)]) + lse.at(row);
      });
      const eight = tensor(scores, [SIZE, EIGHT, 1]);
      const ones = tensor(new Float64Array(SIZE).fill(1), [SIZE, 1, 1]);
      const shares = scaledDotProductAttention(ones, eight, eight, { scale: 1, returnWeights }).weights!;
      let largest = 0;
      for (let row = 0; row < SIZE; row++)
        largest += Math.max(...shares.toFloat64().subarray(row * EIGHT, (row + 1) * EIGHT)) / SIZE;
      return {
        scores: Array.from(scores.subarray(0, EIGHT), (score) => roundScore(score) + 0),
        largest,
        entropy: -p.reduce((sum, x) => sum + (x > 0 ? x * Math.log(x) : 0), 0) / SIZE,
        bound: s < 2 ? 0 : bound,
      };
    });
  });

/** Mean entropies: [scorer][power]. */
const entropies = (seed: number): readonly (readonly number[])[] =>
  once(thrown, seed, () => [0, 1, 2].map((s) => POWERS.map((power) => measured(power, seed)[s].entropy)));

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
  return {
    all: measured(power, seed).map(({ scores, largest, bound }, s) => ({
      ...{ scores, largest, bound },
      shares: softmaxOf(scores),
      entropies: entropies(seed)[s],
      earlier: [...thrown].filter(([one]) => one !== seed).map(([, all]) => all[s]),
      parameters: s < 2 ? 0 : 2 * d * d + d,
      work: 2 * n * n * d + (s < 2 ? 0 : 4 * n * d * d + 2 * n * n * d),
      bytes: s < 2 ? 0 : n * n * d * 4,
      ms: ms[s],
      tanh: s < 2 ? Number.NaN : ms[3],
    })),
  };
}

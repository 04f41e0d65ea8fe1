/**
 * Variants: the same head by the whole matrix, by Flash's tiles, through Longformer's window and by Performer's random features.
 * Errors are against heed's result in float64, relative to its size; times are measured here on request.
 */
import { longformer, scaledDotProductAttention, type Tensor, tensor } from "../../src/index.ts";
import { performerAttention } from "../../src/nn/history/index.ts";
import { budgetOf, Draws, featuresOf, type HeadData, headOf, KINDS, type Kind, wholeMatrix } from "./data.ts";
import { BANDS, showsTiles } from "./shown.ts";

/** What a reader changes. */
export type Variants = {
  /** Which data is shown: a name of KINDS. */
  readonly data: string;
  /** Which kinds have been looked at: numbers into KINDS. */
  readonly visited: readonly number[];
  /** What scores are multiplied by: 1, 0.5 or 0.25. */
  readonly spread: number;
  /** How much work Longformer and Performer are given: 0, 1 or 2. */
  readonly budget: number;
  /** "errors", "tiles" or "cost". */
  readonly show: string;
  /** Tiles that Flash has done, 0 to 8. */
  readonly tile: number;
  /** Rows and keys of the race, and how often it was run. */
  readonly n: number;
  readonly race: number;
  /** Seed of the data and of the features. */
  readonly seed: number;
};

/** One way to compute a head. */
export interface Way {
  /** Share of the attention by sixteenths of rows and keys, [16][16]; rows add up to 1. */
  readonly map: readonly (readonly number[])[];
  /** Size of the error over the size of the output; over the mean size of a value. */
  readonly error: number;
  readonly errorOverValues: number;
  /** Share of the exact attention that it may look at. */
  readonly windowShare: number;
}

/** Errors of the ways on a kind of data that has been looked at. */
export interface Row {
  readonly kind: number;
  /** Flash, Longformer, Performer. */
  readonly errors: readonly number[];
  /** The same of every seed that was thrown with these settings. */
  readonly throws: readonly (readonly number[])[];
}

/** What a way costs at the race's n. */
export interface VariantCost {
  readonly operations: number;
  /** Bytes between inputs and output. */
  readonly bytes: number;
  /** Milliseconds of one call; NaN before the race. */
  readonly ms: number;
  /** Milliseconds of its passes (products, softmax, sums); empty for one pass, and before the race. */
  readonly passes: readonly number[];
}

/** A row of queries after a tile of keys. */
export interface TileStep {
  /** Scores of the tile. */
  readonly scores: readonly number[];
  readonly maximum: number;
  readonly rescale: number;
  readonly sum: number;
  /** First number of the output so far. */
  readonly output: number;
  /** The tile alone: its log-sum-exp and the first number of its output, rounded as the listings have them. */
  readonly ownText: { readonly lse: number; readonly output: number };
}

/** What the picture shows: whole matrix, Flash, Longformer, Performer. */
export interface VariantsNumbers {
  readonly n: number;
  readonly d: number;
  /** Keys on each side in the window, and random features. */
  readonly window: number;
  readonly features: number;
  readonly ways: readonly Way[];
  readonly rows: readonly Row[];
  /** Empty where they are not shown. */
  readonly costs: readonly VariantCost[];
  /** The query of the tiles, and its eight tiles; empty where neither picture nor listing shows them. */
  readonly query: number;
  readonly tiles: readonly TileStep[];
  /** What the listing of the tiles prints: log-sum-exp and output so far. */
  readonly merged: readonly (readonly [number, number])[];
}

const size = (numbers: Float64Array): number => Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0));
const minus = (a: Float64Array, b: Float64Array) => a.map((x, i) => x - b[i]);
const double = (t: Tensor) => tensor(t.toFloat64(), t.shape);

/** Weights [n, n] by sixteenths. */
function mapOf(weights: Float64Array, n: number): number[][] {
  const map = Array.from({ length: BANDS }, () => new Array<number>(BANDS).fill(0));
  const each = n / BANDS;
  for (let i = 0; i < n; i++) {
    const row = map[Math.floor(i / each)];
    for (let j = 0; j < n; j++) row[Math.floor(j / each)] += weights[i * n + j] / each;
  }
  return map;
}

interface Measured {
  readonly head: HeadData;
  readonly ways: readonly Way[];
}

const cache = new Map<string, Promise<Measured>>();
/** Errors of the seeds thrown, by kind and settings. */
const thrown = new Map<string, Map<number, readonly number[]>>();

/** All ways on a kind of data; kept, because other controls do not change it. */
function measured(kind: Kind, spread: number, budget: number, seed: number): Promise<Measured> {
  const name = `${kind} ${spread} ${budget} ${seed}`;
  let result = cache.get(name);
  if (result === undefined) {
    result = measure(kind, spread, budget, seed);
    cache.set(name, result);
    result.catch(() => cache.delete(name));
  }
  return result;
}

async function measure(kind: Kind, spread: number, budget: number, seed: number): Promise<Measured> {
  const draws = new Draws(seed);
  const head = await headOf(kind, spread, draws);
  const { query, key, value } = head;
  const [n, d] = query.shape;
  const { window, features } = budgetOf(n, budget);
  const returnWeights = true;
  const exact = scaledDotProductAttention(double(query), double(key), double(value), { returnWeights });
  const want = exact.output.toFloat64();
  const p = exact.weights!.toFloat64();
  const materialized = wholeMatrix(query, key, value).toFloat64();
  const flash = scaledDotProductAttention(query, key, value).output.toFloat64();
  const near = scaledDotProductAttention(query, key, value, {
    attnMask: longformer(window, [0]),
    returnWeights,
  });
  const random = performerAttention(query, key, value, {
    features: featuresOf(features, d, draws),
    returnWeights,
  });
  const meanValue = size(value.toFloat64()) / Math.sqrt(n);
  let visible = 0;
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n; j++)
      if (i === 0 || j === 0 || Math.abs(i - j) <= window) visible += p[i * n + j] / n;
  const way = (output: Float64Array, weights: Float64Array, windowShare: number): Way => {
    const error = size(minus(output, want));
    return {
      map: mapOf(weights, n),
      error: error / size(want),
      errorOverValues: error / Math.sqrt(n) / meanValue,
      windowShare,
    };
  };
  return {
    head,
    ways: [
      way(materialized, p, 1),
      way(flash, p, 1),
      way(near.output.toFloat64(), near.weights!.toFloat64(), visible),
      way(random.output.toFloat64(), random.weights!.toFloat64(), 1),
    ],
  };
}

/** The numbers of a state. */
export async function compute(state: Variants): Promise<VariantsNumbers> {
  const { data, visited, spread, budget, show, n: raced, race, seed } = state;
  const { head, ways } = await measured(data as Kind, spread, budget, seed);
  const [n, d] = head.query.shape;
  const rows: Row[] = [];
  for (const kind of visited) {
    const errors = (await measured(KINDS[kind], spread, budget, seed)).ways
      .slice(1)
      .map(({ error }) => error);
    const name = `${kind} ${spread} ${budget}`;
    const throws = thrown.get(name) ?? new Map<number, readonly number[]>();
    thrown.set(name, throws.set(seed, errors));
    rows.push({ kind, errors, throws: [...throws.values()] });
  }
  // In the middle, where the local data has its largest score in a later tile.
  const query = Math.floor((8.5 * n) / BANDS);
  // Loaded when they are shown.
  const tiles = showsTiles(state) ? (await import("./tiles.ts")).tilesOf(head, query) : undefined;
  return {
    n,
    d,
    ...budgetOf(n, budget),
    ways,
    rows,
    // What plans them is loaded when they are shown.
    costs: show === "cost" ? (await import("./costs.ts")).costsOf(raced, race > 0) : [],
    query,
    tiles: tiles?.each ?? [],
    merged: tiles?.merged ?? [],
  };
}

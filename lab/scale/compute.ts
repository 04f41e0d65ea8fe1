/**
 * Why √d_k: 20,000 products, of 2,000 random queries with ten keys each, their variance, and softmax of a row. A product is heed's
 * log-sum-exp of a row with one key: the score of that key, and nothing else.
 */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { Normals } from "../frame/chance.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { scoringOf } from "../head/head.ts";
import { CAPTURES } from "../words/captures.ts";
import { divisorOf, HIGHEST } from "./divisor.ts";

/** What a reader changes. */
export type Scale = {
  /** Exponent of d_k: d_k = 2^power. */
  readonly power: number;
  /** What products are divided by: "1", "√dk", "dk" or "√dmodel". */
  readonly divisor: string;
  /** Exponents that were visited, whose variances stay on the plot. */
  readonly visited: readonly number[];
  /** "random", or "trained": a head's own queries and keys. */
  readonly data: string;
  /** What a narrow picture shows: "products", or "plot" for their variance against d_k. */
  readonly show: string;
  /** Whether the lines of the plot are drawn: they answer the first prediction. */
  readonly line: boolean;
  /** Seed of the random vectors. */
  readonly seed: number;
};

/** What the picture shows. */
export interface ScaleNumbers {
  /** Counts of bins 2 wide from −100 to 100, what is outside counted in the outermost. */
  readonly bins: readonly number[];
  readonly count: number;
  /** The largest number of the vectors. */
  readonly largestNumber: number;
  /** Variance of the products as they are, and after division. */
  readonly variance: number;
  readonly divided: number;
  /** Queries with ten keys. */
  readonly rows: number;
  /** Softmax of the ten products of the first of them after division. */
  readonly shares: readonly number[];
  /** The ten products before division, rounded as the listings have them, and softmax of those after it. */
  readonly raw: readonly number[];
  readonly listed: readonly number[];
  /** Mean entropy of softmax over the queries, in nats, and mean of their largest shares. */
  readonly entropy: number;
  readonly largest: number;
  /** Variance of the products for each visited power, before and after division. */
  readonly points: readonly (readonly [dk: number, variance: number, divided: number])[];
  /** The variance after division of the other seeds thrown, at the same powers. */
  readonly earlier: readonly (readonly [dk: number, divided: number])[];
}

/** Products, and keys of one row. */
const PAIRS = 20_000;
const TEN = 10;
/** Rows of a call. */
const CHUNK = 200;

/** Numbers that are drawn without a pause, about a millisecond's work. */
const PIECE = 2 ** 16;
/** Draws that are kept. */
const KEPT = 40;

/** Variances of every throw, by power, then by seed. */
const thrown = new Map<number, Map<number, number>>();

/** Products of one power and seed, their variance, and the largest number of the vectors. */
interface Drawn {
  readonly products: Float32Array;
  readonly variance: number;
  readonly largest: number;
}
/** Every draw that was begun: what is left of it, and its result once nothing is. */
const draws = new Map<string, { readonly steps: Iterator<void, Drawn>; drawn?: Drawn }>();

/** q·k of 2,000 random queries with ten random keys each, d_k = 2^power; pauses after each piece. */
function* drawing(power: number, seed: number): Generator<void, Drawn> {
  const dk = 2 ** power;
  const normals = new Normals(seed, power);
  let largest = 0;
  function* fill(rows: number) {
    const numbers = new Float32Array(CHUNK * rows * dk);
    for (let from = 0; from < numbers.length; from += PIECE) {
      const piece = normals.list(Math.min(PIECE, numbers.length - from));
      // By index: iterators of typed arrays take ten times as long, and these are 22 million numbers.
      for (let i = 0; i < piece.length; i++) largest = Math.max(largest, Math.abs(piece[i]));
      numbers.set(piece, from);
      yield;
    }
    return tensor(numbers, [CHUNK, rows, dk]);
  }
  const nothing = tensor(new Float32Array(CHUNK), [CHUNK, 1, 1]);
  const products = new Float32Array(PAIRS);
  // The ten keys of a row are the queries of this call and the row's query its only key, so that each
  // log-sum-exp is one product.
  for (let from = 0; from < PAIRS; from += CHUNK * TEN) {
    const { lse } = scaledDotProductAttention(yield* fill(TEN), yield* fill(1), nothing, { scale: 1 });
    products.set(lse.data as Float32Array, from);
  }
  return { products, variance: varianceOf(products), largest };
}

/** Draws one piece; the result once it is complete. */
function drawPiece(power: number, seed: number): Drawn | undefined {
  const key = `${power} ${seed}`;
  let draw = draws.get(key);
  if (draw === undefined) {
    const [oldest] = draws.keys();
    if (draws.size >= KEPT) draws.delete(oldest);
    draw = { steps: drawing(power, seed) };
    draws.set(key, draw);
  }
  if (draw.drawn === undefined) {
    const { done, value } = draw.steps.next();
    if (done) draw.drawn = value;
  }
  return draw.drawn;
}

/** The products of a power, drawn to the end if they are not yet. */
function productsOf(power: number, seed: number): Drawn {
  for (;;) {
    const drawn = drawPiece(power, seed);
    if (drawn !== undefined) return drawn;
  }
}

/** Draws every other power, so that the slider finds them there; then those of the next throw. */
export function* prepare({ seed }: Scale): Generator<void> {
  for (const next of [seed, seed + 1])
    for (let power = 0; power <= HIGHEST; power++) while (drawPiece(power, next) === undefined) yield;
}

/** q·k of every pair of tokens of a trained head, in the sentences of "Words", and those of queries with ten keys. */
function trained() {
  const all: number[] = [];
  const tens: number[] = [];
  for (const capture of Object.values(CAPTURES)) {
    const { query, key } = scoringOf(capture);
    const [n] = query.shape;
    const { weights, lse } = scaledDotProductAttention(query, key, key, { scale: 1, returnWeights: true });
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) {
        const weight = weights!.at(i, j);
        const product = Math.log(weight) + lse.at(i);
        // A weight that is 0 in float32 has no logarithm; such scores are far below the others.
        if (weight > 0) all.push(product);
        if (n === TEN) tens.push(product);
      }
  }
  return { products: Float32Array.from(all), tens: Float32Array.from(tens) };
}

function varianceOf(numbers: Float32Array): number {
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  return numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / numbers.length;
}

/** The numbers of a state. */
export function compute({ power, divisor, visited, data, seed }: Scale): ScaleNumbers {
  const drawn = productsOf(power, seed);
  // Of random vectors each query has ten keys.
  const { products: raw, tens } =
    data === "trained" ? trained() : { products: drawn.products, tens: drawn.products };
  const dk = data === "trained" ? 32 : 2 ** power;
  const by = divisorOf(divisor, dk);
  const bins = new Array<number>(100).fill(0);
  for (const x of raw) bins[Math.min(99, Math.max(0, Math.floor((x / by + 100) / 2)))]++;
  const variance = data === "trained" ? varianceOf(raw) : drawn.variance;
  const rows = tens.length / TEN;
  const key = tensor(tens, [rows, TEN, 1]);
  const query = tensor(new Float32Array(rows).fill(1), [rows, 1, 1]);
  const { weights } = scaledDotProductAttention(query, key, key, { scale: 1 / by, returnWeights: true });
  const p = weights!.data as Float32Array;
  let [entropy, largest] = [0, 0];
  for (let row = 0; row < rows; row++) {
    let top = 0;
    for (let j = 0; j < TEN; j++) {
      const weight = p[row * TEN + j];
      if (weight > 0) entropy -= weight * Math.log(weight);
      top = Math.max(top, weight);
    }
    largest += top;
  }
  const rounded = [...tens.subarray(0, TEN)].map((x) => Math.round(x * 1000) / 1000 + 0);
  const powers = data === "trained" ? visited : [...new Set([...visited, power])].sort((a, b) => a - b);
  return {
    bins,
    count: raw.length,
    rows,
    largestNumber: drawn.largest,
    variance,
    divided: variance / (by * by),
    shares: [...p.subarray(0, TEN)],
    raw: rounded,
    listed: softmaxOf(rounded.map((x) => x / by)),
    entropy: entropy / rows,
    largest: largest / rows,
    earlier: powers.flatMap((one) =>
      [...(thrown.get(one) ?? [])]
        .filter(([other]) => other !== seed)
        .map(([, v]) => [2 ** one, v / divisorOf(divisor, 2 ** one) ** 2] as const),
    ),
    points: powers.map((one) => {
      const v = productsOf(one, seed).variance;
      thrown.set(one, (thrown.get(one) ?? new Map<number, number>()).set(seed, v));
      return [2 ** one, v, v / divisorOf(divisor, 2 ** one) ** 2];
    }),
  };
}

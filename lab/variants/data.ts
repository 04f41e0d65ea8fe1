/**
 * The data of the page "Variants": queries, keys and values of one head, [n, d] each, float32. Three kinds are made from a seed by
 * the few lines that its listings repeat; two are heads of the encoder that heed ships, loaded on request.
 */
import { type Tensor, tensor } from "../../src/index.ts";
import { matmul, scale, softmax } from "../../src/nn/index.ts";
import { decodeFloat16 } from "../head/packed.ts";

/** One head. */
export interface HeadData {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
}

/** Kinds of data, in the order of the page. */
export const KINDS = ["random", "local", "sink", "previous", "average"] as const;
export type Kind = (typeof KINDS)[number];

/** Rows and head size of the data that is made. */
const MADE = { n: 512, d: 64 } as const;
/** Rows and head size of the trained heads. */
const TRAINED = [128, 32] as const;

/** Normal numbers of a seed: xorshift32, two draws a number (Box and Muller). The listings have the same lines. */
export class Draws {
  #x: number;
  constructor(seed: number) {
    this.#x = seed;
  }
  uniform(): number {
    let x = this.#x;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#x = x;
    return (x >>> 0) / 2 ** 32;
  }
  normals(count: number): Float32Array {
    return Float32Array.from(
      { length: count },
      () => Math.sqrt(-2 * Math.log(this.uniform())) * Math.cos(2 * Math.PI * this.uniform()),
    );
  }
}

/** A head of a kind, its scores multiplied by `spread`; and where it was drawn, so that features can be drawn after it. */
export async function headOf(kind: Kind, spread: number, draws: Draws): Promise<HeadData> {
  if (kind === "previous" || kind === "average") {
    const { HEADS } = await import("./captures.ts");
    const { query, key, value } = HEADS[kind];
    return scaled([query, key, value].map(decodeFloat16), TRAINED, spread);
  }
  const { n, d } = MADE;
  let [query, key] = [draws.normals(n * d), draws.normals(n * d)];
  const value = draws.normals(n * d);
  if (kind === "local") {
    // Waves of random lengths: the product of two rows depends on their distance alone.
    const waves = draws.normals(d / 2).map((x) => x / 12);
    query = Float32Array.from({ length: n * d }, (_, at) => {
      const [i, c] = [Math.floor(at / d), at % d];
      const turn = waves[c % (d / 2)] * i;
      return Math.SQRT2 * (c < d / 2 ? Math.cos(turn) : Math.sin(turn));
    });
    key = query;
  }
  if (kind === "sink") {
    for (let i = 0; i < n; i++) query[i * d] += 4;
    key.fill(0, 0, d);
    key[0] = 18;
  }
  return scaled([query, key, value], [n, d], spread);
}

/** Scores times `spread`: queries and keys each times its square root. */
function scaled(
  [query, key, value]: Float32Array[],
  shape: readonly [number, number],
  spread: number,
): HeadData {
  const [q, k] = [query, key].map((numbers) => numbers.map((x) => x * Math.sqrt(spread)));
  return { query: tensor(q, shape), key: tensor(k, shape), value: tensor(value, shape) };
}

/** Random features of the Performer, [m, d]: plain normal numbers, so that the listings can draw the same. */
export const featuresOf = (m: number, d: number, draws: Draws): Tensor =>
  tensor(draws.normals(m * d), [m, d]);

/** Keys on each side of a row in the window, and random features, of n rows. */
export const budgetOf = (n: number, budget: number) => ({
  window: n / [32, 8, 4][budget],
  features: [n / 8, n / 2, 2 * n][budget],
});

/** The three passes of the formula: all products, scale and softmax of all rows, the weighted sums. */
export const PASSES = {
  products: (query: Tensor, key: Tensor): Tensor => matmul(query, key, { transposeB: true }),
  softmax: (products: Tensor, dk: number): Tensor => softmax(scale(products, 1 / Math.sqrt(dk))),
  sums: (weights: Tensor, value: Tensor): Tensor => matmul(weights, value),
} as const;

/** The formula with all scores and weights in memory, as textbooks write it. */
export const wholeMatrix = (query: Tensor, key: Tensor, value: Tensor): Tensor =>
  PASSES.sums(PASSES.softmax(PASSES.products(query, key), query.shape[1]), value);

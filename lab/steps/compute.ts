/** Step by step: four words, two numbers each; every number between Q·Kᵀ and the output, and heed's own result. */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { causal } from "../../src/masks/index.ts";
import { matmul } from "../../src/nn/index.ts";
import { withoutMaximum } from "../../src/reference/index.ts";

/** What a reader changes. */
export type Steps = {
  readonly q: readonly number[];
  readonly k: readonly number[];
  readonly v: readonly number[];
  /** The words' own numbers, [4, 2], and the matrices [2, 2] that make queries, keys and values of them: used while `flow` is set. */
  readonly x: readonly number[];
  readonly wq: readonly number[];
  readonly wk: readonly number[];
  readonly wv: readonly number[];
  /** Shows the whole formula as one flow of boxes. */
  readonly flow: boolean;
  /** 0 score, 1 ÷ √d, 2 mask, 3 − max, 4 exp, 5 sum, 6 share, 7 × V. */
  readonly stage: number;
  readonly row: number;
  readonly column: number;
  readonly causal: boolean;
  /** Adds 1,000 to every score. */
  readonly big: boolean;
  /** Leaves the subtraction of the maximum out. */
  readonly unsafe: boolean;
  readonly ownText: string;
};

/** What the picture shows: each [4][4], NaN and infinities included. */
export interface StepsNumbers {
  readonly dots: readonly (readonly number[])[];
  readonly scaled: readonly (readonly number[])[];
  readonly masked: readonly (readonly number[])[];
  readonly maxima: readonly number[];
  readonly shifted: readonly (readonly number[])[];
  readonly exps: readonly (readonly number[])[];
  readonly sums: readonly number[];
  readonly shares: readonly (readonly number[])[];
  /** [4][2] */
  readonly output: readonly (readonly number[])[];
}

const N = 4;
const D = 2;
const BIG = 1000;

/** The numbers of a state. */
export function compute({ q, k, v, causal: hidesLater, big, unsafe }: Steps): StepsNumbers {
  const [query, key, value] = [q, k, v].map((numbers) => tensor(Float64Array.from(numbers), [N, D]));
  const product = matmul(query, key.transpose());
  const rows = <T>(make: (i: number, j: number) => T) =>
    Array.from({ length: N }, (_, i) => Array.from({ length: N }, (_, j) => make(i, j)));
  const dots = rows((i, j) => product.at(i, j));
  const scaled = rows((i, j) => dots[i][j] / Math.sqrt(D) + (big ? BIG : 0));
  const masked = rows((i, j) => (hidesLater && j > i ? Number.NEGATIVE_INFINITY : scaled[i][j]));
  const maxima = masked.map((row) => Math.max(...row));
  const shifted = rows((i, j) => (unsafe ? masked[i][j] : masked[i][j] - maxima[i]));
  const exps = shifted.map((row) => row.map(Math.exp));
  const sums = exps.map((row) => row.reduce((a, b) => a + b, 0));
  // The last two are heed's: its kernel, or, with the subtraction left out, the reference that shows how that fails.
  const sizes = { Nq: N, Nk: N, dk: D, dv: D };
  const result = unsafe
    ? withoutMaximum(Float64Array.from(q), Float64Array.from(k), Float64Array.from(v), sizes, {
        allowed: (i, j) => !hidesLater || j <= i,
        score: (s) => s + (big ? BIG : 0),
      })
    : kernel();
  function kernel() {
    const { output, weights } = scaledDotProductAttention(query, key, value, {
      returnWeights: true,
      attnMask: [
        tensor(new Float64Array(N * N).fill(big ? BIG : 0), [N, N]),
        ...(hidesLater ? [causal()] : []),
      ],
    });
    return { output: output.toFloat64(), weights: weights!.toFloat64() };
  }
  return {
    dots,
    scaled,
    masked,
    maxima,
    shifted,
    exps,
    sums,
    shares: rows((i, j) => result.weights[i * N + j]),
    output: Array.from({ length: N }, (_, i) => [...result.output.subarray(i * D, (i + 1) * D)]),
  };
}

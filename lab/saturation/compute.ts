/**
 * Saturation: eight numbers, multiplied, through softmax, with the gradient of the largest share; and 2,000 rows of
 * scaled dot products the same way. Softmax of the eight is heed's attention: one query of 1, the numbers as keys, the identity as values.
 */

import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { matmul, scale, softmax } from "../../src/nn/index.ts";
import { Normals } from "../frame/chance.ts";
import { indexOfLargest } from "../frame/words.ts";
import { jacobianNorm } from "./jacobian.ts";

/** What a reader changes. */
export type Saturation = {
  /** The eight numbers. */
  readonly numbers: readonly number[];
  /** What they, and the scores of the rows, are multiplied by. */
  readonly times: number;
  /** Keys of each of the 2,000 rows. */
  readonly keys: number;
  /** Whether shares that float16 cannot hold are counted. */
  readonly half: boolean;
  /** What a narrow picture shows: "bars" or "rows". */
  readonly show: string;
  /** Seed of the rows. */
  readonly seed: number;
};

/** What the picture shows. */
export interface SaturationNumbers {
  /** Shares at × 1 and at × `times`, [8]. */
  readonly plain: readonly number[];
  readonly shares: readonly number[];
  /** Change of the largest share for a small change of each score, [8]. */
  readonly gradient: readonly number[];
  readonly rows: RowNumbers;
}

/** Of 2,000 rows. */
export interface RowNumbers {
  /** log10 of the gradient norm of each row; −Infinity where it is exactly 0. */
  readonly logs: Float32Array;
  readonly entropy: number;
  readonly largest: number;
  readonly gradient: number;
  /** Quartiles of the gradient norm, and its maximum. */
  readonly quartiles: readonly [number, number, number];
  readonly maximum: number;
  /** Share of rows whose largest weight is above 0.99. */
  readonly settled: number;
  /** Share of weights that float16 rounds to 0. */
  readonly zeros: number;
}

/** Rows of scores. */
export const ROWS = 2000;
const DK = 64;
/** Numbers up to this round to 0 in float16: half of its smallest number, 2⁻²⁴. */
const HALF_FLOOR = 2 ** -25;

const identity = (n: number) => Float64Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0));

/**
 * Softmax of the numbers times `times`, and the gradient of its largest share: p_top·(δ − p). For the largest itself, 1 − p_top is the
 * sum of the other shares, added up as they are: subtracted from 1, a saturated row would lose its digits.
 */
export function eight(numbers: readonly number[], times: number) {
  const n = numbers.length;
  const query = tensor(Float64Array.of(1), [1, 1]);
  const key = tensor(Float64Array.from(numbers), [n, 1]);
  const { output } = scaledDotProductAttention(query, key, tensor(identity(n), [n, n]), { scale: times });
  const shares = [...(output.data as Float64Array)];
  const top = indexOfLargest(shares);
  const rest = shares.reduce((sum, share, i) => (i === top ? sum : sum + share), 0);
  const gradient = shares.map((share, i) => shares[top] * (i === top ? rest : -share));
  return { shares, gradient, top };
}

let drawn: { keys: number; seed: number; scores: ReturnType<typeof tensor> } | undefined;

/** Scores q·k/√64 of 2,000 independent rows: each has a query and keys of its own, standard normal, 64 numbers long. */
function scoresOf(keys: number, seed: number) {
  if (drawn?.keys !== keys || drawn.seed !== seed) {
    const normals = new Normals(seed, keys);
    const [query, key] = [
      tensor(normals.list(ROWS * DK), [ROWS, DK, 1]),
      tensor(normals.list(ROWS * keys * DK), [ROWS, keys, DK]),
    ];
    const products = matmul(key, query).data as Float32Array;
    drawn = {
      keys,
      seed,
      scores: tensor(
        products.map((x) => x / Math.sqrt(DK)),
        [ROWS, keys],
      ),
    };
  }
  return drawn.scores;
}

/** 2,000 rows of softmax(times · q·k/√64). */
export function manyRows(times: number, keys: number, seed: number): RowNumbers {
  const p = softmax(scale(scoresOf(keys, seed), times)).data as Float32Array;
  const norms = new Float64Array(ROWS);
  let [entropy, largest, settled, zeros] = [0, 0, 0, 0];
  for (let row = 0; row < ROWS; row++) {
    const one = p.subarray(row * keys, (row + 1) * keys);
    norms[row] = jacobianNorm(one);
    let top = 0;
    // By index: twice as fast here as the array's iterator.
    for (let j = 0; j < keys; j++) {
      const weight = one[j];
      if (weight > top) top = weight;
      if (weight <= HALF_FLOOR) zeros++;
      // Below this, a term is under 1e-18, and the logarithm is half of the loop's time.
      if (weight > 1e-20) entropy -= weight * Math.log(weight);
    }
    largest += top;
    if (top > 0.99) settled++;
  }
  const sorted = norms.toSorted();
  const quartile = (share: number) => sorted[Math.floor(share * (ROWS - 1))];
  return {
    logs: Float32Array.from(norms, (norm) => Math.log10(norm)),
    entropy: entropy / ROWS,
    largest: largest / ROWS,
    gradient: norms.reduce((a, b) => a + b, 0) / ROWS,
    quartiles: [quartile(0.25), quartile(0.5), quartile(0.75)],
    maximum: sorted[ROWS - 1],
    settled: settled / ROWS,
    zeros: zeros / p.length,
  };
}

/** The rows as they were computed last: pulling one of the eight bars changes nothing in them. */
let rows:
  | { readonly times: number; readonly keys: number; readonly seed: number; readonly numbers: RowNumbers }
  | undefined;

/** The numbers of a state. */
export function compute({ numbers, times, keys, seed }: Saturation): SaturationNumbers {
  const { shares, gradient } = eight(numbers, times);
  if (rows?.times !== times || rows.keys !== keys || rows.seed !== seed)
    rows = { times, keys, seed, numbers: manyRows(times, keys, seed) };
  return { plain: eight(numbers, 1).shares, shares, gradient, rows: rows.numbers };
}

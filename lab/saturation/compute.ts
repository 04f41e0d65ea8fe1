/**
 * Saturation: eight numbers, multiplied, through softmax, with the gradient of the largest share; and 2,000 rows of
 * scaled dot products the same way. Softmax is heed's attention: one query of 1, the numbers as keys, the identity as values.
 */

import { attentionBackward, Generator, scaledDotProductAttention, tensor } from "../../src/index.ts";
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

/** Softmax of the numbers times `times`, and the gradient of its largest share. */
export function eight(numbers: readonly number[], times: number) {
  const n = numbers.length;
  const query = tensor(Float64Array.of(1), [1, 1]);
  const key = tensor(Float64Array.from(numbers), [n, 1]);
  const value = tensor(identity(n), [n, n]);
  // A mask of zeros changes no score; its gradient is that of the scores.
  const scores = tensor(new Float64Array(n), [1, n]);
  const options = { scale: times, attnMask: scores };
  const { output, lse } = scaledDotProductAttention(query, key, value, options);
  const shares = [...(output.data as Float64Array)];
  const top = indexOfLargest(shares);
  const dOutput = tensor(
    Float64Array.from(shares, (_, i) => (i === top ? 1 : 0)),
    [1, n],
  );
  const { dMask } = attentionBackward(dOutput, query, key, value, { output, lse }, options);
  return { shares, gradient: [...(dMask!.data as Float64Array)], top };
}

/** Rows come in groups that share their keys: a call a group costs time, and rows with the same keys are a little alike. */
const groupsOf = (keys: number) => (keys <= 16 ? 40 : 10);

let drawn: { keys: number; groups: number; q: Float32Array; k: Float32Array } | undefined;

/** Standard normal queries and keys, [groups, rows, 64] and [groups, keys, 64]; the same for the same number of keys. */
function vectors(keys: number) {
  if (drawn?.keys !== keys) {
    const random = new Generator(7, 2);
    const normal = (length: number) => Float32Array.from({ length }, () => random.normal());
    const groups = groupsOf(keys);
    drawn = { keys, groups, q: normal(ROWS * DK), k: normal(groups * keys * DK) };
  }
  return drawn;
}

/** 2,000 rows of softmax(times · q·k/√64). */
export function manyRows(times: number, keys: number): RowNumbers {
  const { groups, q, k } = vectors(keys);
  const [query, key] = [tensor(q, [groups, ROWS / groups, DK]), tensor(k, [groups, keys, DK])];
  // Only the weights are read: one number a value is enough.
  const value = tensor(new Float32Array(groups * keys), [groups, keys, 1]);
  const { weights } = scaledDotProductAttention(query, key, value, {
    scale: times / Math.sqrt(DK),
    returnWeights: true,
  });
  const p = weights!.data as Float32Array;
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
let rows: { readonly times: number; readonly keys: number; readonly numbers: RowNumbers } | undefined;

/** The numbers of a state. */
export function compute({ numbers, times, keys }: Saturation): SaturationNumbers {
  const { shares, gradient } = eight(numbers, times);
  if (rows?.times !== times || rows.keys !== keys) rows = { times, keys, numbers: manyRows(times, keys) };
  return { plain: eight(numbers, 1).shares, shares, gradient, rows: rows.numbers };
}

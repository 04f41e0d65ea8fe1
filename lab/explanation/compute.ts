/**
 * Is attention an explanation? One row of a head: how much weight each word has, and how far the output moves without the
 * word. Both from heed: the weights, and a second call in which the word's value is 0, or its key is masked.
 */

import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { indexOfLargest, PIECES } from "../frame/words.ts";
import { headOf } from "../head/head.ts";
import { rowsOf } from "../head/packed.ts";

/** What a reader changes. */
export type Explanation = {
  /** "tired" (a trained head), or "planted": the same head with the value of its favorite word made 0. */
  readonly data: string;
  readonly row: number;
  /** What "without" means: "silent", the word hands over nothing; "hidden", it is masked and the others' shares grow. */
  readonly how: string;
  /** The word that is crossed out; −1 for none, −2 for the one with the largest weight. */
  readonly out: number;
  /** The reader's own sentence, read by the small encoder; "" for the common one. */
  readonly ownText: string;
};

/** What the picture shows. */
export interface ExplanationNumbers {
  readonly words: readonly string[];
  /** The word that looks: the one asked for, or the last. */
  readonly row: number;
  /** The word that is crossed out; −1 for none. */
  readonly out: number;
  readonly weights: readonly number[];
  /** Its scores, rounded as the listings have them, the weights that these have, and the numbers of a query. */
  readonly scores: readonly number[];
  readonly listed: readonly number[];
  readonly dk: number;
  /** How far the output moves without each word, as a share of the output's length. */
  readonly effects: readonly number[];
  /** Rank correlation of weights and effects (Spearman), −1 to 1. */
  readonly correlation: number;
  /** The same of weight times length of the value, and effects. */
  readonly correlationWeighted: number;
  /** Length of each value. */
  readonly lengths: readonly number[];
  readonly planted: number;
}

/** The numbers of a state. */
export async function compute({
  data,
  row: requestedRow,
  how,
  out,
  ownText,
}: Explanation): Promise<ExplanationNumbers> {
  const { tokens, query, key, value } =
    ownText === "" ? headOf("tired") : await (await import("../head/own.ts")).ownHead(ownText, PIECES, 0);
  const n = tokens.length;
  const row = Math.min(requestedRow, n - 1);
  const dv = value.shape[1];
  const plain = scaledDotProductAttention(query, key, value, { returnWeights: true });
  const weights = rowsOf(plain.weights!)[row];
  const planted = indexOfLargest(weights);
  const values = value.toFloat64();
  if (data === "planted") values.fill(0, planted * dv, (planted + 1) * dv);
  const dk = query.shape[1];
  const one = tensor(Float32Array.from(query.toFloat64().subarray(row * dk, (row + 1) * dk)), [1, dk]);
  const outputOf = (without: number) => {
    const changedValues = Float32Array.from(values);
    if (how === "silent" && without >= 0) changedValues.fill(0, without * dv, (without + 1) * dv);
    const see = Uint8Array.from({ length: n }, (_, j) => (how === "hidden" && j === without ? 0 : 1));
    const attnMask = tensor(see, [1, n], "bool");
    return scaledDotProductAttention(one, key, tensor(changedValues, [n, dv]), {
      attnMask,
    }).output.toFloat64();
  };
  const fullOutput = outputOf(-1);
  const size = Math.hypot(...fullOutput);
  const effects = Array.from(
    { length: n },
    (_, j) => Math.hypot(...outputOf(j).map((x, e) => x - fullOutput[e])) / size,
  );
  const lengths = Array.from({ length: n }, (_, j) => Math.hypot(...values.subarray(j * dv, (j + 1) * dv)));
  const scores = weights.map((weight) => Number((Math.log(weight) + plain.lse.at(row)).toPrecision(5)));
  const weighted = weights.map((weight, j) => weight * lengths[j]);
  return {
    words: tokens,
    row,
    out: out === -2 ? planted : out < n ? out : -1,
    weights,
    scores,
    listed: softmaxOf(scores),
    dk,
    effects,
    correlation: spearman(weights, effects),
    correlationWeighted: spearman(weighted, effects),
    lengths,
    planted,
  };
}

/** Places in the order of size, 0 for the smallest. */
function ranks(numbers: readonly number[]): number[] {
  const order = numbers.map((_, i) => i).sort((a, b) => numbers[a] - numbers[b]);
  const ranks = new Array<number>(numbers.length);
  for (const [rank, i] of order.entries()) ranks[i] = rank;
  return ranks;
}

/** Spearman's rank correlation. */
function spearman(a: readonly number[], b: readonly number[]): number {
  const [ra, rb] = [ranks(a), ranks(b)];
  const n = a.length;
  const squares = ra.reduce((sum, rank, i) => sum + (rank - rb[i]) ** 2, 0);
  return 1 - (6 * squares) / (n * (n * n - 1));
}

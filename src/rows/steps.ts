/**
 * The steps of a row, each open to view: products, visible keys, the weights of a row, and the numbers of one weight in the order
 * in which the row engine computes them. `store/measures/ledger.ts` puts them into sentences.
 */
import { HeadRows } from "./head-rows.ts";
import { type RowSum, softmax } from "./softmax.ts";

/** The steps from two vectors to a weight. */
export interface WeightSteps {
  /** Query and key, [d], and their products. */
  readonly q: Float64Array;
  readonly k: Float64Array;
  readonly products: Float64Array;
  readonly dot: number;
  /** dot × scale. */
  readonly scaled: number;
  /** The score after each score mod. */
  readonly modified: readonly number[];
  /** The sum of the float masks' numbers at this cell, 0 without one; and the score plus it. */
  readonly bias: number;
  readonly biased: number;
  readonly visible: boolean;
  /** The score after all masks: −∞ where the key is not visible. */
  readonly score: number;
  /** The largest score of the row, and Σ exp(score − m): 0 if the row is fully masked. */
  readonly m: number;
  readonly l: number;
  /** score − m, and its exponential. */
  readonly shifted: number;
  readonly exponential: number;
  /** exponential ÷ l; 0 in a fully masked row. To the bit the weight that `softmax` computes. */
  readonly weight: number;
}

/** Rows of one head, and each of their steps. */
export class RowSteps extends HeadRows {
  /** True if query i may attend to key j. */
  sees(i: number, j: number): boolean {
    const { mask } = this.inputs;
    return !(mask && mask(this.cellAt(i, j)) === 0) && this.isOpen(i, j);
  }

  /** Fills out [Nk] with the weights of row i; returns the row's sums. */
  softmax(i: number, out: Float64Array): RowSum {
    // Softmax is computed from the first visible key to the last: a causal row is half as long on average.
    const runs = this.runs(i);
    const from = runs[0] ?? 0;
    const to = runs[runs.length - 1] ?? 0;
    const s = out.subarray(from, to);
    const sum = softmax(s, this.scores(i, s, from, to), this.inputs.sink);
    // 0, but as in the reference, a row with a NaN score is NaN on all keys.
    const masked = 0 * sum.l;
    out.fill(masked, 0, from).fill(masked, to);
    return sum;
  }

  /** Maximum and sum of one row. */
  rowSum(i: number): RowSum {
    return this.softmax(i, new Float64Array(this.inputs.Nk));
  }

  /** The steps of the weight of query i on key j. */
  weight(i: number, j: number): WeightSteps {
    const { d, scale, key } = this.inputs;
    const q = this.query(i);
    const k = Float64Array.from({ length: d }, (_, n) =>
      key.read(key.start + j * key.rowStride + n * key.columnStride),
    );
    const product = new Float64Array(1);
    this.products(q, 1, product, j, j, j + 1);
    const [dot] = product;
    const scaled = dot * scale;
    const modified: number[] = [];
    const bias = this.bias(i, j);
    const biased = this.modified(scaled, i, j, (score) => modified.push(score)) + bias;
    const visible = this.sees(i, j);
    const score = visible ? biased : -Infinity;
    const { m, l } = this.rowSum(i);
    const shifted = score - m;
    // −∞ − m is −∞: a masked key has e^−∞ = 0 if the row has visible keys.
    const exponential = visible ? Math.exp(shifted) : 0;
    const products = q.map((x, n) => x * k[n]);
    const weight = l === 0 ? 0 : exponential / l;
    return {
      ...{ q, k, products, dot, scaled, modified, bias, biased, visible, score, m, l, shifted },
      ...{ exponential, weight },
    };
  }
}

/** Which rows a row is compared with, and the sums of their weights by key: *others* of `contrast.ts`. Memory is linear in Nq + Nk. */

/** Maximum number of cells that are read for the means on screen; in larger heads every n-th row is compared. */
export const MAX_COMPARED = 2 ** 22;

/** 1 if every row is compared; n: every n-th. */
export const comparedStep = ({ Nq, Nk }: { readonly Nq: number; readonly Nk: number }): number =>
  Math.max(1, Math.ceil((Nq * Nk) / MAX_COMPARED));

/**
 * The rows that a row is compared with: those with at least half as many visible keys. In causal heads early rows have large shares by
 * necessity.
 */
export class ComparedRows {
  /** All rows, those with the most visible keys first. */
  readonly order: readonly number[];
  readonly #counts: Int32Array;
  #next = 0;

  /** @param counts `[Nq]`: number of keys that each row may attend to */
  constructor(counts: Int32Array) {
    this.#counts = counts;
    this.order = [...counts.keys()].sort((a, b) => counts[b] - counts[a] || a - b);
  }

  /** The rows that enter (1) or leave (−1) the comparison, for a row with this many visible keys. */
  *moves(keys: number): Generator<readonly [row: number, sign: 1 | -1]> {
    const isCompared = (n: number) => 2 * this.#counts[this.order[n]] >= keys;
    for (; this.#next < this.order.length && isCompared(this.#next); this.#next++)
      yield [this.order[this.#next], 1];
    while (this.#next > 0 && !isCompared(this.#next - 1)) yield [this.order[--this.#next], -1];
  }
}

/** Sums of weights by key or by diagonal, and counts of visible cells. */
export class KeySums {
  readonly #sum: Float64Array;
  readonly #count: Int32Array;
  readonly #above: Int32Array;

  constructor(length: number) {
    this.#sum = new Float64Array(length);
    this.#count = new Int32Array(length);
    this.#above = new Int32Array(length);
  }

  /** Adds a row, or takes it out (`sign` −1); its key 0 is added at `first`. `even`: its weights under even attention, for `shareAbove`. */
  add(weights: Float64Array, visible: Uint8Array, first = 0, sign: 1 | -1 = 1, even = Infinity): void {
    for (let j = 0; j < weights.length; j++)
      if (visible[j]) {
        this.#sum[first + j] += sign * weights[j];
        this.#count[first + j] += sign;
        if (weights[j] > even) this.#above[first + j] += sign;
      }
  }

  /** The mean at a place, without the weight of a row that is in the sums; NaN where no row is left. */
  without(at: number, weight: number | undefined): number {
    const rows = this.#count[at] - Number(weight !== undefined);
    return rows > 0 ? (this.#sum[at] - (weight ?? 0)) / rows : Number.NaN;
  }

  /** Of the rows of that mean, the share whose weight is above even attention. */
  shareAbove(at: number, weight: number | undefined, even: number): number {
    const rows = this.#count[at] - Number(weight !== undefined);
    return (this.#above[at] - Number((weight ?? 0) > even)) / rows;
  }
}

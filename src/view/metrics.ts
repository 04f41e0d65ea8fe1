/**
 * What one number says about a head, and which links of a token are strongest. Everything is computed from the
 * weights p [queries, keys], rows that sum to 1; a row of zeros (a query that may see nothing) is left out of means.
 *
 *     entropy of a row = −Σ p·log2 p      0 bits: one key gets everything; log2(keys) bits: all get the same
 */

/** A matrix of weights, row-major: row = query, column = key. */
export interface WeightMatrix {
  readonly weights: ArrayLike<number>;
  readonly queries: number;
  readonly keys: number;
}

/** Means over the rows of one head. Shares are between 0 and 1; a share no row can have is 0. */
export interface HeadMetrics {
  /** Entropy in bits. */
  readonly entropy: number;
  /** Entropy as a share of log2(keys), its greatest value; 0 where there is one key. */
  readonly normalizedEntropy: number;
  /** Mean of |query position − key position|, in tokens. */
  readonly distance: number;
  /** Share on the token itself, on the one before, on the one after, and on the first. */
  readonly self: number;
  readonly previous: number;
  readonly next: number;
  readonly first: number;
}

/** The measures of one head. `previous` and `next` are means over the tokens that have such a neighbour. */
export function headMetrics({ weights, queries, keys }: WeightMatrix): HeadMetrics {
  let [rows, entropy, distance, first] = [0, 0, 0, 0];
  const offsets = [-1, 0, 1].map((offset) => ({ offset, share: 0, rows: 0 }));
  for (let i = 0; i < queries; i++) {
    const row = i * keys;
    let total = 0;
    for (let j = 0; j < keys; j++) total += weights[row + j];
    if (!(total > 0)) continue;
    rows++;
    entropy += entropyOf(weights, row, row + keys);
    first += weights[row];
    for (let j = 0; j < keys; j++) distance += weights[row + j] * Math.abs(i - j);
    for (const near of offsets) {
      const j = i + near.offset;
      if (j < 0 || j >= keys) continue;
      near.rows++;
      near.share += weights[row + j];
    }
  }
  const mean = (sum: number, count = rows) => (count === 0 ? 0 : sum / count);
  const [previous, self, next] = offsets.map((near) => mean(near.share, near.rows));
  const bits = mean(entropy);
  return {
    entropy: bits,
    normalizedEntropy: keys > 1 ? bits / Math.log2(keys) : 0,
    distance: mean(distance),
    self,
    previous,
    next,
    first: mean(first),
  };
}

/** Entropy in bits of the weights from `start` up to `end`; 0·log 0 is 0. */
export function entropyOf(weights: ArrayLike<number>, start = 0, end = weights.length): number {
  let bits = 0;
  for (let i = start; i < end; i++) if (weights[i] > 0) bits -= weights[i] * Math.log2(weights[i]);
  return bits > 0 ? bits : 0;
}

/** One query's weight on one key, in one head of one layer (all counted from 0). */
export interface Link {
  readonly layer: number;
  readonly head: number;
  readonly query: number;
  readonly key: number;
  readonly weight: number;
}

/** A head and where it stands. */
export interface HeadWeights extends WeightMatrix {
  readonly layer: number;
  readonly head: number;
}

/**
 * For each query its `top` links of highest weight over all the heads given, highest first; each key once, in the
 * head that gives it most. Ties go to the earlier layer, head and key.
 */
export function strongestLinks(heads: readonly HeadWeights[], top = 3): Link[][] {
  const queries = heads.length === 0 ? 0 : Math.min(...heads.map((head) => head.queries));
  return Array.from({ length: queries }, (_, query) => {
    const best = new Map<number, Link>();
    for (const { layer, head, keys, weights } of heads)
      for (let key = 0; key < keys; key++) {
        const weight = weights[query * keys + key];
        if (weight > (best.get(key)?.weight ?? 0)) best.set(key, { layer, head, query, key, weight });
      }
    return [...best.values()]
      .sort((a, b) => b.weight - a.weight || a.layer - b.layer || a.head - b.head || a.key - b.key)
      .slice(0, top);
  });
}

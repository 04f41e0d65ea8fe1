/**
 * One row of attention in float64, from scores to weights. The reference (`rows.ts`) and the pictures (`store/compute/head.ts`)
 * both compute their rows with these functions:
 *
 *   s = change(q·k × scale), −∞ where masked      p = exp(s − m)      l = Σ p      weight = p / l      lse = m + log l
 *
 * m is the maximum of the row. A sink is one more logit in m and l that has no key.
 */

/** Properties of a row; its sink is included. For a fully masked row m and lse are −∞, l and entropy 0. */
export interface RowSum {
  /** The largest score. */
  readonly m: number;
  /** Σ exp(s − m). */
  readonly l: number;
  /** m + log l. */
  readonly lse: number;
  /** −Σ w·ln w of the row's weights w, in nats. */
  readonly entropy: number;
}

/** What a row of scores is computed from. */
export interface RowTerms {
  /** Keys that the query may attend to: from, to, from, to … ascending. Others are not read. */
  readonly runs: readonly number[];
  /** Fills out[j − first] with q·k × scale for the keys j from … to. */
  products(out: Float64Array, first: number, from: number, to: number): void;
  /** A scaled score of key j after score mods and added masks. Default: unchanged. */
  readonly change?: (scaled: number, j: number) => number;
}

/**
 * Fills out[j − from] with the scores of the keys j from … to (exclusive) of a row: −∞ where masked. Returns the largest score,
 * −∞ if every key is masked.
 *
 * @example
 * const terms = { runs: [0, 2], products: (out, first, from, to) => out.fill(0.5, from - first, to - first) };
 * const s = new Float64Array(3);
 * scoreRow(terms, s, 0, 3); // 0.5; s is [0.5, 0.5, -Infinity]
 */
export function scoreRow(
  { runs, products, change }: RowTerms,
  out: Float64Array,
  from: number,
  to: number,
): number {
  out.fill(-Infinity, 0, to - from);
  let m = -Infinity;
  for (let n = 0; n < runs.length; n += 2) {
    const [start, end] = [Math.max(from, runs[n]), Math.min(to, runs[n + 1])];
    if (start >= end) continue;
    products(out, from, start, end);
    if (change) for (let j = start; j < end; j++) out[j - from] = change(out[j - from], j);
    // NaN in visible data must reach the result: the maximum ignores it, and exp propagates it.
    for (let at = start - from; at < end - from; at++) if (out[at] > m) m = out[at];
  }
  return m;
}

/**
 * Replaces the scores of a row, whose maximum is `highest`, by exp(s − m), and returns its sums. Masked scores become 0.
 *
 * @example
 * const s = Float64Array.of(1, 1, -Infinity);
 * exponentiateRow(s, 1).l; // 2; s is [1, 1, 0]
 */
export function exponentiateRow(s: Float64Array, highest: number, sink = -Infinity): RowSum {
  const m = Math.max(highest, sink);
  const sunk = weightOf(sink, m);
  let l = sunk;
  let spread = 0;
  for (let j = 0; j < s.length; j++) {
    // −∞ is a masked key; −∞ − m would be NaN if m is −∞ too.
    if (s[j] === -Infinity) {
      s[j] = 0;
      continue;
    }
    const x = s[j] - m;
    const p = Math.exp(x);
    s[j] = p;
    l += p;
    // 0·ln 0 is 0.
    if (p > 0) spread += p * x;
  }
  if (l === 0) return { m: -Infinity, l: 0, lse: -Infinity, entropy: 0 };
  // −Σ w·ln w with w = p/l and ln w = x − ln l.
  const entropy = Math.max(0, ((l - sunk) * Math.log(l) - spread) / l);
  return { m, l, lse: m + Math.log(l), entropy };
}

/**
 * Replaces the scores of a row, whose maximum is `highest`, by its weights, and returns its sums. The weights of a fully masked
 * row are 0.
 *
 * @example
 * const s = Float64Array.of(1, 1, -Infinity);
 * softmaxRow(s, 1).entropy; // ln 2; s is [0.5, 0.5, 0]
 */
export function softmaxRow(s: Float64Array, highest: number, sink = -Infinity): RowSum {
  const sum = exponentiateRow(s, highest, sink);
  if (sum.l !== 0) for (let j = 0; j < s.length; j++) s[j] /= sum.l;
  return sum;
}

/**
 * The weight of a score in a row of known log-sum-exp: exp(s − lse); 0 for a masked score, also in a fully masked row.
 *
 * @example
 * weightOf(0.5, 0.5 + Math.log(2)); // 0.5
 */
export function weightOf(s: number, lse: number): number {
  return s === -Infinity ? 0 : Math.exp(s - lse);
}

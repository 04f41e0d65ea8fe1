/** ALiBi in a causal window of 8 keys and the query's own position; one row of the weights is recomputed from the log-sum-exp. */
import assert from "node:assert/strict";
import {
  alibi,
  alibiSlopes,
  and,
  attentionWeights,
  causal,
  randn,
  scaledDotProductAttention,
  slidingWindow,
} from "heed";

const q = randn([1, 2, 64, 16], { seed: 1 });
const k = randn([1, 2, 64, 16], { seed: 2 });
const slopes = alibiSlopes(2);
const options = { attnMask: and(causal(), slidingWindow(8, 0)), scoreMod: alibi(slopes) };
const { lse } = scaledDotProductAttention(q, k, k, options);
const [head, row] = [1, 40];
const weights = attentionWeights(q, k, lse, { ...options, heads: [head], rows: [row] });

const visible = Array.from({ length: 64 }, (_, j) => j).filter((j) => weights.at(0, 0, 0, j) > 0);
assert.deepEqual(visible, [32, 33, 34, 35, 36, 37, 38, 39, 40]);

const slope = slopes[head] ?? Number.NaN;
const scores = visible.map((j) => {
  let score = 0;
  for (let e = 0; e < 16; e++) score += q.at(0, head, row, e) * k.at(0, head, j, e);
  return score / 4 - slope * (row - j);
});
const sum = scores.reduce((total, score) => total + Math.exp(score), 0);
for (const [n, j] of visible.entries())
  assert.ok(Math.abs(weights.at(0, 0, 0, j) - Math.exp(scores[n] ?? Number.NaN) / sum) < 1e-6);
console.log(`row ${row} sees ${visible.length} keys`);

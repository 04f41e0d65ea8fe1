/** Three rows of the weights at 16,384 positions, without the matrix of 268 million weights. */
import assert from "node:assert/strict";
import { attentionWeights, randn, scaledDotProductAttention } from "heed";

const [n, d] = [16_384, 32];
const q = randn([n, d], { seed: 1 });
const k = randn([n, d], { seed: 2 });
const { lse } = scaledDotProductAttention(q, k, k, { isCausal: true });
const rows = [0, 9_000, n - 1];
const weights = attentionWeights(q, k, lse, { isCausal: true, rows });
assert.deepEqual(weights.shape, [3, n]);

for (const [at, row] of rows.entries()) {
  let [sum, later] = [0, 0];
  for (let j = 0; j < n; j++) {
    sum += weights.at(at, j);
    if (j > row) later += weights.at(at, j);
  }
  assert.ok(Math.abs(sum - 1) < 1e-4, `row ${row} sums to ${sum}`);
  assert.equal(later, 0);
}
const score = (j: number) => {
  let s = 0;
  for (let e = 0; e < d; e++) s += q.at(9_000, e) * k.at(j, e);
  return Math.exp(s / Math.sqrt(d));
};
let total = 0;
for (let j = 0; j <= 9_000; j++) total += score(j);
const wanted = score(4_321) / total;
assert.ok(Math.abs(weights.at(1, 4_321) / wanted - 1) < 1e-3);
console.log(`${rows.length} rows of ${n} weights`);

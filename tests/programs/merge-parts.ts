/** Keys in three parts, as on several pages or machines: partial results with their log-sum-exp merge to the result over all keys. */
import assert from "node:assert/strict";
import { mergeStates, randn, scaledDotProductAttention } from "heed";
import { slice } from "heed/nn";

const q = randn([2, 4, 6, 8], { seed: 1 });
const k = randn([2, 4, 30, 8], { seed: 2 });
const v = randn([2, 4, 30, 8], { seed: 3 });
// biome-ignore format: from and to
const parts = [[0, 7], [7, 8], [8, 30]] as const;
const merged = mergeStates(
  parts.map(([from, to]) => scaledDotProductAttention(q, slice(k, -2, from, to), slice(v, -2, from, to))),
);
const full = scaledDotProductAttention(q, k, v);
for (const name of ["output", "lse"] as const) {
  const [a, b] = [merged[name].toFloat64(), full[name].toFloat64()];
  const worst = a.reduce((worstSoFar, x, i) => Math.max(worstSoFar, Math.abs(x - (b[i] ?? Number.NaN))), 0);
  assert.ok(worst < 2e-6, `${name} differs by ${worst}`);
}
console.log(`${parts.length} parts: ${merged.output.shape}`);

/** Keys and values in 16 bits, half the memory of a cache, under float32 queries. */
import assert from "node:assert/strict";
import { cast, randn, scaledDotProductAttention } from "heed";

const q = randn([1, 4, 3, 32], { seed: 1 });
const k = randn([1, 4, 100, 32], { seed: 2 });
const v = randn([1, 4, 100, 32], { seed: 3 });
const exact = scaledDotProductAttention(q, k, v).output.toFloat64();
for (const [dtype, bound] of [
  ["float16", 1e-3],
  ["bfloat16", 1e-2],
] as const) {
  // biome-ignore format: one line
  const [half, values] = [cast(k, dtype), cast(v, dtype)];
  assert.equal(half.data.byteLength, k.data.byteLength / 2);
  const { output } = scaledDotProductAttention(q, half, values);
  assert.equal(output.dtype, "float32");
  const worst = output
    .toFloat64()
    .reduce((worstSoFar, x, i) => Math.max(worstSoFar, Math.abs(x - (exact[i] ?? Number.NaN))), 0);
  assert.ok(worst > 0 && worst < bound, `${dtype} differs by ${worst}`);
}
console.log("float16 and bfloat16 caches");

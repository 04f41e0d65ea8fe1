/** A key/value cache: keys and values grow by one row a step, and each step is the row that one causal call gives. */
import assert from "node:assert/strict";
import { randn, scaledDotProductAttention, type Tensor } from "heed";
import { concat, slice } from "heed/nn";

const [q, k, v] = [1, 2, 3].map((seed) => randn([1, 4, 12, 16], { seed })) as [Tensor, Tensor, Tensor];
const full = scaledDotProductAttention(q, k, v, { isCausal: true }).output;

let keys = slice(k, -2, 0, 1);
let values = slice(v, -2, 0, 1);
let worst = 0;
for (let n = 0; n < 12; n++) {
  if (n > 0) {
    keys = concat([keys, slice(k, -2, n, n + 1)], -2);
    values = concat([values, slice(v, -2, n, n + 1)], -2);
  }
  const { output } = scaledDotProductAttention(slice(q, -2, n, n + 1), keys, values);
  for (let h = 0; h < 4; h++)
    for (let e = 0; e < 16; e++)
      worst = Math.max(worst, Math.abs(output.at(0, h, 0, e) - full.at(0, h, n, e)));
}
assert.ok(worst < 1e-6, `the steps differ from one causal call by ${worst}`);
console.log(`12 steps with a cache: ${keys.shape}`);

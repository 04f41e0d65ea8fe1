/** Three texts of 5, 1 and 6 tokens in one sequence, each attending to itself only: the numbers of three calls. */
import assert from "node:assert/strict";
import { causal, documents, randn, scaledDotProductAttention } from "heed";
import { slice } from "heed/nn";

const q = randn([1, 2, 12, 8], { seed: 1 });
const k = randn([1, 2, 12, 8], { seed: 2 });
const v = randn([1, 2, 12, 8], { seed: 3 });
const lengths = [5, 1, 6];
const ids = lengths.flatMap((length, document) => Array<number>(length).fill(document));
const { output } = scaledDotProductAttention(q, k, v, { attnMask: [documents(ids), causal()] });

let start = 0;
let worst = 0;
for (const length of lengths) {
  const part = (x: typeof q) => slice(x, -2, start, start + length);
  const alone = scaledDotProductAttention(part(q), part(k), part(v), { isCausal: true }).output;
  for (let h = 0; h < 2; h++)
    for (let i = 0; i < length; i++)
      for (let e = 0; e < 8; e++)
        worst = Math.max(worst, Math.abs(output.at(0, h, start + i, e) - alone.at(0, h, i, e)));
  start += length;
}
assert.ok(worst < 1e-6, `packed and separate calls differ by ${worst}`);
console.log(`${lengths.length} documents in ${ids.length} positions`);

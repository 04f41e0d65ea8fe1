/** A custom mask, whose reach is a table by head, with a custom score mod, compared with the formula with the same rule. */
import assert from "node:assert/strict";
import { maskMod, randn, scaledDotProductAttention, scoreMod, table } from "heed";

const q = randn([1, 3, 10, 4], { seed: 1 });
const k = randn([1, 3, 10, 4], { seed: 2 });
const reach = [0, 2, 20];
const reaches = table(reach);
const near = maskMod(({ h, q, k }) => k.le(q).and(q.sub(k).le(reaches.at(h))));
const fading = scoreMod(({ score, q, k }) => score.sub(q.sub(k).abs().mul(0.1)));
const { weights } = scaledDotProductAttention(q, k, k, {
  attnMask: near,
  scoreMod: fading,
  returnWeights: true,
});

for (const [h, limit] of reach.entries())
  for (let i = 0; i < 10; i++) {
    const shares = Array.from({ length: 10 }, (_, j) => {
      if (j > i || i - j > limit) return 0;
      let score = 0;
      for (let e = 0; e < 4; e++) score += q.at(0, h, i, e) * k.at(0, h, j, e);
      return Math.exp(score / 2 - 0.1 * (i - j));
    });
    const sum = shares.reduce((a, b) => a + b);
    for (const [j, share] of shares.entries())
      assert.ok(Math.abs(weights.at(0, h, i, j) - share / sum) < 1e-6, `head ${h}, cell ${i}, ${j}`);
  }
// In the first head each position attends only to itself.
assert.equal(weights.at(0, 0, 5, 5), 1);
console.log(`reaches ${reach.join(", ")}: ${weights.shape}`);

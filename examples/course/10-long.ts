/**
 * Long texts, three ways: FlashAttention (exact, no N×N matrix), Longformer (fewer cells), Performer (an approximation).
 * Run: `node examples/course/10-long.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   tiles against the whole matrix: the difference is below 1e-6: true
 *   Longformer at 8,192: more than 90 % of the tiles are skipped: true
 *   Performer, 512 features, numbers of size 0.25: error below 20 %: true
 *   of size 1: error above 50 %: true
 */
import { explain, longformer, randn, scaledDotProductAttention } from "heed";
import { scale } from "heed/nn";
import { orthogonalFeatures, performerAttention } from "heed/nn/history";
import { forward } from "heed/reference";

// Flash: the same numbers as the formula with all weights in memory.
const [N, d] = [256, 32];
const [q, k, v] = [1, 2, 3].map((seed) => randn([N, d], { seed }));
const exact = scaledDotProductAttention(q, k, v).output.toFloat64();
const formula = forward(q.toFloat64(), k.toFloat64(), v.toFloat64(), { Nq: N, Nk: N, dk: d, dv: d }).output;
const worst = Math.max(...exact.map((x, n) => Math.abs(x - formula[n])));
console.log(`tiles against the whole matrix: the difference is below 1e-6: ${worst < 1e-6}`);

// Longformer: a window and a few global tokens; tiles without a visible cell are not computed.
const long = randn([8192, 32], { seed: 4 });
const { tiles } = explain(long, long, long, { attnMask: longformer(128, [0]) });
const all = tiles ? tiles.skipped + tiles.full + tiles.partial : 1;
console.log(
  `Longformer at 8,192: more than 90 % of the tiles are skipped: ${(tiles?.skipped ?? 1) / all > 0.9}`,
);

// Performer: random features. Its error depends on the size of the inputs: small here, and above 50 % at variance 1.
const features = orthogonalFeatures(512, d, 1);
const error = (size: number) => {
  const [a, b] = [scale(q, size), scale(k, size)];
  const want = scaledDotProductAttention(a, b, v).output.toFloat64();
  const got = performerAttention(a, b, v, { features }).output.toFloat64();
  const norm = (x: ArrayLike<number>) => Math.sqrt(Array.from(x).reduce((sum, y) => sum + y * y, 0));
  return norm(want.map((x, n) => x - got[n])) / norm(want);
};
console.log(`Performer, 512 features, numbers of size 0.25: error below 20 %: ${error(0.25) < 0.2}`);
console.log(`of size 1: error above 50 %: ${error(1) > 0.5}`);

/**
 * Long texts, three ways: FlashAttention (exact, no N×N matrix), Longformer (fewer cells), Performer (an approximation).
 * Run: `node examples/course/10-long.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   Flash: tiles against the whole matrix, the outputs differ by less than 1e-6
 *   Longformer at 8,192 tokens: 92 % of the tiles are skipped
 *   Performer with 512 features: error as a share of the output
 *   numbers of size 0.25 ▍ 0.03
 *    numbers of size 0.5 ███▊ 0.36
 *      numbers of size 1 ████████████████████████ 2.33
 */
import { explain, longformer, randn, scaledDotProductAttention } from "heed";
import { scale } from "heed/nn";
import { orthogonalFeatures, performerAttention } from "heed/nn/history";
import { forward } from "heed/reference";
import { bars } from "heed/view";

// Flash: the same numbers as the formula with all weights in memory.
const [N, d] = [256, 32];
const [q, k, v] = [1, 2, 3].map((seed) => randn([N, d], { seed }));
const exact = scaledDotProductAttention(q, k, v).output.toFloat64();
const formula = forward(q.toFloat64(), k.toFloat64(), v.toFloat64(), { Nq: N, Nk: N, dk: d, dv: d }).output;
const worst = Math.max(...exact.map((x, n) => Math.abs(x - formula[n])));
const digits = worst < 1e-6 ? "less than 1e-6" : worst.toExponential(1);
console.log(`Flash: tiles against the whole matrix, the outputs differ by ${digits}`);

// Longformer: a window and a few global tokens; tiles without a visible cell are not computed.
const long = randn([8192, 32], { seed: 4 });
const { tiles } = explain(long, long, long, { attnMask: longformer(128, [0]) });
if (tiles) {
  const share = tiles.skipped / (tiles.skipped + tiles.full + tiles.partial);
  console.log(`Longformer at 8,192 tokens: ${Math.floor(share * 100)} % of the tiles are skipped`);
}

// Performer: random features. Its error depends on the size of the inputs: at variance 1 it is above 100 %.
const features = orthogonalFeatures(512, d, 1);
const error = (size: number) => {
  const [a, b] = [scale(q, size), scale(k, size)];
  const want = scaledDotProductAttention(a, b, v).output.toFloat64();
  const got = performerAttention(a, b, v, { features }).output.toFloat64();
  const norm = (x: ArrayLike<number>) => Math.sqrt(Array.from(x).reduce((sum, y) => sum + y * y, 0));
  return norm(want.map((x, n) => x - got[n])) / norm(want);
};
const errors = [0.25, 0.5, 1].map((size) => [`numbers of size ${size}`, error(size)] as const);
const title = "Performer with 512 features: error as a share of the output";
console.log(String(bars(errors, { title, width: 24, format: (share) => share.toFixed(2) })));

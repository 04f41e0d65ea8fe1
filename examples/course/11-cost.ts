/**
 * What attention costs: operations grow with N², the weights would take N² numbers, and one row of tiles takes N.
 * Run: `node examples/course/11-cost.ts [--svg=FILE]` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   Operations of one head of 64
 *   operations (log scale)
 *   6.9e10 │                                            ···●
 *          │                                      ······
 *          │                                ······
 *          │                          ·····●              ·▲
 *          │                    ······        ············
 *          │              ··●···   ········▲··         ····■
 *          │        ········▲······        ■···········
 *          │  ···········      ············
 *          │▲····  ·········■··
 *    4.2e6 │■······
 *          └────────────────────────────────────────────────
 *           256             tokens (log scale)         16384
 *   ● attention   ▲ window of 256   ■ linear attention
 *   1024 tokens: Q·Kᵀ 134217728, softmax of 1048576 scores, weights·V 134217728
 *   256 tokens: weights of one head 0.25 MiB, one tile row 0.063 MiB
 *   1024 tokens: weights of one head 4 MiB, one tile row 0.250 MiB
 *   4096 tokens: weights of one head 64 MiB, one tile row 1.000 MiB
 *   16384 tokens: weights of one head 1,024 MiB, one tile row 4.000 MiB
 */
import { writeFileSync } from "node:fs";
import { explain, explainMatmul, slidingWindow, zeros } from "heed";
import { curves } from "heed/view";

const d = 64;
const lengths = [256, 1024, 4096, 16384];
/** What heed plans to compute, without computing it: all pairs, or those of a window. */
function operations(N: number, window?: number): number {
  const x = zeros([N, d]);
  return explain(x, x, x, window === undefined ? {} : { attnMask: slidingWindow(window, 0) }).operations;
}
const plot = curves(
  [
    { name: "attention", points: lengths.map((N) => [N, operations(N)]) },
    { name: "window of 256", points: lengths.map((N) => [N, operations(N, 256)]) },
    { name: "linear attention", points: lengths.map((N) => [N, 4 * N * d * d]) },
  ],
  {
    title: "Operations of one head of 64",
    x: "tokens",
    y: "operations",
    logX: true,
    logY: true,
    columns: 48,
    rows: 10,
  },
);
console.log(String(plot));
const [query, weights] = [zeros([1024, d]), zeros([1024, 1024])];
const [scores, sums] = [explainMatmul(query, query.transpose()), explainMatmul(weights, query)];
console.log(
  `1024 tokens: Q·Kᵀ ${scores.operations}, softmax of ${weights.data.length} scores, weights·V ${sums.operations}`,
);
for (const N of lengths)
  console.log(
    `${N} tokens: weights of one head ${((4 * N * N) / 2 ** 20).toLocaleString("en")} MiB, one tile row ${((4 * 64 * N) / 2 ** 20).toFixed(3)} MiB`,
  );
const path = process.argv.find((argument) => argument.startsWith("--svg="))?.slice(6);
if (path) writeFileSync(path, plot.toSvg());

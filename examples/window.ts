/**
 * A causal mask with a window: each position sees itself and the 256 positions before it, as in Longformer and Mistral. Fully
 * masked tiles are neither read nor computed. Run: `node examples/window.ts` (Node ≥ 22.18, in a clone after
 * `npm run build`).
 *
 * Prints:
 *   6.1 % of the cells are visible
 *   less than 12 % of the tiles are computed
 *   position 4095 sees the keys 3839 to 4095
 */
import {
  and,
  attentionWeights,
  causal,
  explain,
  scaledDotProductAttention,
  slidingWindow,
  tensor,
} from "heed";

const [N, d, left] = [4096, 64, 256];
const wave = (phase: number) => Float32Array.from({ length: N * d }, (_, i) => Math.sin(i * 0.37 + phase));
const [q, k, v] = [0, 1, 2].map((phase) => tensor(wave(phase), [N, d]));
const options = { attnMask: and(causal(), slidingWindow(left, 0)) };

const visible = N * (left + 1) - (left * (left + 1)) / 2;
console.log(`${((100 * visible) / N ** 2).toFixed(1)} % of the cells are visible`);

const { tiles } = explain(q, k, v, options);
if (tiles === undefined) console.log("the reference computes cell by cell, without tiles");
else {
  const computed = (tiles.full + tiles.partial) / (tiles.skipped + tiles.full + tiles.partial);
  console.log(`less than ${Math.ceil((100 * computed) / 4) * 4} % of the tiles are computed`);
}

const { lse } = scaledDotProductAttention(q, k, v, options);
const row = attentionWeights(q, k, lse, { ...options, rows: [N - 1] }).toFloat64();
console.log(
  `position ${N - 1} sees the keys ${row.findIndex((p) => p > 0)} to ${row.findLastIndex((p) => p > 0)}`,
);

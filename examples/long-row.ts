/**
 * One row of the weights at 16,384 positions. All rows would take 1 GiB for one head; `lse` takes 64 KiB, and any row can be
 * recomputed from it. Run: `node examples/long-row.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   all weights: 1024 MiB; lse: 64 KiB; one row: 64 KiB
 *   row 12345 sums to 1.0000
 *   its keys behind position 12345 have weight 0: true
 *   its output from its weights, within 1e-5 of the call's: true
 */
import { attentionWeights, scaledDotProductAttention, tensor } from "heed";

const [N, d, row] = [16384, 64, 12345];
const wave = (phase: number) => Float32Array.from({ length: N * d }, (_, i) => Math.sin(i * 0.37 + phase));
const [q, k, v] = [0, 1, 2].map((phase) => tensor(wave(phase), [N, d]));
const options = { isCausal: true } as const;

const { output, lse } = scaledDotProductAttention(q, k, v, options);
const weights = attentionWeights(q, k, lse, { ...options, rows: [row] });
console.log(
  `all weights: ${(4 * N * N) / 2 ** 20} MiB; lse: ${(4 * lse.size) / 2 ** 10} KiB; one row: ${(4 * weights.size) / 2 ** 10} KiB`,
);

const p = weights.toFloat64();
console.log(`row ${row} sums to ${p.reduce((a, b) => a + b).toFixed(4)}`);
console.log(`its keys behind position ${row} have weight 0: ${p.subarray(row + 1).every((x) => x === 0)}`);

let worst = 0;
for (let e = 0; e < d; e++) {
  const sum = p.reduce((o, x, j) => o + x * v.at(j, e), 0);
  worst = Math.max(worst, Math.abs(sum - output.at(row, e)));
}
console.log(`its output from its weights, within 1e-5 of the call's: ${worst < 1e-5}`);

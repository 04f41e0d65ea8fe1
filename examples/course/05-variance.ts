/**
 * Why √dk: the dot product of two random vectors of variance 1 has variance dk; divided by √dk it has variance 1 again.
 * Run: `node examples/course/05-variance.ts [--svg=FILE]` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   dk 4: variance of q·k 3.8, of q·k / √dk 0.96
 *   dk 16: variance of q·k 16.8, of q·k / √dk 1.05
 *   dk 64: variance of q·k 65.8, of q·k / √dk 1.03
 *   dk 256: variance of q·k 256.2, of q·k / √dk 1.00
 *   Variance of the scores
 *   variance (log scale)
 *    256.2 │                                           ····●
 *          │                                   ········
 *          │                           ····●···
 *          │                    ·······
 *          │            ····●···
 *          │    ········
 *          │●···
 *          │
 *   0.9576 │▲···············▲··············▲···············▲
 *          └────────────────────────────────────────────────
 *           4                dk (log scale)              256
 *   ● q·k   ▲ q·k / √dk
 */
import { writeFileSync } from "node:fs";
import { randn } from "heed";
import { mean, multiply, scale, square, sub, sum } from "heed/nn";
import { curves } from "heed/view";

const pairs = 4000;
const variance = (x: ReturnType<typeof sum>) => mean(square(sub(x, mean(x)))).at();

const points = [4, 16, 64, 256].map((dk) => {
  const [q, k] = [1, 2].map((seed) => randn([pairs, dk], { seed: seed * 1000 + dk }));
  const products = sum(multiply(q, k), 1); // q·k of each pair
  return [dk, variance(products), variance(scale(products, 1 / Math.sqrt(dk)))] as const;
});
for (const [dk, raw, scaled] of points)
  console.log(`dk ${dk}: variance of q·k ${raw.toFixed(1)}, of q·k / √dk ${scaled.toFixed(2)}`);

const plot = curves(
  [
    { name: "q·k", points: points.map(([dk, raw]) => [dk, raw]) },
    { name: "q·k / √dk", points: points.map(([dk, , scaled]) => [dk, scaled]) },
  ],
  { title: "Variance of the scores", x: "dk", y: "variance", logX: true, logY: true, columns: 48, rows: 9 },
);
console.log(String(plot));
const path = process.argv.find((argument) => argument.startsWith("--svg="))?.slice(6);
if (path) writeFileSync(path, plot.toSvg());

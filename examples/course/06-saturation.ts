/**
 * Saturation: softmax of large numbers gives all weight to the largest, and the gradient almost vanishes.
 * Run: `node examples/course/06-saturation.ts [--svg=FILE]` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   softmax(1 · x)
 *   x0 █████▏ 0.214
 *   x1 █████▋ 0.236
 *   x2 ██████▎ 0.261
 *   x3 ██████▉ 0.289
 *   softmax(100 · x)
 *   x0 ▏ 0.000
 *   x1 ▏ 0.000
 *   x2 ▏ 0.000
 *   x3 ████████████████████████ 1.000
 *   × 1: gradient 2.1e-1
 *   × 3: gradient 2.3e-1
 *   × 10: gradient 2.3e-1
 *   × 30: gradient 4.7e-2
 *   × 100: gradient 4.5e-5
 *   Gradient of softmax(c · x)
 *   size (log scale)
 *   0.2333 │●··········●············●···
 *          │                            ·······●
 *          │                                    ·
 *          │                                     ··
 *          │                                       ··
 *          │                                         ··
 *          │                                           ··
 *          │                                             ··
 *   4.5e-5 │                                               ●
 *          └────────────────────────────────────────────────
 *           1                 c (log scale)              100
 *   ● gradient
 */
import { writeFileSync } from "node:fs";
import { tensor } from "heed";
import { pick, scale, softmax } from "heed/nn";
import { Tape } from "heed/train";
import { bars, curves } from "heed/view";

const x = tensor([0.1, 0.2, 0.3, 0.4], "float64");
const shown = (factor: number) => {
  const shares = softmax(scale(x, factor)).toFloat64();
  return bars(Array.from(shares, (share, n) => [`x${n}`, share] as const), {
    title: `softmax(${factor} · x)`, max: 1, width: 24, format: (share) => share.toFixed(3),
  }); // biome-ignore format: one call
};
console.log(String(shown(1)));
console.log(String(shown(100)));

/** The largest change of the last share by any input, at a scale: |∂ softmax(c·x)₃ / ∂(c·x)|. */
const gradient = (factor: number) => {
  const scores = scale(x, factor);
  const tape = new Tape();
  const last = tape.run(() => pick(softmax(scores), 3));
  return Math.max(...tape.gradients(last, [scores]).get(scores)!.toFloat64().map(Math.abs));
};
const points = [1, 3, 10, 30, 100].map((factor) => [factor, gradient(factor)] as const);
for (const [factor, size] of points) console.log(`× ${factor}: gradient ${size.toExponential(1)}`);

const plot = curves([{ name: "gradient", points }], {
  title: "Gradient of softmax(c · x)", x: "c", y: "size", logX: true, logY: true, columns: 48, rows: 9,
}); // biome-ignore format: one call
console.log(String(plot));
const path = process.argv.find((argument) => argument.startsWith("--svg="))?.slice(6);
if (path) {
  writeFileSync(path, plot.toSvg());
  // The bars beside it: NAME-1.svg and NAME-100.svg.
  for (const factor of [1, 100])
    writeFileSync(`${path.replace(/\.svg$/, "")}-${factor}.svg`, shown(factor).toSvg());
}

/**
 * Distance: how much the first word of a text weighs in the last output, through a recurrent network and through attention, and
 * how many steps must follow one another.
 * Run: `node examples/course/12-distance.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   8 words: recurrent network 7e-3, attention 1e-1; steps one after another: 8 and 1
 *   32 words: recurrent network 2e-8, attention 1e-2; steps one after another: 32 and 1
 *   128 words: recurrent network 9e-28, attention 4e-3; steps one after another: 128 and 1
 */
import { randn } from "heed";
import { mean, pick, SelfAttention, square } from "heed/nn";
import { GRU } from "heed/nn/history";
import { Tape } from "heed/train";

const d = 32;
const gru = new GRU(d, d, { seed: 1 });
const attention = new SelfAttention(d, { seed: 1 });
const layers = {
  "recurrent network": (x: ReturnType<typeof randn>) => gru.forward(x).output,
  attention: (x: ReturnType<typeof randn>) => attention.forward(x).output,
};

/** The share of the first word in the gradient of the last output. */
function shareOfFirst(layer: (x: ReturnType<typeof randn>) => ReturnType<typeof randn>, n: number): number {
  const x = randn([1, n, d], { seed: 2 });
  const tape = new Tape();
  const last = tape.run(() => mean(square(pick(layer(x), 0, -1))));
  const gradient = tape.gradients(last, [x]).get(x)!.toFloat64();
  const sizes = Array.from({ length: n }, (_, i) => Math.hypot(...gradient.subarray(i * d, (i + 1) * d)));
  return sizes[0] / sizes.reduce((sum, size) => sum + size, 0);
}

for (const n of [8, 32, 128]) {
  const shares = Object.entries(layers).map(
    ([name, layer]) => `${name} ${shareOfFirst(layer, n).toExponential(0)}`,
  );
  console.log(`${n} words: ${shares.join(", ")}; steps one after another: ${n} and 1`);
}

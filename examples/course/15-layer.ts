/**
 * The layer around attention, by its steps: positions, concatenated heads and W^O, the residual sum, the norm, and the feed-forward
 * network (MLP). At the end, what `EncoderBlock` returns.
 * Run: `node examples/course/15-layer.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   the second word           0.13 -1.73 -0.45  0.86  1.07 -0.97  1.18  0.27
 *   + its position            0.97 -1.19 -0.35  1.85  1.08  0.03  1.18  1.27
 *   two heads, side by side  -0.32 -1.09 -0.92 -1.23 -0.21  0.23 -0.61  0.27
 *   mixed by W^O              0.55  0.25  0.08  0.28  0.32  0.20 -0.23  0.64
 *   norm(x + attention)       0.64 -1.77 -1.12  1.24  0.52 -0.62  0.09  1.02
 *   MLP of each word alone    0.34 -0.16 -0.54 -0.22 -0.13  0.21  0.05 -0.11
 *   norm(y + MLP)             0.96 -1.70 -1.45  0.99  0.42 -0.31  0.19  0.90
 *   variance of that row: 1.00
 *   largest difference from EncoderBlock below 1e-6: true
 */
import { randn, scaledDotProductAttention, type Tensor } from "heed";
import {
  abs, add, EncoderBlock, gelu, linear, max, mergeHeads, pick, SinusoidalPositions, split, splitHeads, sub, variance,
} from "heed/nn"; // biome-ignore format: one list

const words = randn([4, 8], { seed: 1 }); // four words of eight numbers
const block = new EncoderBlock(8, 2, { feedForward: 32, seed: 2 });
const { self_attn, norm1, norm2, linear1, linear2 } = block;
const show = (what: string, x: Tensor) =>
  console.log(
    `${what.padEnd(24)}${Array.from(pick(x, 1).toFloat64(), (n) => n.toFixed(2).padStart(6)).join("")}`,
  );

show("the second word", words);
const x = add(words, new SinusoidalPositions(8).forward(4));
show("+ its position", x);

const projections = linear(x, self_attn.in_proj_weight!, self_attn.in_proj_bias); // W^q, W^k and W^v at once: [4, 24]
const [q, k, v] = split(projections, [8, 8, 8]).map((part) => splitHeads(part, 2)); // 2 heads of [4, 4]
const heads = mergeHeads(scaledDotProductAttention(q, k, v).output);
show("two heads, side by side", heads);
const a = self_attn.out_proj.forward(heads);
show("mixed by W^O", a);

const y = norm1.forward(add(x, a));
show("norm(x + attention)", y);
const z = linear2.forward(gelu(linear1.forward(y)));
show("MLP of each word alone", z);
const output = norm2.forward(add(y, z));
show("norm(y + MLP)", output);

console.log(`variance of that row: ${variance(pick(output, 1), { correction: 0 }).at().toFixed(2)}`);
const difference = max(abs(sub(output, block.forward(x).output))).at();
console.log(`largest difference from EncoderBlock below 1e-6: ${difference < 1e-6}`);

/**
 * Attention in ten lines: 12 heads, 1,024 positions, head size 64. Run: `node examples/attention.ts` (Node ≥ 22.18,
 * in a clone after `npm run build`).
 *
 * Prints:
 *   output [1, 12, 1024, 64] float32, lse [1, 12, 1024]
 *   the last query of head 0 gives 0.0394 of its attention to itself
 */
import { scaledDotProductAttention, tensor } from "heed";

const shape = [1, 12, 1024, 64];
const data = Float32Array.from({ length: 12 * 1024 * 64 }, (_, i) => Math.sin(i * i * 0.001));
const [q, k, v] = [tensor(data, shape), tensor(data, shape), tensor(data, shape)];
const { output, lse, weights } = scaledDotProductAttention(q, k, v, {
  returnWeights: { heads: [0], rows: [-1] },
});

console.log(`output [${output.shape.join(", ")}] ${output.dtype}, lse [${lse.shape.join(", ")}]`);
console.log(
  `the last query of head 0 gives ${weights?.at(0, 0, 0, -1).toFixed(4)} of its attention to itself`,
);

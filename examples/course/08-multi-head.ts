/**
 * Multi-head attention: the same input in several subspaces at once. Heads are views of one projection, and the mean of
 * their weights is not the pattern of any head.
 * Run: `node examples/course/08-multi-head.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   x [1,5,16] as 4 heads: [1,4,5,4]
 *   in_proj_weight [48,16]
 *   in_proj_bias [48]
 *   out_proj.weight [16,16]
 *   out_proj.bias [16]
 *   output [1,5,16], weights [1,4,5,5]: each head its own
 *   heads [0,1,1,0], their mean [0.5,0.5]
 */
import { randn, tensor } from "heed";
import { MultiHeadAttention, splitHeads } from "heed/nn";

const [embedDim, numHeads, N] = [16, 4, 5];
const layer = new MultiHeadAttention(embedDim, numHeads, { seed: 1 });
const x = randn([1, N, embedDim], { seed: 2 });

console.log(`x [${x.shape}] as ${numHeads} heads: [${splitHeads(x, numHeads).shape}]`);
for (const [name, { shape }] of layer.parameters()) console.log(`${name} [${shape}]`);

const { output, weights } = layer.forward(x, x, x, { returnWeights: true });
console.log(`output [${output.shape}], weights [${weights?.shape}]: each head its own`);

// Two heads that attend to different keys: their mean attends to both, and neither of them does.
const two = tensor([
  [0, 1],
  [1, 0],
]);
const mean = [0, 1].map((key) => (two.at(0, key) + two.at(1, key)) / 2);
console.log(`heads [${two.toArray()}], their mean [${mean}]`);

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
 *   word 2 in the head that looks back:  [0.0, 1.0, 0.0, 0.0]
 *   word 2 in the head that looks ahead: [0.0, 0.0, 0.0, 1.0]
 *   their mean, the pattern of neither:  [0.0, 0.5, 0.0, 0.5]
 */
import { eye, randn, scaledDotProductAttention, type Tensor, tensor } from "heed";
import { MultiHeadAttention, mean, pick, scale, splitHeads, stack } from "heed/nn";

const [embedDim, numHeads, N] = [16, 4, 5];
const layer = new MultiHeadAttention(embedDim, numHeads, { seed: 1 });
const x = randn([1, N, embedDim], { seed: 2 });

console.log(`x [${x.shape}] as ${numHeads} heads: [${splitHeads(x, numHeads).shape}]`);
for (const [name, { shape }] of layer.parameters()) console.log(`${name} [${shape}]`);

const { output, weights } = layer.forward(x, x, x, { returnWeights: true });
console.log(`output [${output.shape}], weights [${weights?.shape}]: each head its own`);

// Two heads over four words: keys that match the query of the next word, or of the word before.
const query = scale(eye(4), 40);
const rows = eye(4).toArray() as number[][];
const key = stack([tensor([...rows.slice(1), rows[0]]), tensor([rows[3], ...rows.slice(0, 3)])]);
const heads = scaledDotProductAttention(stack([query, query]), key, key, { returnWeights: true });
const row = (weights: Tensor) => pick(weights, 2).toString({ precision: 1 }).split("\n")[1];
console.log(`word 2 in the head that looks back:  ${row(pick(heads.weights, 0))}`);
console.log(`word 2 in the head that looks ahead: ${row(pick(heads.weights, 1))}`);
console.log(`their mean, the pattern of neither:  ${row(mean(heads.weights, 0))}`);

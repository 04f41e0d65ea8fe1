/**
 * Shapes: the inputs and outputs of attention, and the axes of batch, heads and positions.
 * Run: `node examples/course/01-shapes.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   query [32,10,64], transposed key [32,64,10]
 *   weights [32,10,10]: for each of 10 queries a share for each of 10 keys
 *   output [32,10,64]: as many rows as queries, as wide as the values
 *   lse [32,10]: one number a row, from which any weight can be computed again
 *   3 queries over 5 keys of 8, values of 10: weights [1,3,5], output [1,3,10]
 *   8 heads of 16: output [2,8,10,16]
 */
import { randn, scaledDotProductAttention } from "heed";
import { transpose } from "heed/nn";

const [batch, length, d] = [32, 10, 64];
const [query, key, value] = [1, 2, 3].map((seed) => randn([batch, length, d], { seed }));
console.log(`query [${query.shape}], transposed key [${transpose(key).shape}]`);

const { output, weights, lse } = scaledDotProductAttention(query, key, value, { returnWeights: true });
console.log(`weights [${weights.shape}]: for each of ${length} queries a share for each of ${length} keys`);
console.log(`output [${output.shape}]: as many rows as queries, as wide as the values`);
console.log(`lse [${lse.shape}]: one number a row, from which any weight can be computed again`);

// Queries and keys may differ in number, keys and values in width.
const crossed = scaledDotProductAttention(
  randn([1, 3, 8], { seed: 4 }),
  randn([1, 5, 8], { seed: 5 }),
  randn([1, 5, 10], { seed: 6 }),
  { returnWeights: true },
);
console.log(
  `3 queries over 5 keys of 8, values of 10: weights [${crossed.weights.shape}], output [${crossed.output.shape}]`,
);

// With four axes the second is heads: each attends separately.
const heads = randn([2, 8, 10, 16], { seed: 7 });
const { output: byHead } = scaledDotProductAttention(heads, heads, heads, { isCausal: true });
console.log(`8 heads of 16: output [${byHead.shape}]`);

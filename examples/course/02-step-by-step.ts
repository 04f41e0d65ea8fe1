/**
 * Step by step: scores, scaled scores, weights and output of three words, each printed, and the same in one call.
 * Run: `node examples/course/02-step-by-step.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   scores: tensor [3, 3] float32
 *   [[2, 0, 2],
 *    [0, 4, 0],
 *    [2, 2, 2]]
 *   scaled: tensor [3, 3] float32
 *   [[1, 0, 1],
 *    [0, 2, 0],
 *    [1, 1, 1]]
 *   weights: tensor [3, 3] float32
 *   [[0.4223, 0.1554, 0.4223],
 *    [0.1065, 0.7870, 0.1065],
 *    [0.3333, 0.3333, 0.3333]]
 *   output: tensor [3, 2] float32
 *   [[2.5339, 2.2670],
 *    [0.6390, 1.3195],
 *    [2.0000, 2.0000]]
 *   the one call differs by less than 1e-5: true
 */
import { scaledDotProductAttention, tensor } from "heed";
import { matmul, scale, softmax, transpose } from "heed/nn";

// Three words, four numbers each.
const Q = tensor([
  [1, 0, 1, 0],
  [0, 2, 0, 2],
  [1, 1, 1, 1],
]);
const K = tensor([
  [1, 0, 1, 0],
  [0, 1, 0, 1],
  [2, 0, 0, 0],
]);
const V = tensor([
  [1, 0],
  [0, 1],
  [5, 5],
]);

// 1 scores: how well each query matches each key
const scores = matmul(Q, transpose(K));
console.log(`scores: ${scores}`);

// 2 divided by √dk
const scaled = scale(scores, 1 / Math.sqrt(4));
console.log(`scaled: ${scaled}`);

// 3 softmax of each row: weights that sum to 1
const weights = softmax(scaled);
console.log(`weights: ${weights}`);

// 4 the average of the values by these weights
const output = matmul(weights, V);
console.log(`output: ${output}`);

const once = scaledDotProductAttention(Q, K, V).output.toFloat64();
const difference = Math.max(...output.toFloat64().map((x, n) => Math.abs(x - once[n])));
console.log(`the one call differs by less than 1e-5: ${difference < 1e-5}`);

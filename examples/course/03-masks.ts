/**
 * Masks: a causal mask, a padding mask, and the 0/1 matrix of textbooks.
 * Run: `node examples/course/03-masks.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   causal: tensor [4, 4] float32
 *   [[1.00, 0.00, 0.00, 0.00],
 *    [0.32, 0.68, 0.00, 0.00],
 *    [0.14, 0.45, 0.41, 0.00],
 *    [0.39, 0.16, 0.03, 0.43]]
 *   the last key is padding: tensor [4, 4] float32
 *   [[0.69, 0.20, 0.11, 0.00],
 *    [0.26, 0.55, 0.19, 0.00],
 *    [0.14, 0.45, 0.41, 0.00],
 *    [0.68, 0.28, 0.04, 0.00]]
 *   both: tensor [4, 4] float32
 *   [[1.00, 0.00, 0.00, 0.00],
 *    [0.32, 0.68, 0.00, 0.00],
 *    [0.14, 0.45, 0.41, 0.00],
 *    [0.68, 0.28, 0.04, 0.00]]
 *   the same by a matrix: true
 *   a fully masked row: 0,0,0,0
 *   scaledDotProductAttention: attnMask holds only 0 and 1
 *   nested arrays are masks too: tensor [2, 2] bool
 *   [[ true, false],
 *    [ true,  true]]
 */
import { and, cast, causal, keyLengths, ones, randn, scaledDotProductAttention, tensor } from "heed";
import { pick, tril } from "heed/nn";

const [q, k, v] = [1, 2, 3].map((seed) => randn([4, 8], { seed }));
const weightsWith = (options: object) =>
  scaledDotProductAttention(q, k, v, { ...options, returnWeights: true }).weights.toString({ precision: 2 });

console.log(`causal: ${weightsWith({ isCausal: true })}`);
console.log(`the last key is padding: ${weightsWith({ attnMask: keyLengths(3) })}`);
console.log(`both: ${weightsWith({ attnMask: and(causal(), keyLengths(3)) })}`);

// A matrix of zeros and ones, as in textbooks, becomes a bool tensor: true = attend.
const matrix = tril(ones([4, 4]));
console.log(
  `the same by a matrix: ${weightsWith({ attnMask: cast(matrix, "bool") }) === weightsWith({ isCausal: true })}`,
);
const attnMask = [[true, true, true, true], [false, false, false, false], [true, true, true, true], [true, true, true, true]]; // biome-ignore format: a matrix
const { weights } = scaledDotProductAttention(q, k, v, { attnMask, returnWeights: true });
console.log(`a fully masked row: ${pick(weights, 1).toArray()}`);

// As a float mask, zeros and ones would be added to the scores with almost no effect, so heed rejects them.
try {
  scaledDotProductAttention(q, k, v, { attnMask: matrix });
} catch (error) {
  console.log((error as Error).message.split(",")[0]);
}
console.log(
  `nested arrays are masks too: ${tensor([
    [true, false],
    [true, true],
  ])}`,
);

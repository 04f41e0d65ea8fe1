/**
 * word2vec: every word begins as a one-hot vector, and a matrix gives it a few numbers. Words with the same neighbors come close.
 * Run: `node examples/course/13-word2vec.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   before: cat–dog -0.11, king–queen -0.33, cat–ruled -0.52
 *   after: cat–dog 0.58, king–queen 0.57, cat–ruled 0.08
 */
import { tensor } from "heed";
import { Embedding, Linear } from "heed/nn";
import { AdamW, crossEntropy, Tape } from "heed/train";

const text = `the cat drank milk the dog drank water the king ruled the land the queen ruled the town
a cat slept a dog slept a king spoke a queen spoke`;
const words = text.split(/\s/);
const vocabulary = [...new Set(words)];
const ids = words.map((word) => vocabulary.indexOf(word));
// Each word with each neighbor at a distance of at most two: the word is the input, the neighbor is predicted.
const pairs = ids.flatMap((word, i) =>
  [-2, -1, 1, 2].flatMap((by) => (ids[i + by] === undefined ? [] : [[word, ids[i + by]]])),
);
const [centers, neighbors] = [0, 1].map((at) => tensor(Int32Array.from(pairs, (pair) => pair[at])));

// The product of a one-hot vector and a matrix is a row of the matrix, so the lookup is the projection.
const project = new Embedding(vocabulary.length, 8, { seed: 1 });
const predict = new Linear(8, vocabulary.length, { seed: 2 });
const parameters = [project, predict].flatMap((layer) => [...layer.parameters().values()]);
const optimizer = new AdamW(parameters, { lr: 0.05 });

const cosine = (a: string, b: string) => {
  const [x, y] = [a, b].map((word) =>
    project.forward(tensor(Int32Array.of(vocabulary.indexOf(word)))).toFloat64(),
  );
  return x.reduce((sum, value, i) => sum + value * y[i], 0) / Math.hypot(...x) / Math.hypot(...y);
};
const print = (when: string) => {
  const shown = ["cat dog", "king queen", "cat ruled"].map((pair) => {
    const [a, b] = pair.split(" ");
    return `${a}–${b} ${cosine(a, b).toFixed(2)}`;
  });
  console.log(`${when}: ${shown.join(", ")}`);
};

print("before");
for (let step = 0; step < 200; step++) {
  const tape = new Tape();
  const loss = tape.run(() => crossEntropy(predict.forward(project.forward(centers)), neighbors));
  optimizer.step(tape.gradients(loss, parameters));
}
print("after");

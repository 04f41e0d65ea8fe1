/**
 * Queries and keys in the plane, before and after training. Each letter has to look at letters of the other kind, vowels at consonants and
 * consonants at vowels; the loss knows the kinds, the vectors do not. The keys that fit come to lie in the direction of the query.
 * Run: `node examples/course/14-trained-keys.ts` (Node ≥ 22.18, in a clone after `npm run build`).
 *
 * Prints:
 *   before: 55 % of the attention fits
 *     "a" asks at (0.5, 1.0), its key is at (0.0, 1.1)
 *     "b" asks at (-0.7, 1.6), its key is at (-0.1, 0.4)
 *     cosine with keys that fit -0.04, with the others -0.04
 *   after: 100 % of the attention fits
 *     "a" asks at (-2.2, -1.3), its key is at (2.5, -0.1)
 *     "b" asks at (2.1, 0.9), its key is at (-2.0, -1.4)
 *     cosine with keys that fit 0.97, with the others -0.94
 */
import { randn, tensor } from "heed";
import { log, matmul, mean, multiply, softmax, sum } from "heed/nn";
import { AdamW, Tape } from "heed/train";

const letters = [..."aeibcd"];
const isVowel = letters.map((letter) => "aei".includes(letter));
/** 1 where a letter should look: at the other kind. */
const fits = tensor(isVowel.map((row) => isVowel.map((column) => Number(row !== column))));
const [query, key] = [1, 2].map((seed) => randn([6, 2], { seed }));
const weights = () => softmax(matmul(query, key.transpose()));

/** The mean cosine of queries and keys that fit, or that do not. */
function cosine(isFit: boolean): number {
  const cosines = letters.flatMap((_, i) =>
    letters.flatMap((_, j) => {
      if ((isVowel[i] !== isVowel[j]) !== isFit) return [];
      const [[a, b], [c, d]] = [query, key].map((x, n) => [x.at(n ? j : i, 0), x.at(n ? j : i, 1)]);
      return [(a * c + b * d) / Math.hypot(a, b) / Math.hypot(c, d)];
    }),
  );
  return cosines.reduce((total, one) => total + one, 0) / cosines.length;
}

function print(when: string): void {
  const share = mean(sum(multiply(weights(), fits), -1)).at();
  const place = (x: typeof key, i: number) => `(${[0, 1].map((n) => x.at(i, n).toFixed(1)).join(", ")})`;
  console.log(`${when}: ${(100 * share).toFixed(0)} % of the attention fits`);
  for (const i of [0, 3])
    console.log(`  "${letters[i]}" asks at ${place(query, i)}, its key is at ${place(key, i)}`);
  console.log(
    `  cosine with keys that fit ${cosine(true).toFixed(2)}, with the others ${cosine(false).toFixed(2)}`,
  );
}

print("before");
const optimizer = new AdamW([query, key], { lr: 0.1, weightDecay: 0 });
for (let step = 0; step < 60; step++) {
  const tape = new Tape();
  const loss = tape.run(() => multiply(mean(multiply(log(weights()), fits)), -1));
  optimizer.step(tape.gradients(loss, [query, key]));
}
print("after");

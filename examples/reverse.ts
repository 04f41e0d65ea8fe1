/**
 * Bahdanau's recurrent encoder and decoder, for which attention was introduced, learns to write a sequence backwards and prints
 * its alignment. It is trained from random weights. Run: `node examples/reverse.ts` (Node ≥ 22.18, in a clone after
 * `npm run build`).
 *
 * Prints:
 *   loss 2.21 before, below 0.2 after 160 steps
 *   read c h a g e b, wrote b e g a h c
 *   where each letter written looked:
 *     b .....#
 *     e ....#.
 *     g ...#..
 *     a ..#...
 *     h .#....
 *     c #.....
 */
import { type Tensor, tensor } from "heed";
import { RecurrentEncoderDecoder } from "heed/nn/history";
import { AdamW, clipScale, crossEntropy, Generator, gradientNorm, Tape } from "heed/train";

const letters = "abcdefgh";
const [length, batch, steps] = [6, 32, 160];
const random = new Generator(1);
const model = new RecurrentEncoderDecoder({
  sourceWords: letters.length,
  targetWords: letters.length + 1, // the last one marks the beginning
  embedDim: 16,
  hidden: 32,
  seed: 1,
});
const parameters = model.parameters();
const optimizer = new AdamW(parameters, { lr: 1e-2, weightDecay: 0 });

/** Sequences [B, length], what the decoder has before each letter, and what it should write. */
function lesson(sequences: readonly number[][]) {
  const backwards = sequences.map((word) => word.toReversed());
  const previous = backwards.map((word) => [letters.length, ...word.slice(0, -1)]);
  const ids = (rows: readonly number[][]) => tensor(Int32Array.from(rows.flat()), [rows.length, length]);
  return { source: ids(sequences), before: ids(previous), target: ids(backwards) };
}

const losses: number[] = [];
for (let step = 0; step < steps; step++) {
  const { source, before, target } = lesson(
    Array.from({ length: batch }, () => Array.from({ length }, () => random.below(letters.length))),
  );
  const tape = new Tape();
  const loss = tape.run(() => crossEntropy(model.forward(source, before).logits, target));
  const gradients = tape.gradients(loss, parameters.values());
  optimizer.step(gradients, { scale: clipScale(gradientNorm(gradients).at(), 1) });
  losses.push(loss.at());
}
console.log(
  `loss ${losses[0].toFixed(2)} before, ${losses[steps - 1] < 0.2 ? "below 0.2" : losses[steps - 1].toFixed(3)} after ${steps} steps`,
);

// Letter by letter, each from the previous one.
const read = [..."chageb"].map((letter) => letters.indexOf(letter));
const { memory, state: first } = model.read(tensor(Int32Array.from(read), [1, length]));
const wrote: string[] = [];
const looked: string[] = [];
for (let n = 0, before = letters.length, state = first; n < length; n++) {
  const written = model.write([before], state, memory, { returnWeights: true });
  before = largest(written.logits);
  state = written.state;
  wrote.push(letters[before]);
  const place = largest(written.weights as Tensor);
  looked.push(Array.from(read, (_, i) => (i === place ? "#" : ".")).join(""));
}
console.log(`read ${read.map((id) => letters[id]).join(" ")}, wrote ${wrote.join(" ")}`);
console.log("where each letter written looked:");
for (const [n, row] of looked.entries()) console.log(`  ${wrote[n]} ${row}`);

/** The position of the largest number of a row. */
function largest(row: Tensor): number {
  const numbers = row.toFloat64();
  return numbers.indexOf(Math.max(...numbers));
}

/** Training of the encoder and decoder: 32 random words a step, AdamW, gradients clipped to length 1. */
import { tensor } from "../../src/index.ts";
import type { RecurrentEncoderDecoder } from "../../src/nn/history/index.ts";
import { AdamW, clipScale, crossEntropy, Generator, gradientNorm, Tape } from "../../src/train/index.ts";

const BATCH = 32;

/** A training run: its optimizer and its random words. */
export class Training {
  readonly #model: RecurrentEncoderDecoder;
  readonly #letters: number;
  readonly #length: number;
  readonly #parameters;
  readonly #optimizer: AdamW;
  readonly #random: Generator;

  /** `letters` of the alphabet, `length` of a word; the letter with the number `letters` begins each written word. */
  constructor(model: RecurrentEncoderDecoder, letters: number, length: number, seed: number) {
    this.#random = new Generator(seed);
    this.#model = model;
    this.#letters = letters;
    this.#length = length;
    this.#parameters = model.parameters();
    this.#optimizer = new AdamW(this.#parameters, { lr: 1e-2, weightDecay: 0 });
  }

  /** One step: the loss before it. */
  step(): number {
    const [letters, length] = [this.#letters, this.#length];
    const words = Array.from({ length: BATCH }, () =>
      Array.from({ length }, () => this.#random.below(letters)),
    );
    const backwards = words.map((word) => word.toReversed());
    const before = backwards.map((word) => [letters, ...word.slice(0, -1)]);
    const ids = (rows: readonly number[][]) => tensor(Int32Array.from(rows.flat()), [rows.length, length]);
    const tape = new Tape();
    const loss = tape.run(() =>
      crossEntropy(this.#model.forward(ids(words), ids(before)).logits, ids(backwards)),
    );
    const gradients = tape.gradients(loss, this.#parameters.values());
    this.#optimizer.step(gradients, { scale: clipScale(gradientNorm(gradients).at(), 1) });
    return loss.at();
  }
}

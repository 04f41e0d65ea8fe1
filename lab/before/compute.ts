/**
 * Before transformers: Bahdanau's recurrent encoder and decoder (2015) learns, in the page, to write six letters backwards.
 * Where it looks is kept every few steps, so that the reader can go back to any of them.
 */
import { tensor } from "../../src/index.ts";
import { RecurrentEncoderDecoder } from "../../src/nn/history/index.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { roundScore } from "../frame/words.ts";
import { isWord, WORD } from "./letters.ts";
import type { Training } from "./train.ts";

/** What a reader changes. */
export type Before = {
  /** Steps of training that are asked for; 0 shows the untrained model. */
  readonly steps: number;
  /** The step that is shown, at most `steps`. */
  readonly at: number;
  /** The letter being written. */
  readonly row: number;
  readonly word: string;
};

/** The model at a step, on the reader's six letters. */
export interface Frame {
  readonly step: number;
  readonly loss: number;
  /** Letters written, each from the one written before it. */
  readonly wrote: string;
  /** Where each looked: [6][6], rows are letters written. */
  readonly weights: readonly (readonly number[])[];
  /** State of the decoder before each letter: [6][hidden], for the strip. */
  readonly states: readonly (readonly number[])[];
}

/** What the picture shows. */
export interface BeforeNumbers {
  readonly word: string;
  readonly frames: readonly Frame[];
  readonly losses: readonly number[];
  readonly parameters: number;
  /** Scores of the chosen row as the listings have them, up to a constant, and softmax of those. */
  readonly scores: readonly number[];
  readonly listed: readonly number[];
}

const LETTERS = "abcdefgh";
const LENGTH = 6;
const SNAPSHOT_EVERY = 8;

/** One model in training, with snapshots to go back to. */
class TrainedModel {
  readonly model = new RecurrentEncoderDecoder({
    sourceWords: LETTERS.length,
    targetWords: LETTERS.length + 1,
    embedDim: 16,
    hidden: 32,
    seed: 1,
  });
  readonly #parameters = this.model.parameters();
  readonly losses: number[] = [];
  #training: Training | undefined;
  /** Parameters at each snapshot. */
  readonly snapshots = new Map<number, readonly Float32Array[]>();

  constructor() {
    this.takeSnapshot();
  }

  get parameters(): number {
    return [...this.#parameters.values()].reduce((sum, { size }) => sum + size, 0);
  }

  takeSnapshot(): void {
    this.snapshots.set(
      this.losses.length,
      Array.from(this.#parameters.values(), (one) => (one.data as Float32Array).slice()),
    );
  }

  /** Puts the parameters of a snapshot in place while `work` runs. */
  withSnapshot<T>(step: number, work: () => T): T {
    const all = [...this.#parameters.values()];
    const now = all.map((one) => (one.data as Float32Array).slice());
    const put = (from: readonly Float32Array[]) => {
      for (const [i, one] of all.entries()) (one.data as Float32Array).set(from[i]);
    };
    put(this.snapshots.get(step)!);
    try {
      return work();
    } finally {
      put(now);
    }
  }

  /** One step of training. What trains is loaded before the first. */
  async train(): Promise<void> {
    this.#training ??= new (await import("./train.ts")).Training(this.model, LETTERS.length, LENGTH);
    this.losses.push(this.#training.step());
    if (this.losses.length % SNAPSHOT_EVERY === 0) this.takeSnapshot();
  }

  /** What the model of a snapshot writes for a word, letter by letter, and where it looks. */
  write(step: number, word: string): Frame {
    return this.withSnapshot(step, () => {
      const read = Int32Array.from(word, (letter) => LETTERS.indexOf(letter));
      const { memory, state: first } = this.model.read(tensor(read, [1, LENGTH]));
      const [weights, states]: number[][][] = [[], []];
      let [wrote, previous, state] = ["", LETTERS.length, first];
      for (let n = 0; n < LENGTH; n++) {
        states.push([...state.toFloat64()]);
        const written = this.model.write([previous], state, memory, { returnWeights: true });
        const logits = written.logits.toFloat64();
        previous = logits.indexOf(Math.max(...logits));
        wrote += LETTERS[previous] ?? "?";
        state = written.state;
        weights.push([...written.weights!.toFloat64()]);
      }
      return { step, loss: this.losses[Math.max(0, step - 1)] ?? Number.NaN, wrote, weights, states };
    });
  }
}

let trained: TrainedModel | undefined;
const frameCache = new Map<string, Frame>();

/** The numbers of a state; `report` receives intermediate numbers while the model trains. */
export async function compute(
  { steps, at, row, word: typed }: Before,
  report?: (numbers: BeforeNumbers, progress: number) => void,
): Promise<BeforeNumbers> {
  const word = isWord(typed) ? typed : WORD;
  trained ??= new TrainedModel();
  const now = trained;
  const numbers = (): BeforeNumbers => {
    const frames = [...now.snapshots.keys()]
      .filter((step) => step <= steps)
      .map((step) => {
        const key = `${step} ${word}`;
        let frame = frameCache.get(key);
        if (frame === undefined) frameCache.set(key, (frame = now.write(step, word)));
        return frame;
      });
    const weights = frames.findLast(({ step }) => step <= at)!.weights[row];
    const largest = Math.max(...weights);
    const scores = weights.map((weight) => roundScore(Math.log(Math.max(weight, 1e-30) / largest)) + 0);
    return {
      word,
      frames,
      losses: now.losses.slice(0, steps),
      parameters: now.parameters,
      scores,
      listed: softmaxOf(scores),
    };
  };
  while (now.losses.length < steps) {
    await now.train();
    if (report !== undefined && now.losses.length % SNAPSHOT_EVERY === 0) {
      report(numbers(), now.losses.length / steps);
      // Lets the worker receive a newer request.
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
  return numbers();
}

/**
 * Before transformers: Bahdanau's recurrent encoder and decoder (2015) learns, in the page, to write six letters backwards.
 * Where it looks is kept every few steps, so that the reader can go back to any of them.
 */
import { tensor } from "../../src/index.ts";
import { RecurrentEncoderDecoder } from "../../src/nn/history/index.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { roundScore } from "../frame/words.ts";
import { isWord, WORD } from "./letters.ts";
import type { Reaches } from "./reach.ts";
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
  /** Seed of the first parameters and of the words that it is trained on. */
  readonly seed: number;
  /** Whether the picture shows the reach of both ways: 0 no, 1 that of attention, 2 both. */
  readonly reach: number;
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
  /** Losses of the networks of other seeds that were trained before, the oldest first. */
  readonly earlier: readonly (readonly number[])[];
  readonly parameters: number;
  /** Scores of the chosen row as the listings have them, up to a constant, and softmax of those. */
  readonly scores: readonly number[];
  readonly listed: readonly number[];
  /** Where it is shown. */
  readonly reach: Reaches | undefined;
}

const LETTERS = "abcdefgh";
const LENGTH = 6;
const SNAPSHOT_EVERY = 8;

/** One model in training, with snapshots to go back to. */
class TrainedModel {
  readonly model: RecurrentEncoderDecoder;
  readonly #seed: number;
  readonly #parameters: ReturnType<RecurrentEncoderDecoder["parameters"]>;
  readonly frames = new Map<string, Frame>();
  readonly losses: number[] = [];
  #training: Training | undefined;
  /** Parameters at each snapshot. */
  readonly snapshots = new Map<number, readonly Float32Array[]>();

  constructor(seed: number) {
    this.#seed = seed;
    this.model = new RecurrentEncoderDecoder({
      sourceWords: LETTERS.length,
      targetWords: LETTERS.length + 1,
      embedDim: 16,
      hidden: 32,
      seed,
    });
    this.#parameters = this.model.parameters();
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
    this.#training ??= new (await import("./train.ts")).Training(
      this.model,
      LETTERS.length,
      LENGTH,
      this.#seed,
    );
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

/** The networks of the seeds that the reader has thrown. */
const trained = new Map<number, TrainedModel>();

/** The numbers of a state; `report` receives intermediate numbers while the model trains. */
export async function compute(
  { steps, at, row, word: typed, seed, reach }: Before,
  report?: (numbers: BeforeNumbers, progress: number) => void,
): Promise<BeforeNumbers> {
  const word = isWord(typed) ? typed : WORD;
  const now = trained.get(seed) ?? new TrainedModel(seed);
  trained.set(seed, now);
  // What differentiates is loaded when it is shown.
  const reaches = reach > 0 ? (await import("./reach.ts")).reachOf(seed) : undefined;
  const numbers = (): BeforeNumbers => {
    const frames = [...now.snapshots.keys()]
      .filter((step) => step <= steps)
      .map((step) => {
        const key = `${step} ${word}`;
        let frame = now.frames.get(key);
        if (frame === undefined) now.frames.set(key, (frame = now.write(step, word)));
        return frame;
      });
    const weights = frames.findLast(({ step }) => step <= at)!.weights[row];
    const largest = Math.max(...weights);
    const scores = weights.map((weight) => roundScore(Math.log(Math.max(weight, 1e-30) / largest)) + 0);
    return {
      word,
      frames,
      losses: now.losses.slice(0, steps),
      earlier: [...trained.values()].filter((one) => one !== now && steps > 0).map(({ losses }) => losses),
      parameters: now.parameters,
      scores,
      listed: softmaxOf(scores),
      reach: reaches,
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

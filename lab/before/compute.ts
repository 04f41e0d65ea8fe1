/**
 * Before transformers: Bahdanau's recurrent encoder and decoder (2015) learns, in the page, to write six letters backwards.
 * Where it looks is kept every few steps, so that the reader can go back to any of them.
 */
import { tensor } from "../../src/index.ts";
import { RecurrentEncoderDecoder } from "../../src/nn/history/index.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { roundScore } from "../frame/words.ts";
import { isWord, LETTERS, type Pace, WORD } from "./letters.ts";
import type { Reaches } from "./reach.ts";

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
  /** Whether the picture shows the race of both ways: 0 no, 1 yes, more once the reader has started it. */
  readonly pace: number;
  /** What trains: "cpu" or "gpu". */
  readonly device: string;
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
  /** Where they are shown. */
  readonly reach: Reaches | undefined;
  readonly pace: Pace | undefined;
  /** What trains, in words: "GPU: " and its name, or "CPU: " and the reason. */
  readonly device: string;
}

/** A training run. */
export interface Run {
  readonly seed: number;
  readonly losses: number[];
  /** Parameters at each snapshot, on the CPU. */
  readonly snapshots: Map<number, readonly Float32Array[]>;
  readonly frames: Map<string, Frame>;
}

/** What training needs of this file; it is loaded before the first step. */
export interface RunAccess {
  readonly newModel: (seed: number) => RecurrentEncoderDecoder;
  /** A run without a step. */
  readonly newRun: (seed: number) => Run;
  /** What the page shows of a run; `device` in words, `earlier` the losses of other seeds. */
  readonly show: (run: Run, device: string, earlier: BeforeNumbers["earlier"]) => BeforeNumbers;
}

const newModel = (seed: number) =>
  new RecurrentEncoderDecoder({
    sourceWords: LETTERS.length,
    targetWords: LETTERS.length + 1,
    embedDim: 16,
    hidden: 32,
    seed,
  });

/** Parameters in their order. */
const valuesOf = (model: RecurrentEncoderDecoder) =>
  Array.from(model.parameters().values(), ({ data }) => data as Float32Array);

const newRun = (seed: number): Run => ({
  seed,
  losses: [],
  snapshots: new Map([[0, valuesOf(newModel(seed))]]),
  frames: new Map(),
});

/** The model that writes: it has the parameters of a snapshot. */
const model = newModel(1);
const parameters = valuesOf(model);

/** What the model of a snapshot writes for a word, letter by letter, and where it looks. */
function write({ snapshots, losses }: Run, step: number, word: string): Frame {
  for (const [i, values] of snapshots.get(step)!.entries()) parameters[i].set(values);
  const read = Int32Array.from(word, (letter) => LETTERS.indexOf(letter));
  const { memory, state: first } = model.read(tensor(read, [1, WORD.length]));
  const [weights, states]: number[][][] = [[], []];
  let [wrote, previous, state] = ["", LETTERS.length, first];
  for (let n = 0; n < WORD.length; n++) {
    states.push([...state.toFloat64()]);
    const written = model.write([previous], state, memory, { returnWeights: true });
    const logits = written.logits.toFloat64();
    previous = logits.indexOf(Math.max(...logits));
    wrote += LETTERS[previous] ?? "?";
    state = written.state;
    weights.push([...written.weights!.toFloat64()]);
  }
  return { step, loss: losses[Math.max(0, step - 1)] ?? Number.NaN, wrote, weights, states };
}

/** The numbers of a state; `report` receives intermediate numbers while the model trains. */
export async function compute(
  request: Before,
  report?: (numbers: BeforeNumbers, progress: number) => void,
): Promise<BeforeNumbers> {
  const { steps, at, row, word: typed, seed, reach, pace, device } = request;
  const word = isWord(typed) ? typed : WORD;
  // What differentiates, and attention, are loaded when they are shown.
  const reaches = reach > 0 ? (await import("./reach.ts")).reachOf(seed) : undefined;
  const paces = pace > 0 ? (await import("./pace.ts")).paceOf(pace - 1) : undefined;
  const show: RunAccess["show"] = (run, device, earlier) => {
    const frames = [...run.snapshots.keys()]
      .filter((step) => step <= steps)
      .map((step) => {
        const key = `${step} ${word}`;
        let frame = run.frames.get(key);
        if (frame === undefined) run.frames.set(key, (frame = write(run, step, word)));
        return frame;
      });
    const weights = frames.findLast(({ step }) => step <= at)!.weights[row];
    const largest = Math.max(...weights);
    const scores = weights.map((weight) => roundScore(Math.log(Math.max(weight, 1e-30) / largest)) + 0);
    return {
      word,
      frames,
      losses: run.losses.slice(0, steps),
      earlier,
      parameters: parameters.reduce((sum, { length }) => sum + length, 0),
      scores,
      listed: softmaxOf(scores),
      reach: reaches,
      pace: paces,
      device,
    };
  };
  if (steps === 0 && device === "cpu") return show(newRun(seed), "CPU: chosen", []);
  return (await import("./train.ts")).train(request, { newModel, newRun, show }, report);
}

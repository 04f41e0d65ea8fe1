/**
 * Learned: one head of a small decoder at moments of its training. Queries and keys are captures of real runs (captures.ts);
 * the weights are computed here from them.
 */
import { scaledDotProductAttention, tensor } from "../../src/index.ts";
import { softmaxOf } from "../frame/softmax.ts";
import { roundScore } from "../frame/words.ts";
import { decodeFloat16, rowsOf } from "../head/packed.ts";
import { LEARNED, type Moment, REASONS, SENTENCES } from "./captures.ts";

/** What a reader changes. */
export type Learned = {
  /** "learned", "tossed" or "fast". */
  readonly run: string;
  /** Steps of training that were done; one of the run's moments. */
  readonly step: number;
  /** "cat" or "dog". */
  readonly sentence: string;
  /** The word whose row is shown; −1 for "was". */
  readonly row: number;
  /** "weights", or "plane": its query and the keys. */
  readonly shown: string;
};

/** What the picture shows. */
export interface LearnedNumbers {
  readonly words: readonly string[];
  /** Places in the sentence: the word before the last one, and the animal that it depends on. */
  readonly was: number;
  readonly animal: number;
  /** Steps of the run's moments, the mean surprise at each, and how much "was" gives to the animal then. */
  readonly steps: readonly number[];
  readonly surprises: readonly number[];
  readonly shares: readonly number[];
  /** Weights at the chosen step and before training, [words][words]; 0 for words that come later. */
  readonly weights: readonly (readonly number[])[];
  readonly before: readonly (readonly number[])[];
  /** The words that can follow "was", how probable each is, and which is right. */
  readonly reasons: readonly string[];
  readonly says: readonly number[];
  readonly right: number;
  /** The chosen row's scores before training and at the step, rounded as the listings have them, and softmax of both. */
  readonly scores: readonly (readonly number[])[];
  readonly listed: readonly (readonly number[])[];
  /** At each moment the length of the row's query, and of each key up to it how far it reaches along that query and away from it. */
  readonly planes: readonly { readonly length: number; readonly keys: readonly (readonly number[])[] }[];
}

const SIZE = 16;
const ANIMALS = { cat: 2, dog: 2 } as const;

type Sentence = keyof typeof SENTENCES;

/** What was kept of a run on a sentence. */
export async function momentsOf(run: string, sentence: string): Promise<readonly Moment[]> {
  if (run === "learned" && sentence === "cat") return LEARNED;
  const { OTHERS } = await import("./others.ts");
  return OTHERS[`${run} ${sentence}`];
}

/** The head on a sentence at a moment: queries and keys, weights, and the log-sum-exp of each row. */
function headOf(moment: Moment, sentence: Sentence) {
  const shape = [SENTENCES[sentence].length, SIZE] as const;
  const [queries, keys] = [moment.query, moment.key].map(decodeFloat16);
  const [query, key] = [queries, keys].map((numbers) => tensor(numbers, shape));
  const { weights, lse } = scaledDotProductAttention(query, key, key, {
    isCausal: true,
    returnWeights: true,
  });
  return { queries, keys, weights: rowsOf(weights!), lse };
}

type Head = ReturnType<typeof headOf>;

/** Heads by moment: another step of the slider computes none of them again. */
const heads = new Map<Moment, Head>();

function headAt(moment: Moment, sentence: Sentence): Head {
  const head = heads.get(moment) ?? headOf(moment, sentence);
  heads.set(moment, head);
  return head;
}

/** A row's query and keys in the plane of each key and that query: lengths and angles are those of the 16 numbers. */
function planeOf({ queries, keys }: Head, row: number): LearnedNumbers["planes"][number] {
  const vector = (of: Float32Array, i: number) => of.subarray(i * SIZE, (i + 1) * SIZE);
  const query = vector(queries, row);
  const length = Math.hypot(...query);
  return {
    length,
    keys: Array.from({ length: row + 1 }, (_, j) => {
      const key = vector(keys, j);
      const along = key.reduce((sum, x, i) => sum + x * query[i], 0) / length;
      return [along, Math.sqrt(Math.max(0, Math.hypot(...key) ** 2 - along ** 2))];
    }),
  };
}

/** The numbers of a state. */
export async function compute({ run, step, sentence, row }: Learned): Promise<LearnedNumbers> {
  const moments = await momentsOf(run, sentence);
  const name = sentence as Sentence;
  const words = SENTENCES[name];
  const was = (words as readonly string[]).indexOf("was");
  const animal = ANIMALS[name];
  const all = moments.map((moment) => headAt(moment, name));
  const at = Math.max(
    0,
    moments.findIndex((moment) => moment.step === step),
  );
  const chosen = row < 0 ? was : row;
  // A score is the logarithm of its weight plus the row's log-sum-exp. A weight that is 0 in float32 is at least 103 below.
  const scores = [all[0], all[at]].map(({ weights, lse }) =>
    weights[chosen]
      .slice(0, chosen + 1)
      .map((weight) => roundScore((weight > 0 ? Math.log(weight) : -103) + lse.at(chosen)) + 0),
  );
  return {
    words,
    was,
    animal,
    steps: moments.map((moment) => moment.step),
    surprises: moments.map(({ surprise }) => surprise),
    shares: all.map(({ weights }) => weights[was][animal]),
    weights: all[at].weights,
    before: all[0].weights,
    reasons: REASONS,
    says: moments[at].says,
    right: (REASONS as readonly string[]).indexOf(words[words.length - 1]),
    scores,
    listed: scores.map(softmaxOf),
    planes: all.map((head) => planeOf(head, chosen)),
  };
}

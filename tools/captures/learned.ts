/**
 * Writes lab/learned/captures.ts and others.ts: queries and keys of one head of a small decoder at several steps of its training,
 * for the page "Learned" of the Lab.
 *
 *     node tools/captures/learned.ts           trains three times, some minutes on one core, and writes the files
 *
 * The text is generated from a seed: sentences such as "the old cat sat on the mat because it was tired", in which the last word
 * depends only on the first animal. Half of the sentences name a second animal, which has no effect. Three runs start with the
 * same weights (seed 1) and read the same sentences in the same order:
 *
 *   learned   as described
 *   tossed    the last word is drawn at random: nothing in the sentence determines it
 *   fast      as `learned`, with a learning rate that is 167 times as high
 *
 * The model is a GPT-2 of two layers, four heads of 16 and width 64. Needs Node ≥ 22.18.
 */
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { configure, Tensor } from "../../src/index.ts";
import type { Gpt2 } from "../../src/models/families/gpt/gpt2.ts";
import type { LayerAttention } from "../../src/models/transformer/attend.ts";
import {
  type Batch,
  crossEntropy,
  Generator,
  IGNORE_INDEX,
  languageModel,
  schedule,
  train,
} from "../../src/train/index.ts";
import { headOf, packed } from "./numbers.ts";

const ANIMALS = ["cat", "dog", "bird", "horse", "fox", "bear", "duck", "mouse"];
/** What each animal is, in the same order. */
const REASONS = ["tired", "hungry", "cold", "thirsty", "curious", "sleepy", "wet", "afraid"];
const ADJECTIVES = ["old", "small", "brown", "young"];
const VERBS = ["sat", "slept", "stayed", "waited", "stood"];
const ADVERBS = ["quietly", "alone", "again"];
const PLACES = ["on", "near", "under", "beside"];
const THINGS = ["mat", "tree", "wall", "river", "road", "house", "bridge", "rock"];
const WORDS = ["start", "the", "because", "it", "was", ...ANIMALS, ...REASONS, ...ADJECTIVES].concat(
  VERBS,
  ADVERBS,
  PLACES,
  THINGS,
);

/** Maximum number of words of a sentence, its start token included. */
const LENGTH = 14;
const BATCH = 16;
const SEED = 1;
const HELD_OUT = 128;

/** Runs by name: learning rate, whether the last word is random, and the steps that are recorded. */
const RUNS = {
  learned: { lr: 6e-5, tossed: false, steps: [0, 50, 100, 200, 300, 450, 600, 900, 1300, 2000, 3000] },
  tossed: { lr: 6e-5, tossed: true, steps: [0, 300, 900, 3000] },
  fast: { lr: 1e-2, tossed: false, steps: [0, 300, 900, 3000] },
} as const;

/** The sentences that the page shows. */
const SHOWN = {
  cat: "start the cat sat on the mat because it was tired",
  dog: "start the dog slept near the old cat because it was hungry",
} as const;

/** The head that is recorded, counted from 0. */
const HEAD = { layer: 1, head: 0 } as const;

const pick = <T>(random: Generator, list: readonly T[]): T => list[random.below(list.length)];
const idsOf = (words: readonly string[]): number[] => words.map((word) => WORDS.indexOf(word));

/** A random sentence. It draws the same numbers whether its last word is random or not. */
function sentence(random: Generator, tossed: boolean): string[] {
  const [animal, other, toss] = [ANIMALS, ANIMALS, REASONS].map((list) => random.below(list.length));
  const words = ["start", "the"];
  if (random.below(2) === 0) words.push(pick(random, ADJECTIVES));
  words.push(ANIMALS[animal], pick(random, VERBS));
  if (random.below(3) === 0) words.push(pick(random, ADVERBS));
  words.push(pick(random, PLACES), "the");
  if (random.below(4) === 0) words.push(pick(random, ADJECTIVES));
  words.push(random.below(2) === 0 ? ANIMALS[other] : pick(random, THINGS));
  words.push("because", "it", "was", REASONS[tossed ? toss : animal]);
  return words;
}

/** Sentences as a batch. Its targets are every next word, or only the last one. */
function batchOf(random: Generator, size: number, tossed: boolean, last = false): Batch {
  const inputs = new Int32Array(size * LENGTH);
  const targets = new Int32Array(size * LENGTH).fill(IGNORE_INDEX);
  let count = 0;
  for (let row = 0; row < size; row++) {
    const ids = idsOf(sentence(random, tossed));
    const targetCount = ids.length - 1;
    inputs.set(ids, row * LENGTH);
    for (let i = last ? targetCount - 1 : 0; i < targetCount; i++) targets[row * LENGTH + i] = ids[i + 1];
    count += last ? 1 : targetCount;
  }
  return {
    inputs: new Tensor(inputs, [size, LENGTH], "int32"),
    targets: new Tensor(targets, [size, LENGTH], "int32"),
    count,
  };
}

/** A model at a step of its training, as the page shows it. */
interface Moment {
  readonly step: number;
  /** Mean surprise at the last word of held-out sentences, in nats. */
  readonly surprise: number;
  /** For each shown sentence: the head's query and key, and how probable each of the eight words is after "was". */
  readonly sentences: Readonly<Record<string, { query: string; key: string; says: readonly number[] }>>;
}

/** Rows of the head, [N, d]. */
const stored = (heads: Tensor) => packed(headOf(heads, HEAD.head));

function momentOf(model: Gpt2, step: number, tossed: boolean): Moment {
  const { inputs, targets } = batchOf(new Generator(SEED, 1), HELD_OUT, tossed, true);
  const surprise = crossEntropy(model.forward(inputs), targets).at();
  const sentences = Object.fromEntries(
    Object.entries(SHOWN).map(([name, text]) => {
      const words = text.split(" ");
      let layer: LayerAttention | undefined;
      const states = model.hidden(Int32Array.from(idsOf(words)), {
        onAttention: (index, it) => {
          if (index === HEAD.layer) layer = it;
          return undefined;
        },
      });
      const logits = model.logits(states);
      const was = words.indexOf("was");
      const scores = WORDS.map((_, id) => logits.at(was, id));
      const sum = scores.reduce((total, score) => total + Math.exp(score), 0);
      const says = REASONS.map((word) => Number((Math.exp(scores[WORDS.indexOf(word)]) / sum).toFixed(4)));
      return [name, { query: stored(layer!.query), key: stored(layer!.key), says }];
    }),
  );
  return { step, surprise: Number(surprise.toFixed(4)), sentences };
}

/** Trains a run for `until` steps and returns what it recorded. */
export async function runOf(name: keyof typeof RUNS, until = 3000): Promise<Moment[]> {
  const { lr, tossed, steps } = RUNS[name];
  const learner = languageModel("decoder", {
    vocabulary: WORDS.length,
    context: LENGTH,
    layers: 2,
    heads: 4,
    width: 64,
    seed: SEED,
  });
  const model = learner.model as Gpt2;
  const random = new Generator(SEED);
  const moments = [momentOf(model, 0, tossed)];
  if (until > 0)
    await train({
      model: learner,
      data: () => [batchOf(random, BATCH, tossed)],
      steps: until,
      schedule: schedule({ lr }),
      adamw: { weightDecay: 0.01, decays: "matrices" },
      onStep: ({ step }) => {
        if ((steps as readonly number[]).includes(step)) moments.push(momentOf(model, step, tossed));
      },
    });
  return moments;
}

/** One sentence of a run, as the page's files store it. */
const ofSentence = (moments: readonly Moment[], name: string) =>
  moments.map(({ step, surprise, sentences }) => ({ step, surprise, ...sentences[name] }));

/** Data as the source of a list, a row a moment. */
const rows = (moments: readonly object[]) =>
  `[\n${moments.map((one) => `  ${JSON.stringify(one)},\n`).join("")}]`;

/** The two files: the data of the page's first state, and the data that it loads on request. */
export function filesOf(runs: Readonly<Record<string, readonly Moment[]>>): Record<string, string> {
  let others = "";
  for (const [run, moments] of Object.entries(runs))
    for (const name of Object.keys(SHOWN))
      if (run !== "learned" || name !== "cat")
        others += `  "${run} ${name}": ${rows(ofSentence(moments, name))},\n`;
  const sentences = Object.fromEntries(Object.entries(SHOWN).map(([name, text]) => [name, text.split(" ")]));
  return {
    "captures.ts": `/**
 * One head in training: query and key of layer ${HEAD.layer}, head ${HEAD.head} (counted from 0) of a GPT-2 of two layers, four heads and width 64, at
 * moments of a run; [words, 16] each, float16 in base64. Weights are not stored: heed computes them in the page. Written by
 * \`node tools/captures/learned.ts\` (seed ${SEED}), which says what the text and the runs are.
 */

/** Words that the model chooses from after "was". */
export const REASONS = ${JSON.stringify(REASONS)} as const;

/** Sentences by name. */
export const SENTENCES = ${JSON.stringify(sentences)} as const;

/** A sentence at a moment of a run. */
export interface Moment {
  readonly step: number;
  /** Mean surprise at the last word of ${HELD_OUT} sentences that were not trained on, in nats. */
  readonly surprise: number;
  readonly query: string;
  readonly key: string;
  /** How probable each of the eight words is after "was". */
  readonly says: readonly number[];
}

/** The first run on the first sentence. */
export const LEARNED: readonly Moment[] = ${rows(ofSentence(runs.learned, "cat"))}; // biome-ignore format: a row a moment
`,
    "others.ts": `/** The other runs and the other sentence, loaded on request. Written by \`node tools/captures/learned.ts\`, as captures.ts. */
import type { Moment } from "./captures.ts";

/** Moments by run and sentence. */
export const OTHERS: Readonly<Record<string, readonly Moment[]>> = {
${others}}; // biome-ignore format: a row a moment
`,
  };
}

async function write(): Promise<void> {
  // The same bits on every machine.
  configure({ simd: "strict", threads: 1 });
  const runs: Record<string, Moment[]> = {};
  for (const name of Object.keys(RUNS) as (keyof typeof RUNS)[]) {
    const start = performance.now();
    runs[name] = await runOf(name);
    const seconds = (performance.now() - start) / 1000;
    process.stdout.write(
      `${name}: ${seconds.toFixed(0)} s, surprise ${runs[name].map(({ surprise }) => surprise).join(" ")}\n`,
    );
  }
  for (const [name, text] of Object.entries(filesOf(runs)))
    writeFileSync(new URL(`../../lab/learned/${name}`, import.meta.url), text);
  process.stdout.write(
    "lab/learned/captures.ts and lab/learned/others.ts are written; now: npx biome format --write lab/learned\n",
  );
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await write();
  process.exit(0);
}

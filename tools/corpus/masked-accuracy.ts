/**
 * How often an encoder trained by `heed train --lines` predicts a masked token correctly on text that it was not trained on: the
 * held-out sentences of its run, with the masks of its held-out loss.
 *
 *     node tools/corpus/masked-accuracy.ts MODEL_DIR TEXT ...     the texts of the run, in its order
 *
 * Prints the loss, and the share of masked tokens that are the most likely one and among the five most likely, over all and over
 * whole words alone, beside the share of the most frequent token.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tidy } from "../../src/api/tidy.ts";
import { readModel } from "../../src/models/index.ts";
import { embedding, type FloatTensor, type Ids, reshape } from "../../src/nn/index.ts";
import { Corpus, IGNORE_INDEX } from "../../src/train/index.ts";

const [directory, ...texts] = process.argv.slice(2);
if (directory === undefined || texts.length === 0) {
  console.error("node tools/corpus/masked-accuracy.ts MODEL_DIR TEXT ...");
  process.exit(2);
}
const { kind, context, batch, accumulate, heldOut, repeats, short, lines, masked, seed } = JSON.parse(
  readFileSync(join(directory, "training.json"), "utf8"),
).settings;
const { model, tokenizer } = await readModel(directory);
const corpus = new Corpus(
  texts.map((path) => readFileSync(path, "utf8")),
  tokenizer,
  { kind, context, batch, accumulate, heldOut, repeats, short, lines, masked, seed },
);
const network = model as unknown as {
  hidden(ids: Ids): FloatTensor;
  logits(states: FloatTensor): FloatTensor;
};

const counts = { all: 0, first: 0, five: 0, words: 0, firstWords: 0, fiveWords: 0 };
let loss = 0;
const frequency = new Map<number, number>();
for (const { inputs, targets } of corpus.heldOut) {
  const places = [...targets.data.keys()].filter((i) => targets.data[i] !== IGNORE_INDEX);
  const logits = tidy(() => {
    const states = reshape(network.hidden(inputs), [targets.size, -1]);
    return network.logits(embedding(places, states)).toFloat64(); // [masks, V]
  });
  const V = logits.length / places.length;
  places.forEach((place, n) => {
    const row = logits.subarray(n * V, (n + 1) * V);
    const target = targets.data[place];
    const rank = row.reduce((larger, x) => larger + (x > row[target] ? 1 : 0), 0);
    const largest = row.reduce((a, b) => Math.max(a, b));
    loss += Math.log(row.reduce((sum, x) => sum + Math.exp(x - largest), 0)) + largest - row[target];
    const isWord = /^\p{L}{2,}$/u.test(tokenizer.token(target) ?? "");
    counts.all++;
    counts.first += rank === 0 ? 1 : 0;
    counts.five += rank < 5 ? 1 : 0;
    if (isWord) {
      counts.words++;
      counts.firstWords += rank === 0 ? 1 : 0;
      counts.fiveWords += rank < 5 ? 1 : 0;
    }
    frequency.set(target, (frequency.get(target) ?? 0) + 1);
  });
}
const percent = (part: number, total: number) => `${((100 * part) / total).toFixed(1)} %`;
const commonest = Math.max(...frequency.values());
console.log(`${counts.all} masked tokens, loss ${(loss / counts.all).toFixed(4)}`);
console.log(
  `all tokens: first ${percent(counts.first, counts.all)}, among five ${percent(counts.five, counts.all)}; the most frequent token is ${percent(commonest, counts.all)}`,
);
console.log(
  `whole words (${counts.words}): first ${percent(counts.firstWords, counts.words)}, among five ${percent(counts.fiveWords, counts.words)}`,
);

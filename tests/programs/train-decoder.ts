/** A decoder trained on a custom text, which then continues the text. */
import assert from "node:assert/strict";
import { generateText, textModel, trainTokenizer } from "heed/models";
import { Corpus, languageModel, train } from "heed/train";

const text = "the river runs to the sea and the sea sends the rain to the river. ".repeat(40);
const tokenizer = trainTokenizer([text], { kind: "bpe", vocabSize: 300 });
const corpus = new Corpus([text], tokenizer, { kind: "decoder", context: 32, batch: 8 });
const model = languageModel("decoder", {
  vocabulary: tokenizer.size,
  context: 32,
  layers: 2,
  heads: 2,
  width: 32,
  seed: 1,
});
const { losses } = await train({
  model,
  data: (step) => corpus.batches(step),
  steps: 200,
  adamw: { lr: 3e-3 },
});
const [first, last] = [losses[0] ?? 0, losses.at(-1) ?? Infinity];
assert.ok(first > 5 && last < 0.2, `the loss goes from ${first} to ${last}`);

const decoder = textModel(model.model, tokenizer, { name: "river" });
const prompt = "the rain to the river. the river runs to";
const written = [...generateText(decoder, prompt, { maxTokens: 8 })].join("");
assert.ok(written.startsWith(" the sea") && text.includes(written), `it writes ${JSON.stringify(written)}`);
console.log(`loss ${first.toFixed(1)}, then below 0.2; "${prompt}${written}"`);

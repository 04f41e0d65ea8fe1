/**
 * Writes the average of the weights of two models with one tokenizer, one fine-tuned from the other: most of what either has learned
 * (Wortsman et al. 2021, arXiv 2109.01903). training.json is that of the fine-tuned model, with a field `average`, to which
 * the loss that masked-accuracy.ts prints is added by hand as `heldOut`.
 *
 *   node tools/corpus/average.ts FIRST TUNED SHARE DIRECTORY      SHARE of TUNED, from 0 to 1; DIRECTORY exists
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Tensor } from "../../src/index.ts";
import { type Bert, modelToFiles, readModel } from "../../src/models/index.ts";

const [first, tuned, text, directory] = process.argv.slice(2);
const share = Number(text);
if (directory === undefined || !(share >= 0 && share <= 1)) {
  console.error("node tools/corpus/average.ts FIRST TUNED SHARE DIRECTORY");
  process.exit(2);
}
const { model, tokenizer } = await readModel(tuned);
const weights = (await readModel(first)).model.parameters();
for (const [name, { data }] of model.parameters()) {
  const other = (weights.get(name) as Tensor).toFloat64();
  for (let i = 0; i < other.length; i++) data[i] = share * Number(data[i]) + (1 - share) * other[i];
}
for (const [name, bytes] of modelToFiles(model as unknown as Bert, tokenizer, { dtype: "float16" }))
  writeFileSync(join(directory, name), bytes);
const facts = JSON.parse(readFileSync(join(tuned, "training.json"), "utf8"));
const average = { of: [first, tuned].map((path) => basename(path)), share };
writeFileSync(join(directory, "training.json"), `${JSON.stringify({ ...facts, average }, undefined, 1)}\n`);

/**
 * Scores an encoder on the 50 everyday sentences of cloze.txt: how many have one of their expected words among the five most likely.
 *
 *   node tools/corpus/cloze.ts MODEL [--all]      --all prints each sentence with the model's five words
 */
import { readFileSync } from "node:fs";
import { fillMask, readModel } from "../../src/models/index.ts";

const [folder, all] = process.argv.slice(2);
if (folder === undefined || !(all === undefined || all === "--all")) {
  console.error("node tools/corpus/cloze.ts MODEL [--all]");
  process.exit(2);
}
const model = await readModel(folder);
const lines = readFileSync(new URL("cloze.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"));
let right = 0;
let first = 0;
for (const line of lines) {
  const [text, expected] = line.split("\t");
  const words = new Set(expected.split(","));
  const [{ candidates }] = fillMask(model, text, { top: 5 });
  const at = candidates.findIndex(({ token }) => words.has(token));
  if (at >= 0) right++;
  if (at === 0) first++;
  if (all) console.log(at >= 0 ? "+" : "-", text, candidates.map(({ token }) => token).join(", "));
}
console.log(`${right} of ${lines.length} have an expected word among the five most likely, ${first} as the first`);

/**
 * Scores an encoder on the 50 everyday sentences of cloze.txt: how many have one of their expected words among the five most likely.
 *
 *   node tools/corpus/cloze.ts MODEL [--all]      --all prints each sentence with the model's five words
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { fillMask, readModel } from "../../src/models/index.ts";

/** A sentence of the list, the words that are right, and the model's five. */
interface Cloze {
  readonly text: string;
  readonly expected: readonly string[];
  readonly words: readonly string[];
}

/** The sentences with the five most likely words of a model: `fill` returns those of the mask of a sentence. */
export function fillCloze(fill: (text: string) => readonly { readonly token: string }[]): Cloze[] {
  const lines = readFileSync(new URL("cloze.txt", import.meta.url), "utf8").split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [text, expected] = line.split("\t");
      return { text, expected: expected.split(","), words: fill(text).map(({ token }) => token) };
    });
}

/** Sentences with an expected word among the five, and with one as the first. */
export function scoreOf(filled: readonly Cloze[]): { readonly five: number; readonly first: number } {
  const count = (places: number) =>
    filled.filter(({ expected, words }) => words.slice(0, places).some((word) => expected.includes(word)))
      .length;
  return { five: count(5), first: count(1) };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [folder, all] = process.argv.slice(2);
  if (folder === undefined || !(all === undefined || all === "--all")) {
    console.error("node tools/corpus/cloze.ts MODEL [--all]");
    process.exit(2);
  }
  const model = await readModel(folder);
  const filled = fillCloze((text) => fillMask(model, text, { top: 5 })[0].candidates);
  if (all) for (const { text, words } of filled) console.log(`${text}  ${words.join(", ")}`);
  const { five, first } = scoreOf(filled);
  console.log(
    `${five} of ${filled.length} have an expected word among the five most likely, ${first} as the first`,
  );
}

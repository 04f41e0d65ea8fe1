/** `heed similar MODEL A B …`: the similarity of texts, as cosines of their vectors. */
import { cosineSimilarity, embedTexts } from "../../models/index.ts";
import { MODEL_HELP, pickSentenceModel, sentenceCuts, warnOfCuts } from "../support/input/pick-model.ts";
import { expandTexts } from "../support/input/stdin.ts";
import { type Command, EXIT, UsageError } from "../support/line/command.ts";
import { columnsOf, printJson } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";
import { poolingText } from "./embed.ts";

/** Maximum characters of a row's label. */
const NAMED = 40;

export const command: Command = {
  name: "similar",
  summary: "compare texts by the cosines of their vectors",
  usage: "heed similar MODEL TEXT TEXT ... [OPTIONS]",
  help: { json: "print the cosines as JSON", ...ENGINE_HELP },
  notes: `${MODEL_HELP}
TEXT may be - for the lines of standard input.
The vectors are those of heed embed. Cosines are most meaningful with a model that was trained for them (sentence-transformers).`,
  examples: [
    'heed similar encoder "he sat on the bank of the river" "she put money in the bank"',
    'heed similar ./all-MiniLM-L6-v2 "How old are you?" "What is your age?"',
  ],
  async run(values, positionals, io) {
    const [name, ...textArguments] = positionals;
    const texts = await expandTexts(textArguments, io);
    if (name === undefined || texts.length < 2)
      throw new UsageError('name a model and two or more texts: heed similar encoder "one text" "another"');
    const { model, pooling } = await pickSentenceModel(name, io);
    for (const [n, text] of texts.entries()) {
      const cuts = sentenceCuts(model, pooling, text);
      warnOfCuts({ name: model.name, maxTokens: cuts.maxTokens }, cuts, io, `text ${n + 1}: `);
    }
    const cosines = cosineSimilarity(embedTexts(model, texts, pooling));
    if (values.json) return printJson(io, { model: model.name, pooling, texts, similarity: cosines });
    const label = (text: string) =>
      text.length > NAMED ? `${[...text].slice(0, NAMED - 1).join("")}…` : text;
    const rows = texts.map((text, i) => [
      `${i + 1}`,
      label(text),
      ...cosines[i].map((cosine) => cosine.toFixed(3)),
    ]);
    const right = [0, ...texts.map((_, i) => i + 2)];
    io.stdout.write(
      `${columnsOf([["", "", ...texts.map((_, i) => `${i + 1}`)], ...rows], right).join("\n")}\n`,
    );
    io.stdout.write(`${model.name}: ${poolingText(pooling)}\n`);
    return EXIT.ok;
  },
};

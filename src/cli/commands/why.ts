/** `heed why MODEL TEXT`: the score of a link as a sum over pairs of components. */
import { componentName } from "../../models/inference/residual.ts";
import { type ScoreShare, splitScore } from "../../models/inference/score-split.ts";
import { decimalPercent } from "../../store/text/number.ts";
import { MODEL_HELP, modelAndText, pickTextModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandText } from "../support/input/stdin.ts";
import { tokenPlace } from "../support/input/token-place.ts";
import type { Command } from "../support/line/command.ts";
import { integer } from "../support/line/values.ts";
import { printJson, printTable } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

export const command: Command = {
  name: "why",
  summary: "split the score of a link into its reasons",
  usage: "heed why MODEL TEXT --layer N --head N --query WORD --key WORD [OPTIONS]",
  help: {
    layer: "N  the layer, from 0",
    head: "N  the head, from 0",
    query: "WORD  the token that attends: its word, or its number from 0",
    key: "WORD  the token that it attends to",
    top: "N  terms to print, the largest difference first (default 10)",
    ...ENGINE_HELP,
    json: "print the split as JSON",
  },
  notes: `${MODEL_HELP}
The text may be - for standard input.
A score is a sum over pairs: a component of the query's state (word, position, earlier heads and feed-forward networks, biases) times one of
the key's, with the norms frozen at their values in this run. Softmax sees differences, so each term is printed against its mean over the row's other keys. A large
term is not a cause: heed ablate and heed patch show causes.`,
  examples: [
    'heed why encoder "time flies like an arrow" --layer 0 --head 0 --query flies --key time',
    'heed why decoder "the ship" --layer 3 --head 1 --query 2 --key 0 --top 20',
  ],
  async run(values, positionals, io) {
    const [name, textArgument] = modelAndText(
      positionals,
      'one text: heed why encoder "time flies like an arrow" --layer 0 --head 0 --query flies --key time',
    );
    const text = await expandText(textArgument, io);
    const count = (option: string, preset: number, least = 0) =>
      integer(option, values[option] ?? String(preset), least);
    const top = count("top", 10, 1);
    const [layer, head] = [count("layer", 0), count("head", 0)];
    const model = await pickTextModel(name, io);
    const read = model.tokenize(text);
    warnOfCuts(model, read, io);
    const query = tokenPlace("query", values.query, read.tokens);
    const key = tokenPlace("key", values.key, read.tokens);
    const split = splitScore(model, text, { layer, head, query, key, top });
    if (values.json)
      return printJson(io, { kind: "score", command: io.commandLine, model: model.name, text, ...split });
    const signed = (x: number) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(3)}`;
    const row = (label: string, { value, difference }: ScoreShare) => [
      label,
      signed(difference),
      signed(value),
    ];
    const token = (n: number) => JSON.stringify(read.tokens[n].trim());
    const mods = split.scoreMods.value === 0 && split.scoreMods.difference === 0;
    const rows = [
      [`${token(query)} × ${token(key)}`, "against others", "value"],
      ...split.terms.map((term) => row(`${componentName(term.query)} × ${componentName(term.key)}`, term)),
      row("all other terms", split.rest),
      ...(mods ? [] : [row("score mods", split.scoreMods)]),
      row("score", split.score),
    ];
    const link = `${token(query)} gives ${token(key)} ${decimalPercent(split.weight)}`;
    return printTable(
      [`layer ${layer}, head ${head}: ${link}, score ${signed(split.score.value)}`],
      rows,
      0,
      io,
    );
  },
};

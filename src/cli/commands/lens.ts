/** `heed lens MODEL TEXT`: what the state of a token would predict after each layer. */
import { logitLens } from "../../models/index.ts";
import { decimalPercent } from "../../store/text/number.ts";
import { MODEL_HELP, modelAndText, pickTextModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandText } from "../support/input/stdin.ts";
import { tokenPlace } from "../support/input/token-place.ts";
import type { Command } from "../support/line/command.ts";
import { integer } from "../support/line/values.ts";
import { printJson, printTable } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

export const command: Command = {
  name: "lens",
  summary: "show what each layer's state of a token would predict",
  usage: "heed lens MODEL TEXT [OPTIONS]",
  help: {
    at: "WORD  the token whose states are read: its word, or its number from 0 (default: a decoder's last, an encoder's first mask)",
    token: "WORD  the predicted token to follow (default: the one that the model predicts)",
    top: "N  tokens of each layer (default 3)",
    ...ENGINE_HELP,
    json: "print the tokens and their probabilities as JSON",
  },
  notes: `${MODEL_HELP}
The text may be - for standard input.
Each state goes through the model's own last norm and output head, as if the model ended there (logit lens, nostalgebraist 2020). The layers before
the last were not trained to be read this way: where they show nothing, the token may be there in another form.`,
  examples: [
    'heed lens decoder "the president of the united"',
    'heed lens encoder "the president of the united [MASK]" --top 5',
  ],
  async run(values, positionals, io) {
    const [name, textArgument] = modelAndText(
      positionals,
      'one text: heed lens decoder "the president of the united"',
    );
    const text = await expandText(textArgument, io);
    const top = values.top === undefined ? 3 : integer("top", values.top, 1);
    const model = await pickTextModel(name, io);
    const read = model.tokenize(text);
    warnOfCuts(model, read, io);
    const position = values.at === undefined ? undefined : tokenPlace("at", values.at, read.tokens);
    const lens = logitLens(model, text, { position, top, token: values.token as string | undefined });
    if (values.json) return printJson(io, { model: model.name, text, ...lens });
    const word = (token: string) => JSON.stringify(token.trim());
    const { token, rows } = lens;
    const lines = rows.map(({ layers, tokens, probability, rank }) => [
      layers === 0 ? "embedding" : `layer ${layers - 1}`,
      decimalPercent(probability),
      `${rank}`,
      tokens.map((one) => `${word(one.token)} ${decimalPercent(one.probability)}`).join("  "),
    ]);
    const place = model.architecture === "decoder" ? "after" : "at";
    const at = lens.position < read.tokens.length ? word(read.tokens[lens.position]) : `${lens.position}`;
    return printTable(
      [`${place} token ${lens.position}, ${at}: ${word(token.token)} ${decimalPercent(token.probability)}`],
      [["", word(token.token), "rank", "most likely"], ...lines],
      0,
      io,
    );
  },
};

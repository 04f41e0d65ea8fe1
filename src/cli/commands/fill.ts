/** `heed fill MODEL TEXT`: the most likely tokens for each mask of a text. */
import { fillMaskAsync } from "../../models/index.ts";
import { decimalPercent } from "../../store/text/number.ts";
import { MODEL_HELP, modelAndText, pickTextModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandText } from "../support/input/stdin.ts";
import { type Command, EXIT } from "../support/line/command.ts";
import { integer } from "../support/line/values.ts";
import { columnsOf, printJson, styler } from "../support/output/terminal.ts";
import { DEVICE_HELP } from "../support/run/device.ts";

export const command: Command = {
  name: "fill",
  summary: "fill in the masked tokens of a text",
  usage: 'heed fill MODEL "... [MASK] ..." [OPTIONS]',
  help: {
    top: "N  tokens shown for each mask (default 5)",
    json: "print the tokens and their probabilities as JSON",
    ...DEVICE_HELP,
  },
  notes: `${MODEL_HELP}
The text may be - for standard input.
A mask may be written [MASK] or <mask>, for every model. Of several masks, each is predicted with the others masked.`,
  examples: [
    'heed fill encoder "the president of the united [MASK]"',
    'heed fill ./bert-base-uncased "The cat sat on the [MASK]." --top 10',
  ],
  async run(values, positionals, io) {
    const [name, textArgument] = modelAndText(
      positionals,
      'one text: heed fill encoder "the [MASK] of the river"',
    );
    const text = await expandText(textArgument, io);
    const top = values.top === undefined ? 5 : integer("top", values.top, 1);
    const model = await pickTextModel(name, io);
    const fills = await fillMaskAsync(model, text, { top });
    warnOfCuts(model, model.tokenize(text), io);
    if (values.json) return printJson(io, { model: model.name, text, masks: fills });
    const { bold } = styler(io);
    const parts = text.split(/(?:\[MASK\]|<mask>)/);
    fills.forEach(({ candidates }, n) => {
      if (n > 0) io.stdout.write("\n");
      const rows = candidates.map(({ token, probability }) => [
        decimalPercent(probability),
        bold(token),
        filled(parts, n, token),
      ]);
      io.stdout.write(`${columnsOf(rows, [0]).join("\n")}\n`);
    });
    return EXIT.ok;
  },
};

/** Maximum characters to print before and after a filled mask. */
const CONTEXT = 60;

/**
 * The text around mask `n`, which is replaced by a token; the other masks stay. A piece inside a word is joined to the word
 * before it.
 */
function filled(parts: readonly string[], n: number, token: string): string {
  const before = [...parts.slice(0, n + 1).join("[MASK]")];
  const after = [...parts.slice(n + 1).join("[MASK]")];
  const start = before.length > CONTEXT ? `…${before.slice(-CONTEXT).join("")}` : before.join("");
  const end = after.length > CONTEXT ? `${after.slice(0, CONTEXT).join("")}…` : after.join("");
  return token.startsWith("##")
    ? `${start.trimEnd()}${token.slice(2)}${end}`
    : `${start}${token.trim()}${end}`;
}

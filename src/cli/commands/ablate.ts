/** `heed ablate MODEL TEXT`: how the prediction changes without each head. */
import { ablate } from "../../models/inference/ablate.ts";
import { spellMasks } from "../../models/inference/prediction.ts";
import { MODEL_HELP, modelAndText, pickTextModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandText } from "../support/input/stdin.ts";
import { type Command, EXIT } from "../support/line/command.ts";
import { integer, oneOf } from "../support/line/values.ts";
import { columnsOf, jsonText, wrap } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

export const command: Command = {
  name: "ablate",
  summary: "switch off heads of a model and compare its prediction",
  usage: "heed ablate MODEL TEXT [OPTIONS]",
  help: {
    layer: "N  only this layer, from 0",
    head: "N  only this head of each layer, from 0",
    replace: "KIND  zero (default) or mean (over the text), which replaces the output of a head",
    position:
      "N  the token, from 0, that an encoder masks and predicts, or whose next token a decoder predicts (default: the first [MASK], or the last token)",
    top: "N  heads to print, the largest change first (default 10)",
    ...ENGINE_HELP,
    json: "print every head as JSON",
  },
  notes: `${MODEL_HELP}
The text may be - for standard input.
A decoder predicts the token after the text, an encoder the first [MASK] in it, or the token that --position masks. The model runs once per head.`,
  examples: [
    'heed ablate decoder "the president of the united"',
    'heed ablate encoder "the president of the united [MASK]" --replace mean --top 5',
  ],
  async run(values, positionals, io) {
    const [name, textArgument] = modelAndText(
      positionals,
      'one text: heed ablate decoder "the president of the united"',
    );
    const text = await expandText(textArgument, io);
    const count = (option: string, least: number) =>
      values[option] === undefined ? undefined : integer(option, values[option], least);
    const [layer, head, top = 10] = [count("layer", 0), count("head", 0), count("top", 1)];
    const replace = oneOf("replace", values.replace ?? "zero", ["zero", "mean"] as const);
    const options = { layer, head, replace, position: count("position", 0) };
    const model = await pickTextModel(name, io);
    const read = model.tokenize(spellMasks(model.tokenizer, text));
    warnOfCuts(model, read, io);
    const { predicted, effects, position } = ablate(model, text, options);
    if (values.json) {
      io.stdout.write(jsonText({ model: model.name, text, position, predicted, effects }));
      return EXIT.ok;
    }
    const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
    const named = ({ token }: { readonly token: string }) => JSON.stringify(token);
    const [first] = predicted;
    const at = JSON.stringify(read.tokens[position]);
    const where =
      model.architecture === "decoder" ? `after ${at}` : `in place of ${at} (token ${position}, from 0)`;
    const rows = effects
      .slice(0, top)
      .map((it) => [
        `L${it.layer} H${it.head}`,
        percent(it.probability),
        `${it.change >= 0 ? "+" : "−"}${(100 * Math.abs(it.change)).toFixed(1)}`,
        `${named(it.top)} ${percent(it.top.probability)}`,
      ]);
    const note = `Without one head: the probability of ${named(first)}, its change in percentage points, and the token that is then the most likely.`;
    const columns = Math.min(io.columns ?? 80, 160);
    const lines = [
      ...wrap(
        `predicted ${where}: ${predicted.map((it) => `${named(it)} ${percent(it.probability)}`).join(", ")}`,
        columns,
      ),
      "",
      ...wrap(note, columns),
      "",
      ...columnsOf([["without", named(first), "change", "most likely then"], ...rows], [1, 2]),
    ];
    if (effects.length > top) lines.push(`${effects.length - top} more heads change less (--top)`);
    io.stdout.write(`${lines.join("\n")}\n`);
    return EXIT.ok;
  },
};

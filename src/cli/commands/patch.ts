/** `heed patch MODEL TEXT OTHER`: what the outputs of another text change, head by head. */
import { measureEffects, type Quantity } from "../../models/inference/effects.ts";
import { spellMasks } from "../../models/inference/prediction.ts";
import { componentName } from "../../models/inference/residual.ts";
import { MODEL_HELP, pickTextModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandTexts } from "../support/input/stdin.ts";
import { tokenPlace } from "../support/input/token-place.ts";
import { type Command, UsageError } from "../support/line/command.ts";
import { integer, optional } from "../support/line/values.ts";
import { printJson, printTable } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

const USAGE =
  'name a model and two texts: heed patch decoder "the president of the" "the captain of the" --token " of" --against ","';

export const command: Command = {
  name: "patch",
  summary: "replace outputs of a model with those of another text",
  usage: "heed patch MODEL TEXT OTHER [OPTIONS]",
  help: {
    token: "WORD  the quantity is the logit of this token",
    against: "WORD  minus the logit of this one",
    position: "N  where it is predicted, from 0 (default: the last token, or the first [MASK])",
    word: "WORD  the quantity is the cosine of this token's last state with that of --other-word",
    "other-word": "WORD  a token of the other text (default: the same word)",
    top: "N  parts to print, the largest change first (default 10)",
    ...ENGINE_HELP,
    json: "print every part as JSON",
  },
  notes: `${MODEL_HELP}
Each head and feed-forward network in turn gets its output from the other text, at aligned tokens. "recovered" is the share of the
difference between the two texts that this makes: 1 is all of it.`,
  examples: [
    'heed patch decoder "the president of the" "the captain of the" --token " of" --against ","',
    'heed patch encoder "time flies like an arrow" "fruit flies like a banana" --word flies',
  ],
  async run(values, positionals, io) {
    const [name, ...textArguments] = positionals;
    if (name === undefined || textArguments.length !== 2) throw new UsageError(USAGE);
    const byWord = values.word !== undefined;
    if (
      byWord === (values.token !== undefined) ||
      (values.token === undefined) !== (values.against === undefined)
    )
      throw new UsageError("give --token and --against, or --word");
    const [text, other] = await expandTexts(textArguments, io);
    if (other === undefined) throw new UsageError(USAGE);
    const top = integer("top", values.top ?? "10", 1);
    const position = optional(values, "position", integer, 0);
    const model = await pickTextModel(name, io);
    const [read, partner] = [text, other].map((one) => model.tokenize(spellMasks(model.tokenizer, one)));
    for (const one of [read, partner]) warnOfCuts(model, one, io);
    const quantity: Quantity = byWord
      ? {
          of: "state",
          position: tokenPlace("word", values.word, read.tokens),
          otherPosition: tokenPlace("other-word", values["other-word"] ?? values.word, partner.tokens),
        }
      : { of: "logit", token: values.token as string, against: values.against as string, position };
    const { value, otherValue, effects } = measureEffects(model, text, quantity, { other, patch: true });
    if (values.json) {
      const about = { kind: "effects", command: io.commandLine, model: model.name };
      return printJson(io, { ...about, text, other, quantity, value, otherValue, effects });
    }
    const number = (x: number | undefined) =>
      x === undefined || Number.isNaN(x) ? "–" : x.toFixed(3).replace("-", "−");
    const what = byWord
      ? `cosine of the last states of ${JSON.stringify(values.word)}`
      : `logit of ${JSON.stringify(values.token)} minus that of ${JSON.stringify(values.against)}`;
    const rows = effects
      .slice(0, top)
      .map((it) => [
        componentName({ kind: it.part === "mlp" ? "mlp" : "head", layer: it.layer, head: it.head }),
        number(it.value),
        number(it.change),
        number(it.recovered),
      ]);
    return printTable(
      [`${what}: ${number(value)}; in the other text ${number(otherValue)}`],
      [["patched", "value", "change", "recovered"], ...rows],
      effects.length - top,
      io,
      [1, 2, 3],
    );
  },
};

/** The commands whose model writes a new text from one: `heed translate` and `heed summarize`. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writeText } from "../../../models/encoder-decoder/translate.ts";
import type { TextModel } from "../../../models/text-model.ts";
import { findFolder, MODEL_HELP, pickTextModel } from "../input/pick-model.ts";
import { expandText } from "../input/stdin.ts";
import { type Command, EXIT, type Io, UsageError } from "../line/command.ts";
import { integer, number, optional } from "../line/values.ts";
import { jsonText } from "../output/terminal.ts";
import { DEVICE_HELP } from "./device.ts";
import { SAMPLING_HELP, samplingOptions } from "./sampling-options.ts";

/** A command of this kind. */
export function translationCommand(
  it: Pick<Command, "summary" | "examples"> & {
    readonly name: "translate" | "summarize";
    readonly notes: string;
    /** The model where a text alone is given. */
    readonly model?: "translator";
    readonly help?: Command["help"];
    /** The prefix of a text whose option --prefix is missing. */
    prefix(model: TextModel): string;
  },
): Command {
  return {
    name: it.name,
    summary: it.summary,
    usage: `heed ${it.name} ${it.model ? "[MODEL]" : "MODEL"} TEXT [OPTIONS]`,
    help: {
      ...it.help,
      tokens: "N  maximum tokens to write (default 256)",
      "min-tokens": "N  tokens before the text may end (default 0)",
      beams: "N  beam search: the N most likely texts are continued together (default 1: none)",
      "length-penalty": "X  divides a beam's score by its length to this power (default 1)",
      "early-stopping": "end the search as soon as N texts are finished",
      "no-repeat": "N  no sequence of N tokens occurs twice",
      ...SAMPLING_HELP,
      from: "NAME  language of the text, a special token of the tokenizer: eng_Latn, en_XX",
      to: "NAME  language to write, in the same spelling",
      prefix: "TEXT  put before the text: the task of a T5",
      json: "print the text and the token ids as a JSON object",
      ...DEVICE_HELP,
    },
    notes: `${MODEL_HELP}
TEXT may be - for standard input.
MODEL is an encoder–decoder: T5, mT5, BART, mBART, Marian, Pegasus, M2M-100 or NLLB. ${it.notes}
heed show and heed view draw its attention: the source's, the written text's, and rows of one in columns of the other.`,
    examples: it.examples,
    async run(values, positionals, io) {
      if (values.words === true) return printWords(positionals[0] ?? it.model!, io);
      const all = positionals.length === 1 && it.model ? [it.model, ...positionals] : positionals;
      const [name, textArgument, ...more] = all;
      if (name === undefined || textArgument === undefined || more.length > 0)
        throw new UsageError(`name a model and one text: ${it.examples?.[0]}`);
      const text = await expandText(textArgument, io);
      const count = (option: string, least: number) => optional(values, option, integer, least);
      const options = {
        ...samplingOptions(values),
        maxTokens: count("tokens", 0),
        minTokens: count("min-tokens", 0),
        beams: count("beams", 1),
        lengthPenalty: optional(values, "length-penalty", number),
        earlyStopping: values["early-stopping"] === true,
        noRepeat: count("no-repeat", 0),
        from: values.from as string | undefined,
        to: values.to as string | undefined,
      };
      if ((options.beams ?? 1) > 1 && options.temperature > 0)
        throw new UsageError(
          "--beams takes the most likely texts; leave out --temperature and --top-k, --top-p, --min-p",
        );
      const model = await pickTextModel(name, io);
      const prefix = (values.prefix as string | undefined) ?? it.prefix(model);
      const { text: written, ids } = await writeText(it.name, model, prefix + text, options);
      io.stdout.write(
        values.json
          ? jsonText({ model: model.name, source: prefix + text, text: written, ids })
          : `${written}\n`,
      );
      return EXIT.ok;
    },
  };
}

/** Prints the words that a model of whole words reads: words.txt in its folder. */
async function printWords(name: string, io: Io): Promise<number> {
  const path = join(findFolder(name), "words.txt");
  if (!existsSync(path))
    throw new UsageError(
      `--words: ${name} has no words.txt, the list of the words that a model reads; it may read any text`,
    );
  io.stdout.write(readFileSync(path, "utf8"));
  return EXIT.ok;
}

/** `heed answer MODEL QUESTION TEXT`: the spans of a text that answer a question. */
import { answerQuestion } from "../../models/index.ts";
import { questionGlobals } from "../../models/inference/answer.ts";
import { decimalPercent } from "../../store/text/number.ts";
import { bundleOfTexts } from "../support/input/model-bundle.ts";
import { MODEL_HELP, pickTextModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandText } from "../support/input/stdin.ts";
import { type Command, EXIT, UsageError } from "../support/line/command.ts";
import { integer, optional } from "../support/line/values.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, outputOf } from "../support/output/output.ts";
import { columnsOf, printJson, styler } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

/** Characters of the text to print on each side of an answer. */
const CONTEXT = 40;

export const command: Command = {
  name: "answer",
  summary: "find the answer to a question in a text",
  usage: 'heed answer MODEL "QUESTION" "TEXT" [OPTIONS]',
  help: {
    top: "N  answers shown, which do not overlap (default 1)",
    tokens: "N  maximum tokens of an answer (default 30)",
    overlap: "N  tokens that two windows of a long text share (default 128)",
    output: "RUN.safetensors  also write the attention of the model on question and text",
    json: "print the answers with their places, logits and probabilities as JSON",
    ...ENGINE_HELP,
  },
  notes: `${MODEL_HELP}
MODEL is a BERT, RoBERTa, DistilBERT, ELECTRA, MPNet or ALBERT that was trained to answer questions (its class ends in
ForQuestionAnswering). TEXT may be - for standard input. A text that is longer than the model reads is read in windows. The probability of
an answer is its share of all spans and of "no answer", which models trained with SQuAD 2 can give.`,
  examples: [
    'heed answer ./distilbert-base-cased-distilled-squad "Where does Ada live?" "Ada lives in London."',
    'heed answer ./roberta-base-squad2 "Who wrote it?" - --top 3 < letter.txt',
  ],
  async run(values, positionals, io) {
    const [name, questionArgument, textArgument, ...more] = positionals;
    if (questionArgument === undefined || textArgument === undefined || more.length > 0)
      throw new UsageError(
        'name a model, a question and a text: heed answer MODEL "Where does Ada live?" "Ada lives in London."',
      );
    const question = await expandText(questionArgument, io);
    const text = await expandText(textArgument, io);
    const count = (name: string, least: number) => optional(values, name, integer, least);
    const [top, maxTokens, overlap] = [count("top", 1), count("tokens", 1), count("overlap", 0)];
    const output = outputOf(values, ".safetensors");
    if (output !== undefined) await checkPlace(output);
    const model = await pickTextModel(name, io);
    const result = answerQuestion(model, question, text, {
      ...(top !== undefined && { top }),
      ...(maxTokens !== undefined && { maxTokens }),
      ...(overlap !== undefined && { overlap }),
    });
    if (output !== undefined) {
      const tokens = model.tokenize(question, text);
      const globals = questionGlobals(model, tokens.sequences);
      const attention = { ...tokens, layers: model.attentionOf(tokens.ids, tokens.typeIds, { globals }) };
      warnOfCuts(model, attention, io);
      await save(output, await bundleOfTexts(model, [attention]));
    }
    if (values.json)
      return printJson(io, { model: model.name, question, ...result, ...(output && { output }) });
    const { bold } = styler(io);
    const line = (part: string) => part.replace(/\s+/g, " ");
    const rows = result.answers.map(({ text: answer, start, end, probability }) => [
      decimalPercent(probability),
      bold(line(answer)),
      `${start > CONTEXT ? "…" : ""}${line(text.slice(Math.max(0, start - CONTEXT), end + CONTEXT))}${end + CONTEXT < text.length ? "…" : ""}`,
    ]);
    rows.push([decimalPercent(result.noAnswer), "(no answer)", ""]);
    io.stdout.write(`${columnsOf(rows, [0]).join("\n")}\n`);
    return EXIT.ok;
  },
};

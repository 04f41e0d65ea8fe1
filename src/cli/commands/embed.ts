/** `heed embed MODEL FILE -o VECTORS.npy`: a vector for each line of a file, pooled as in sentence-transformers. */
import { writeNpy } from "../../io/index.ts";
import { embedTextsAsync, type Pooling } from "../../models/index.ts";
import { MODEL_HELP, modelAndText, pickSentenceModel, sentenceCuts } from "../support/input/pick-model.ts";
import { STDIN, stdinLines } from "../support/input/stdin.ts";
import { decodeText, readBytes, textLines } from "../support/input/text-file.ts";
import { breathe, type Command, EXIT } from "../support/line/command.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, outputOf } from "../support/output/output.ts";
import { startProgress } from "../support/output/progress.ts";
import { jsonText, shapeText } from "../support/output/terminal.ts";
import { DEVICE_HELP } from "../support/run/device.ts";

/** The modes of a pooling in words. */
const POOLED: Readonly<Record<Pooling["modes"][number], string>> = {
  cls: "the first token's state",
  mean: "mean of the tokens' states",
  max: "maximum of the tokens' states",
  mean_sqrt_len_tokens: "sum of the tokens' states, divided by √tokens",
  weightedmean: "mean of the tokens' states, weighted by position",
  lasttoken: "the last token's state",
};

/** A pooling in words. */
export const poolingText = ({ modes, normalize }: Pooling): string =>
  `${modes.map((mode) => POOLED[mode]).join(" + ")}${normalize ? ", normalized" : ""}`;

export const command: Command = {
  name: "embed",
  summary: "write a vector for each line of a text file",
  usage: "heed embed MODEL FILE -o VECTORS.npy [OPTIONS]",
  help: {
    output: "VECTORS.npy  the file to write: float32 [lines, C]",
    json: "print what was written as JSON",
    ...DEVICE_HELP,
  },
  notes: `${MODEL_HELP}
FILE has one text per line (UTF-8), - is standard input; empty lines are skipped. The pooling is that of the model's modules.json
(sentence-transformers); without one it is the mean of an encoder's states, or a decoder's last state. A vector that is not
finite, because a weight is NaN or infinite, is an error, and no file is written.`,
  examples: [
    "heed embed encoder sentences.txt -o vectors.npy",
    "heed embed ./all-MiniLM-L6-v2 sentences.txt -o vectors.npy",
  ],
  async run(values, positionals, io) {
    const [name, file] = modelAndText(
      positionals,
      "one file: heed embed encoder sentences.txt -o vectors.npy",
    );
    const output = outputOf(values, ".npy", "name the file to write: -o vectors.npy");
    await checkPlace(output);
    const lines =
      file === STDIN ? await stdinLines(io) : textLines(file, decodeText(file, await readBytes(file)));
    const { model, pooling } = await pickSentenceModel(name, io);
    const bar = startProgress(io, "embed");
    const rows: Float32Array[] = [];
    const long: number[] = [];
    let longest = 0;
    try {
      for (const [i, line] of lines.entries()) {
        const { leftOut, maxTokens } = sentenceCuts(model, pooling, line);
        longest = maxTokens;
        if (leftOut > 0) long.push(i + 1);
        rows.push(
          (await embedTextsAsync(model, [line], { pooling, signal: io.signal })).data as Float32Array,
        );
        bar.update((i + 1) / lines.length);
        await breathe(io.signal);
      }
    } finally {
      bar.end();
    }
    if (long.length > 0)
      io.stderr.write(
        `warning: ${model.name} reads at most ${longest} tokens of a text; ${long.length} of ${lines.length} texts are longer and were cut, the first is text ${long[0]}\n`,
      );
    const width = rows[0].length;
    const all = new Float32Array(rows.length * width);
    for (const [i, row] of rows.entries()) all.set(row, i * width);
    const shape = [rows.length, width];
    await save(output, writeNpy({ data: all, shape }));
    if (values.json)
      io.stdout.write(jsonText({ output, model: model.name, shape, dtype: "float32", pooling }));
    else io.stdout.write(`${output}: ${shapeText(shape)} float32, ${poolingText(pooling)}\n`);
    return EXIT.ok;
  },
};

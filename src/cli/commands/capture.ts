/**
 * `heed capture MODEL TEXT … -o RUN.safetensors`: the attention of a model on texts, as a bundle that every other command opens:
 * queries, keys, values and the log-sum-exp of every head. `heed capture --python` prints a recorder for PyTorch models instead.
 */
import type { BundleOptions } from "../../store/types.ts";
import { type Command, EXIT, UsageError, type Values } from "../support/command.ts";
import { ENGINE_HELP, ENGINE_OPTIONS } from "../support/engine.ts";
import { save } from "../support/interrupt.ts";
import { bundleOfTexts } from "../support/model-bundle.ts";
import { checkPlace } from "../support/output.ts";
import { MODEL_HELP, pickModel } from "../support/pick-model.ts";
import { RECORDER } from "../support/recorder.ts";
import { bytesText, jsonText } from "../support/terminal.ts";
import { indices, oneOf } from "../support/values.ts";

const DTYPES = ["float32", "float16", "bfloat16", "float64"] as const;

export const command: Command = {
  name: "capture",
  summary: "write a model's attention on texts as a file",
  usage: `heed capture MODEL TEXT ... -o RUN.safetensors [OPTIONS]
    heed capture --python > recorder.py`,
  options: {
    output: { type: "string", short: "o" },
    pair: { type: "string" },
    layers: { type: "string" },
    heads: { type: "string" },
    dtype: { type: "string" },
    "no-values": { type: "boolean" },
    python: { type: "boolean" },
    ...ENGINE_OPTIONS,
    json: { type: "boolean" },
  },
  help: {
    output: "RUN.safetensors  the file to write",
    pair: "TEXT  the second text of a pair, for models that read pairs",
    layers: "LIST  only these layers, such as 0,4-7",
    heads: "LIST  only these heads",
    dtype: `DTYPE  store queries, keys and values as ${DTYPES.join(", ")} (default: as computed)`,
    "no-values": "leave the value vectors out",
    python: "print a recorder for PyTorch models instead: a file of Python whose bundles every command opens",
    ...ENGINE_HELP,
    json: "print what was written as JSON",
  },
  notes: `${MODEL_HELP}
The file is a bundle (docs/bundles.md): one block for each text, named self, or text1, text2 … where there are several.`,
  examples: [
    'heed capture encoder "time flies like an arrow" -o flies.safetensors',
    'heed capture ./all-MiniLM-L6-v2 "the river bank" "the savings bank" -o bank.safetensors --dtype float16',
  ],
  async run(values, positionals, io) {
    const output = values.output as string | undefined;
    const pair = values.pair as string | undefined;
    const [name, ...texts] = positionals;
    if (values.python === true) {
      if (positionals.length > 0) throw new UsageError("--python takes no model and no text");
      io.stdout.write(RECORDER);
      return EXIT.ok;
    }
    if (name === undefined || texts.length === 0)
      throw new UsageError(
        'name a model and a text: heed capture encoder "time flies like an arrow" -o run.safetensors',
      );
    if (output === undefined) throw new UsageError("name the file to write: -o run.safetensors");
    if (!/\.safetensors$/i.test(output))
      throw new UsageError(`--output must end in .safetensors, got ${JSON.stringify(output)}`);
    if (pair !== undefined && texts.length !== 1)
      throw new UsageError(`--pair takes one first text, got ${texts.length}`);
    const options = bundleOptions(values);
    await checkPlace(output);
    const { model } = await pickModel(name, io);
    const seen = texts.map((text) => model.attention(text, pair));
    for (const { leftOut } of seen)
      if (leftOut > 0)
        io.stderr.write(
          `warning: ${model.name} reads at most ${model.maxTokens} tokens; ${leftOut} are left out\n`,
        );
    const bytes = await bundleOfTexts(model, seen, options);
    await save(output, bytes);
    const tokens = seen.map((one) => one.tokens.length);
    if (values.json)
      io.stdout.write(
        jsonText({
          output,
          bytes: bytes.length,
          model: model.name,
          layers: model.layers,
          heads: model.heads,
          tokens,
        }),
      );
    else
      io.stdout.write(
        `${output}: ${bytesText(bytes.length)}, ${model.layers} layers of ${model.heads} heads, ${tokens.join(" + ")} tokens\n`,
      );
    return EXIT.ok;
  },
};

/** What of the attention is written. */
function bundleOptions(values: Values): BundleOptions {
  const list = (name: string) => (values[name] === undefined ? undefined : indices(name, values[name]));
  const [layers, heads] = [list("layers"), list("heads")];
  return {
    ...(layers && { layers }),
    ...(heads && { heads }),
    ...(values.dtype !== undefined && { dtype: oneOf("dtype", values.dtype, DTYPES) }),
    ...(values["no-values"] === true && { values: false }),
  };
}

/** `heed explain`: how a call would run, printed before anything is computed. */
import { explain } from "../../attention.ts";
import { CALL_HELP, CALL_OPTIONAL, CALL_OPTIONS, optionsOf, readCall } from "../support/attention-options.ts";
import { flopsOf, problemOf } from "../support/chunked-run.ts";
import { type Command, EXIT } from "../support/command.ts";
import { ENGINE_HELP, ENGINE_OPTIONS } from "../support/engine.ts";
import {
  INPUT_HELP,
  INPUT_OPTIONS,
  readInputs,
  SHAPE_HELP,
  SHAPE_OPTIONS,
  shapedInputs,
} from "../support/inputs.ts";
import { jsonText, shapeText } from "../support/terminal.ts";

export const command: Command = {
  name: "explain",
  summary: "print how a call would run, without running it",
  usage: `heed explain --shape B,H,N,d [OPTIONS]
    heed explain FILE [OPTIONS]
    heed explain QUERY.npy KEY.npy VALUE.npy [OPTIONS]`,
  options: {
    ...SHAPE_OPTIONS,
    ...INPUT_OPTIONS,
    ...CALL_OPTIONS,
    ...ENGINE_OPTIONS,
    json: { type: "boolean" },
  },
  help: { ...SHAPE_HELP, ...INPUT_HELP, ...CALL_HELP, ...ENGINE_HELP, json: "the plan as a JSON object" },
  optional: CALL_OPTIONAL,
  examples: [
    "heed explain --shape 1,12,4096,64",
    "heed explain --shape 1,12,4096,64 --causal --window 256,0",
    "heed explain --query-shape 1,32,1,128 --key-shape 1,8,4096,128 --causal=lower-right",
    "heed explain qkv.npz --mask pad.npy --json",
  ],
  async run(values, positionals, io) {
    const inputs = shapedInputs(values, positionals) ?? (await readInputs(values, positionals));
    const { query, key, value, file } = inputs;
    const call = await readCall(values, file);
    await file?.close();
    const problem = problemOf("heed explain", query, key, value, call);
    const plan = explain(query, key, value, optionsOf(call, problem.shape));
    if (values.json) {
      const operand = ({ shape, dtype }: typeof query) => ({ shape, dtype });
      const three = { query: operand(query), key: operand(key), value: operand(value) };
      io.stdout.write(jsonText({ ...three, flops: flopsOf(problem), plan }));
      return EXIT.ok;
    }
    const lines = Object.entries({ query, key, value }).map(
      ([name, t]) => `${name.padEnd(8)}${shapeText(t.shape)} ${t.dtype}`,
    );
    io.stdout.write(`${lines.join("\n")}\n${plan}\n`);
    return EXIT.ok;
  },
};

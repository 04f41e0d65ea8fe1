/** `heed onnx expose IN.onnx -o OUT.onnx`: adds the operands of attention to the outputs of an ONNX model. */
import { join, resolve } from "node:path";
import { exposeAttention } from "../../models/index.ts";
import { type Command, EXIT, UsageError } from "../support/line/command.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace } from "../support/output/output.ts";
import { jsonText } from "../support/output/terminal.ts";

export const command: Command = {
  name: "onnx",
  summary: "make an ONNX model give its attention",
  usage: "heed onnx expose IN.onnx -o OUT.onnx [OPTIONS]",
  help: { output: "OUT.onnx  the file to write", json: "print what was found as JSON" },
  notes: `Finds attention in the graph (Attention, MultiHeadAttention, GroupQueryAttention, and MatMul, Softmax, MatMul with factors and masks between
them) and adds queries, keys, values and masks to the outputs. The file is copied in slices; weights in files beside it stay where they are,
so OUT.onnx belongs into the same folder. attentionOf(session, inputs) of heed/models runs it in onnxruntime.`,
  examples: [
    "heed onnx expose model.onnx -o exposed.onnx",
    "heed onnx expose onnx/model_fp16.onnx -o onnx/exposed.onnx --json",
  ],
  async run(values, positionals, io) {
    const [action, from, ...more] = positionals;
    const output = values.output as string | undefined;
    if (action !== "expose" || from === undefined || more.length > 0)
      throw new UsageError("name what to do and a model: heed onnx expose model.onnx -o exposed.onnx");
    if (output === undefined) throw new UsageError("name the file to write: -o exposed.onnx");
    if (resolve(output) === resolve(from)) throw new UsageError(`-o ${output} is the model itself`);
    await checkPlace(output, [from]);
    const model = await exposeAttention(from);
    try {
      await save(output, model.contents());
    } finally {
      await model.close();
    }
    const { layers, refused } = model;
    const kinds = [...new Set(layers.map(({ op }) => op))].join(", ");
    for (const { op, node, reason } of refused)
      io.stderr.write(`warning: ${op} ${node}: not exposed, because ${reason}\n`);
    if (values.json) io.stdout.write(jsonText({ output: join(output), layers, refused }));
    else io.stdout.write(`${output}: the attention of ${layers.length} layers (${kinds})\n`);
    return EXIT.ok;
  },
};

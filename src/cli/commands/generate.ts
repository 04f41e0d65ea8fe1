/** `heed generate MODEL PROMPT`: continues a text with a decoder, token by token, and prints it as it is generated. */
import { chatPrompt, generateText } from "../../models/index.ts";
import { MODEL_HELP, modelAndText, pickTextModel } from "../support/input/pick-model.ts";
import { expandPrompt } from "../support/input/stdin.ts";
import { breathe, type Command, EXIT, UsageError } from "../support/line/command.ts";
import { integer, optional } from "../support/line/values.ts";
import { printJson } from "../support/output/terminal.ts";
import { DEVICE_HELP } from "../support/run/device.ts";
import { SAMPLING_HELP, samplingOptions } from "../support/run/sampling-options.ts";

export const command: Command = {
  name: "generate",
  summary: "continue a text with a decoder",
  usage: "heed generate MODEL PROMPT [OPTIONS]",
  blank: ["stop"],
  help: {
    tokens: "N  maximum tokens to generate (default 100)",
    ...SAMPLING_HELP,
    stop: "TEXT  end before this text; may be given several times",
    chat: "PROMPT is a message to an instruct model: it is put into the model's chat template",
    system: "TEXT  with --chat: the system message before it",
    json: "print the text, the token ids and the time as a JSON object, at the end",
    ...DEVICE_HELP,
  },
  notes: `${MODEL_HELP}
PROMPT may be - for standard input.
--top-k, --top-p and --min-p need a --temperature above 0; with one of them it defaults to 1. The number of tokens per
second is printed on stderr.`,
  multiple: ["stop"],
  examples: [
    'heed generate decoder "The whale"',
    'heed generate decoder "My fellow citizens" --temperature 0.8 --top-p 0.95 --seed 7',
    'heed generate ./gpt2 "Once upon a time" --tokens 40 --stop "."',
    'heed generate ./SmolLM2-135M-Instruct "What is attention?" --chat',
  ],
  async run(values, positionals, io) {
    const [name, promptArgument] = modelAndText(positionals, 'one prompt: heed generate decoder "The whale"');
    const prompt = await expandPrompt(promptArgument, io);
    const options = {
      ...samplingOptions(values),
      maxTokens: optional(values, "tokens", integer, 0) ?? 100,
      stopTexts: (values.stop as string[] | undefined) ?? [],
    };
    if (options.stopTexts.includes("")) throw new UsageError("--stop needs a text that is not empty");
    const isChat = values.chat === true;
    const system = values.system as string | undefined;
    if (system !== undefined && !isChat) throw new UsageError("--system belongs to --chat");
    const model = await pickTextModel(name, io);
    const messages = [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      { role: "user", content: prompt },
    ];
    const request = isChat ? chatPrompt(model, messages) : prompt;
    const ids: number[] = [];
    let text = "";
    const start = performance.now();
    let first = 0;
    const onToken = (id: number) => {
      if (ids.length === 0) first = performance.now() - start;
      ids.push(id);
    };
    const write = (text: string) => values.json || io.stdout.write(text);
    let begun = false;
    try {
      for await (const piece of generateText(model, request, {
        ...options,
        onToken,
        addSpecialTokens: !isChat,
      })) {
        text += piece;
        write(begun || isChat ? piece : prompt + piece);
        begun = true;
        await breathe(io.signal);
      }
      if (!begun && !isChat) write(prompt);
      begun = true;
    } finally {
      if (begun) write("\n");
    }
    const seconds = (performance.now() - start) / 1e3;
    // The time to the first token is mostly that of the prompt.
    const rate = ids.length > 1 ? (ids.length - 1) / (seconds - first / 1e3) : undefined;
    const speed = { seconds, firstTokenMs: first, tokensPerSecond: rate ?? null };
    if (values.json) return printJson(io, { model: model.name, prompt, text, ids, ...speed });
    io.stderr.write(
      `${ids.length} ${ids.length === 1 ? "token" : "tokens"}, the first after ${first.toFixed(0)} ms${rate ? `, then ${rate.toPrecision(3)} tokens/s` : ""}\n`,
    );
    return EXIT.ok;
  },
};

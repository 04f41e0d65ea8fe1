/** `heed generate MODEL PROMPT`: continues a text with a decoder, token by token, and prints it as it is generated. */
import { chatPrompt, generateText } from "../../models/index.ts";
import { MODEL_HELP, pickTextModel } from "../support/input/pick-model.ts";
import { expandPrompt } from "../support/input/stdin.ts";
import { breathe, type Command, EXIT, UsageError } from "../support/line/command.ts";
import { integer, number } from "../support/line/values.ts";
import { jsonText } from "../support/output/terminal.ts";
import { ENGINE_HELP } from "../support/run/engine.ts";

export const command: Command = {
  name: "generate",
  summary: "continue a text with a decoder",
  usage: "heed generate MODEL PROMPT [OPTIONS]",
  blank: ["stop"],
  help: {
    tokens: "N  maximum tokens to generate (default 100)",
    temperature:
      "X  0 takes the most likely token each time (default); 1 samples from the model's distribution",
    "top-k": "N  sample among the N most likely tokens",
    "top-p": "X  sample among the most likely tokens whose probabilities add up to X",
    "min-p": "X  sample among tokens that are at least X times as likely as the most likely one",
    seed: "N  seed of the sampling (default 0): the same seed gives the same text",
    stop: "TEXT  end before this text; may be given several times",
    chat: "PROMPT is a message to an instruct model: it is put into the model's chat template",
    system: "TEXT  with --chat: the system message before it",
    json: "print the text, the token ids and the time as a JSON object, at the end",
    ...ENGINE_HELP,
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
    const [name, promptArgument, ...more] = positionals;
    if (name === undefined || promptArgument === undefined || more.length > 0)
      throw new UsageError('name a model and one prompt: heed generate decoder "The whale"');
    const prompt = await expandPrompt(promptArgument, io);
    const optional = <T>(option: string, read: (name: string, text: unknown) => T) =>
      values[option] === undefined ? undefined : read(option, values[option]);
    const share = (name: string, text: unknown) => {
      const value = number(name, text);
      if (!(value >= 0 && value <= 1) || (name === "top-p" && value === 0))
        throw new UsageError(
          `--${name} must be ${name === "top-p" ? "above 0, at most 1" : "from 0 to 1"}, got ${text}`,
        );
      return value;
    };
    const [topK, topP, minP] = [
      optional("top-k", (name, text) => integer(name, text, 1)),
      optional("top-p", share),
      optional("min-p", share),
    ];
    const draws = topK !== undefined || topP !== undefined || minP !== undefined;
    const temperature = optional("temperature", number) ?? (draws ? 1 : 0);
    if (temperature < 0) throw new UsageError(`--temperature must be ≥ 0, got ${temperature}`);
    if (draws && temperature === 0)
      throw new UsageError(
        "--temperature 0 takes the most likely token; --top-k, --top-p and --min-p need one above 0",
      );
    const options = {
      maxTokens: optional("tokens", (name, text) => integer(name, text, 0)) ?? 100,
      temperature,
      topK,
      topP,
      minP,
      seed: optional("seed", integer) ?? 0,
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
      for (const piece of generateText(model, request, { ...options, onToken, addSpecialTokens: !isChat })) {
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
    if (values.json)
      io.stdout.write(
        jsonText({
          model: model.name,
          prompt,
          text,
          ids,
          seconds,
          firstTokenMs: first,
          tokensPerSecond: rate ?? null,
        }),
      );
    else
      io.stderr.write(
        `${ids.length} ${ids.length === 1 ? "token" : "tokens"}, the first after ${first.toFixed(0)} ms${rate ? `, then ${rate.toPrecision(3)} tokens/s` : ""}\n`,
      );
    return EXIT.ok;
  },
};

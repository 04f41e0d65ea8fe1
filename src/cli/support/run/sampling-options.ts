/** The options of commands that write a text: how each token is chosen. */
import { UsageError } from "../line/command.ts";
import { integer, number, optional } from "../line/values.ts";

/** The help of these options. */
export const SAMPLING_HELP = {
  temperature:
    "X  0 takes the most likely token each time (default); 1 samples from the model's distribution",
  "top-k": "N  sample among the N most likely tokens",
  "top-p": "X  sample among the most likely tokens whose probabilities add up to X",
  "min-p": "X  sample among tokens that are at least X times as likely as the most likely one",
  seed: "N  seed of the sampling (default 0): the same seed gives the same text",
};

/** The checked options. */
export function samplingOptions(values: Readonly<Record<string, unknown>>) {
  const share = (name: string, text: unknown) => {
    const value = number(name, text);
    if (!(value >= 0 && value <= 1) || (name === "top-p" && value === 0))
      throw new UsageError(
        `--${name} must be ${name === "top-p" ? "above 0, at most 1" : "from 0 to 1"}, got ${text}`,
      );
    return value;
  };
  const topK = optional(values, "top-k", integer, 1);
  const topP = optional(values, "top-p", share);
  const minP = optional(values, "min-p", share);
  const draws = topK !== undefined || topP !== undefined || minP !== undefined;
  const temperature = optional(values, "temperature", number) ?? (draws ? 1 : 0);
  if (temperature < 0) throw new UsageError(`--temperature must be ≥ 0, got ${temperature}`);
  if (draws && temperature === 0)
    throw new UsageError(
      "--temperature 0 takes the most likely token; --top-k, --top-p and --min-p need one above 0",
    );
  const seed = optional(values, "seed", integer);
  if (seed !== undefined && temperature === 0 && values.temperature === undefined)
    throw new UsageError(
      "--seed draws nothing without a temperature; add --temperature 1, or leave out --seed",
    );
  return { temperature, topK, topP, minP, seed: seed ?? 0 };
}

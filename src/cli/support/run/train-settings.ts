/**
 * The settings of `heed train`: their defaults, how options of the command line become them, and how a run that resumes
 * must keep those it began with.
 */
import { FormatError, OptionError } from "../../../core/errors.ts";
import { SHORT } from "../../../train/corpus.ts";
import type { LanguageKind } from "../../../train/language.ts";
import { UsageError, type Values } from "../line/command.ts";
import { integer, number, oneOf } from "../line/values.ts";

/** All that decides the bits of a run, beside the texts. */
export interface Settings {
  readonly kind: LanguageKind;
  readonly layers: number;
  readonly heads: number;
  readonly width: number;
  readonly inner: number;
  readonly vocab: number;
  readonly context: number;
  readonly batch: number;
  readonly accumulate: number;
  readonly steps: number;
  readonly lr: number;
  readonly warmup: number;
  readonly decay: "constant" | "linear" | "cosine";
  readonly floor: number;
  readonly weightDecay: number;
  readonly clip: number;
  readonly dropout: number;
  readonly heldOut: number;
  readonly repeats: number;
  readonly short: number;
  readonly masked: number;
  readonly seed: number;
  readonly cased: boolean;
  readonly lines: boolean;
  readonly wholeWords: number;
}

/** An option: its name on the command line, what it says in `--help`, and its value by default, or as it depends on others. */
interface Row {
  readonly option: string;
  readonly help: string;
  readonly read: (name: string, text: unknown) => Settings[keyof Settings];
  readonly otherwise: (before: Partial<Settings>) => Settings[keyof Settings];
}

const whole =
  (least: number, most = 1e9) =>
  (name: string, text: unknown) =>
    integer(name, text, least, most);
const share = (most: number) => (name: string, text: unknown) => {
  const value = number(name, text);
  if (!(value >= 0 && value <= most))
    throw new UsageError(`--${name} must be from 0 to ${most}, got ${text}`);
  return value;
};
const positive = (name: string, text: unknown) => {
  const value = number(name, text);
  if (!(value > 0)) throw new UsageError(`--${name} must be a number > 0, got ${text}`);
  return value;
};

/** In this order, for a default may look at those before. */
const ROWS: { readonly [K in keyof Settings]: Row } = {
  kind: {
    option: "kind",
    help: "KIND  decoder (next token, GPT-2's architecture; default) or encoder (masked tokens, BERT's)",
    read: (name, text) => oneOf<string>(name, text, ["decoder", "encoder"]) as LanguageKind,
    otherwise: () => "decoder",
  },
  layers: { option: "layers", help: "N  layers (default 4)", read: whole(1, 1024), otherwise: () => 4 },
  heads: {
    option: "heads",
    help: "N  heads of a layer (default 4)",
    read: whole(1, 1024),
    otherwise: () => 4,
  },
  width: {
    option: "width",
    help: "N  numbers of a token's vector; the heads divide it (default 128)",
    read: whole(1, 2 ** 17),
    otherwise: () => 128,
  },
  inner: {
    option: "inner",
    help: "N  numbers of the hidden layer between attentions (default 4 · width)",
    read: whole(1, 2 ** 20),
    otherwise: ({ width = 0 }) => 4 * width,
  },
  vocab: {
    option: "vocab",
    help: "N  tokens of the vocabulary that is learned (default 2048)",
    read: whole(16, 2 ** 20),
    otherwise: () => 2048,
  },
  context: {
    option: "context",
    help: "N  context length in tokens (default 128)",
    read: whole(4, 2 ** 20),
    otherwise: () => 128,
  },
  batch: {
    option: "batch",
    help: "N  sequences of a step (default 16)",
    read: whole(1),
    otherwise: () => 16,
  },
  accumulate: {
    option: "accumulate",
    help: "N  pieces a step is computed in, to save memory; it divides the batch (default 1)",
    read: whole(1),
    otherwise: () => 1,
  },
  steps: { option: "steps", help: "N  steps (default 1000)", read: whole(1), otherwise: () => 1000 },
  lr: {
    option: "lr",
    help: "X  highest learning rate (default 0.001)",
    read: positive,
    otherwise: () => 1e-3,
  },
  warmup: {
    option: "warmup",
    help: "N  steps in which the rate rises (default a twentieth of the steps, at most 500)",
    read: whole(0),
    otherwise: ({ steps = 0 }) => Math.min(500, Math.floor(steps / 20)),
  },
  decay: {
    option: "decay",
    help: "HOW  what the rate does then: cosine (default), linear or constant",
    read: (name, text) => oneOf<string>(name, text, ["cosine", "linear", "constant"]) as Settings["decay"],
    otherwise: () => "cosine",
  },
  floor: {
    option: "floor",
    help: "X  where a decay ends, as a share of --lr (default 0.1)",
    read: share(1),
    otherwise: () => 0.1,
  },
  weightDecay: {
    option: "weight-decay",
    help: "X  of matrices and tables, not of biases and norms (default 0.1)",
    read: share(1e6),
    otherwise: () => 0.1,
  },
  clip: {
    option: "clip",
    help: "X  the norm that gradients are scaled down to (default 1)",
    read: positive,
    otherwise: () => 1,
  },
  dropout: { option: "dropout", help: "X  share dropped (default 0)", read: share(0.99), otherwise: () => 0 },
  heldOut: {
    option: "held-out",
    help: "X  share of the text that is held out (default 0.1)",
    read: share(0.5),
    otherwise: () => 0.1,
  },
  repeats: {
    option: "repeats",
    help: "X  share of sequences that say a span again and again, which teaches copying (default 0)",
    read: share(1),
    otherwise: () => 0,
  },
  short: {
    option: "short",
    help: "N  steps at the start on sequences of 16 tokens, as many tokens a step (default 0, an encoder's a fifth)",
    read: whole(0),
    otherwise: ({ kind, context = 0, steps = 0 }) =>
      kind === "encoder" && context > SHORT ? Math.floor(steps / 5) : 0,
  },
  masked: {
    option: "masked",
    help: "X  share of an encoder's training tokens that it has to predict (default 0.15, as held out)",
    read: share(0.9),
    otherwise: () => 0.15,
  },
  seed: {
    option: "seed",
    help: "N  of weights, order, masks and dropout (default 0)",
    read: (name, text) => integer(name, text),
    otherwise: () => 0,
  },
  cased: {
    option: "cased",
    help: "an encoder's tokens keep capitals and accents",
    read: (_, value) => value === true,
    otherwise: () => false,
  },
  lines: {
    option: "lines",
    help: "the texts have one sentence a line, an empty line after each paragraph: an encoder is trained on whole sentences",
    read: (_, value) => value === true,
    otherwise: () => false,
  },
  wholeWords: {
    option: "whole-words",
    help: "N  most frequent words that an encoder's vocabulary keeps whole (default 0)",
    read: whole(0, 2 ** 20),
    otherwise: () => 0,
  },
};

/** The options that are settings, for `node:util` parseArgs. */
export const SETTING_OPTIONS = Object.fromEntries(
  Object.entries(ROWS).map(([key, { option }]) => [
    option,
    { type: key === "cased" || key === "lines" ? "boolean" : "string" } as const,
  ]),
);

/** Their help. */
export const SETTING_HELP = Object.fromEntries(Object.values(ROWS).map(({ option, help }) => [option, help]));

/** Settings from a command line. Throws UsageError. */
export function readSettings(values: Values): Settings {
  const settings: Record<string, Settings[keyof Settings]> = {};
  for (const [key, { option, read, otherwise }] of Object.entries(ROWS))
    settings[key] = values[option] === undefined ? otherwise(settings) : read(option, values[option]);
  const done = settings as unknown as Settings;
  if (done.width % done.heads !== 0)
    throw new UsageError(`--heads ${done.heads} does not divide --width ${done.width}`);
  if (done.batch % done.accumulate !== 0)
    throw new UsageError(`--accumulate ${done.accumulate} does not divide --batch ${done.batch}`);
  if (done.decay !== "constant" && done.warmup >= done.steps)
    throw new UsageError(`--warmup ${done.warmup} leaves nothing of ${done.steps} steps for the decay`);
  if (done.short > 0 && done.context <= SHORT)
    throw new UsageError(`--short needs a --context above ${SHORT}, got ${done.context}`);
  return done;
}

/** What a checkpoint of `heed train` keeps beside the numbers. */
export interface Kept {
  readonly settings: Settings;
  /** The texts as token ids: `Corpus.fingerprint`, and how many. */
  readonly data: string;
  readonly tokens: number;
  /** tokenizer.json. */
  readonly tokenizer: string;
}

/** What a checkpoint kept. Throws FormatError where it is not one of `heed train`. */
export function readKept(path: string, text: string): Kept {
  let kept: Partial<Kept> | null = null;
  try {
    kept = JSON.parse(text);
  } catch {
    // Reported below, as for JSON of another kind.
  }
  const settings = kept?.settings as Record<string, unknown> | undefined;
  const whole =
    typeof kept?.data === "string" &&
    typeof kept.tokenizer === "string" &&
    typeof kept.tokens === "number" &&
    Object.entries(ROWS).every(([key, { otherwise }]) => typeof settings?.[key] === typeof otherwise({}));
  if (!whole) throw new FormatError("checkpoint", `${path} is no checkpoint of heed train`, { path });
  return kept as Kept;
}

/**
 * The settings of a run that goes on: those it began with, but for `--steps`, which may be given anew: the learning rate
 * then follows the schedule of the new number. Throws an OptionError that names the first other option that is not what the run
 * began with.
 */
export function resumedSettings(values: Values, kept: Settings): Settings {
  for (const [key, { option, read }] of Object.entries(ROWS)) {
    if (values[option] === undefined || key === "steps") continue;
    const [asked, was] = [read(option, values[option]), kept[key as keyof Settings]];
    if (asked !== was)
      throw new OptionError(
        "resume",
        `--${option} is ${asked}, the run in the folder began with ${was}; leave it out to go on`,
        { option, got: asked, expected: was },
      );
  }
  return values.steps === undefined
    ? kept
    : { ...kept, steps: ROWS.steps.read("steps", values.steps) as number };
}

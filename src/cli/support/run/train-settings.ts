/**
 * The settings of `heed train`: their defaults, their options on the command line, and the check that a resumed run keeps its
 * settings.
 */
import { FormatError, OptionError } from "../../../core/errors.ts";
import { SHORT } from "../../../train/data/corpus.ts";
import type { LanguageKind } from "../../../train/language.ts";
import { UsageError, type Values } from "../line/command.ts";
import { integer, number, oneOf } from "../line/values.ts";

/** Everything that determines the bits of a run, in addition to the texts. */
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

/** A setting: its option, its help, its parser, and its default, which may depend on earlier settings. */
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

/** In this order, since a default may depend on earlier settings. */
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
    help: "N  heads per layer (default 4)",
    read: whole(1, 1024),
    otherwise: () => 4,
  },
  width: {
    option: "width",
    help: "N  size of the hidden states, divisible by the heads (default 128)",
    read: whole(1, 2 ** 17),
    otherwise: () => 128,
  },
  inner: {
    option: "inner",
    help: "N  size of the feed-forward layers (default 4 · width)",
    read: whole(1, 2 ** 20),
    otherwise: ({ width = 0 }) => 4 * width,
  },
  vocab: {
    option: "vocab",
    help: "N  size of the vocabulary to learn (default 2048)",
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
    help: "N  sequences per step (default 16)",
    read: whole(1),
    otherwise: () => 16,
  },
  accumulate: {
    option: "accumulate",
    help: "N  gradient accumulation: micro-batches per step, a divisor of the batch, to save memory (default 1)",
    read: whole(1),
    otherwise: () => 1,
  },
  steps: { option: "steps", help: "N  steps (default 1000)", read: whole(1), otherwise: () => 1000 },
  lr: {
    option: "lr",
    help: "X  maximum learning rate (default 0.001)",
    read: positive,
    otherwise: () => 1e-3,
  },
  warmup: {
    option: "warmup",
    help: "N  warm-up steps of the learning rate (default a twentieth of the steps, at most 500)",
    read: whole(0),
    otherwise: ({ steps = 0 }) => Math.min(500, Math.floor(steps / 20)),
  },
  decay: {
    option: "decay",
    help: "SCHEDULE  cosine (default), linear or constant learning rate after the warm-up",
    read: (name, text) => oneOf<string>(name, text, ["cosine", "linear", "constant"]) as Settings["decay"],
    otherwise: () => "cosine",
  },
  floor: {
    option: "floor",
    help: "X  final learning rate, as a share of --lr (default 0.1)",
    read: share(1),
    otherwise: () => 0.1,
  },
  weightDecay: {
    option: "weight-decay",
    help: "X  weight decay of matrices and tables, not of biases and norms (default 0.1)",
    read: share(1e6),
    otherwise: () => 0.1,
  },
  clip: {
    option: "clip",
    help: "X  maximum norm of the gradients (default 1)",
    read: positive,
    otherwise: () => 1,
  },
  dropout: {
    option: "dropout",
    help: "X  dropout probability (default 0)",
    read: share(0.99),
    otherwise: () => 0,
  },
  heldOut: {
    option: "held-out",
    help: "X  share of the text to hold out (default 0.1)",
    read: share(0.5),
    otherwise: () => 0.1,
  },
  repeats: {
    option: "repeats",
    help: "X  share of sequences that repeat a span, which teaches copying (default 0)",
    read: share(1),
    otherwise: () => 0,
  },
  short: {
    option: "short",
    help: "N  first steps with sequences of 16 tokens, and as many tokens per step (default 0; encoder: a fifth of the steps)",
    read: whole(0),
    otherwise: ({ kind, context = 0, steps = 0 }) =>
      kind === "encoder" && context > SHORT ? Math.floor(steps / 5) : 0,
  },
  masked: {
    option: "masked",
    help: "X  share of masked tokens in an encoder's training (default 0.15, as in the held-out text)",
    read: share(0.9),
    otherwise: () => 0.15,
  },
  seed: {
    option: "seed",
    help: "N  seed of weights, order, masks and dropout (default 0)",
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
    help: "the texts have one sentence per line and an empty line after each paragraph: trains an encoder on whole sentences",
    read: (_, value) => value === true,
    otherwise: () => false,
  },
  wholeWords: {
    option: "whole-words",
    help: "N  number of most frequent words that an encoder's vocabulary keeps whole (default 0)",
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

/** Settings from a command line. Throws a UsageError. */
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

/** The configuration in a checkpoint of `heed train`. */
export interface Kept {
  readonly settings: Settings;
  /** `Corpus.fingerprint` of the token ids of the texts. */
  readonly data: string;
  /** Number of tokens. */
  readonly tokens: number;
  /** tokenizer.json. */
  readonly tokenizer: string;
}

/** Reads the configuration of a checkpoint. Throws a FormatError for a checkpoint that is not of `heed train`. */
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
  if (!whole) throw new FormatError("checkpoint", `${path} is not a checkpoint of heed train`, { path });
  return kept as Kept;
}

/**
 * The settings of a resumed run: those of the checkpoint, except for `--steps`, which may change; the learning rate then follows
 * the schedule of the new number. Throws an OptionError that names the first other option that differs from the checkpoint.
 */
export function resumedSettings(values: Values, kept: Settings): Settings {
  for (const [key, { option, read }] of Object.entries(ROWS)) {
    if (values[option] === undefined || key === "steps") continue;
    const [asked, was] = [read(option, values[option]), kept[key as keyof Settings]];
    if (asked !== was)
      throw new OptionError(
        "resume",
        `--${option} is ${asked}, but the run in the folder has ${was}; omit it to resume`,
        { option, got: asked, expected: was },
      );
  }
  return values.steps === undefined
    ? kept
    : { ...kept, steps: ROWS.steps.read("steps", values.steps) as number };
}

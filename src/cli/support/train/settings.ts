/**
 * The settings of `heed train`: their defaults, their options on the command line, and the check that a resumed run keeps its
 * settings.
 */
import { STORED_DTYPES } from "../../../core/dtype.ts";
import { FormatError, OptionError } from "../../../core/errors.ts";
import { SHORT } from "../../../train/data/corpus.ts";
import { UsageError, type Values } from "../line/command.ts";
import { integer, number, oneOf } from "../line/values.ts";

type Setting = string | number | boolean;

/** A setting: its help, its parser, and its default, which may depend on earlier settings. Its option is its name with hyphens. */
interface Row {
  readonly help: string;
  readonly read: (name: string, text: unknown) => Setting;
  readonly otherwise: Setting | ((before: Before) => Setting);
  /** `--resume` may change it. */
  readonly mayChange?: boolean;
  /** Checkpoints of heed 0.1.0 do not have it. */
  readonly isNew?: boolean;
}

/** The settings on which defaults of later ones depend. */
type Before = { readonly [K in "from" | "kind"]?: string } & {
  readonly [K in "width" | "context" | "steps"]?: number;
};

const count =
  (least: number, maximum = 1e9) =>
  (name: string, text: unknown) =>
    integer(name, text, least, maximum);
const share = (maximum: number) => (name: string, text: unknown) => {
  const value = number(name, text);
  if (!(value >= 0 && value <= maximum))
    throw new UsageError(`--${name} must be from 0 to ${maximum}, got ${text}`);
  return value;
};
const positive = (name: string, text: unknown) => {
  const value = number(name, text);
  if (!(value > 0)) throw new UsageError(`--${name} must be a number > 0, got ${text}`);
  return value;
};

/** In this order, since a default may depend on earlier settings. */
const ROWS = {
  from: {
    help: "MODEL  fine-tune this model: start with its weights, tokenizer and sizes (a folder, encoder, decoder or ORG/NAME)",
    read: (_, text) => String(text),
    otherwise: "",
    isNew: true,
  },
  kind: {
    help: "KIND  decoder (next token, GPT-2's architecture; default) or encoder (masked tokens, BERT's)",
    read: (name, text) => oneOf(name, text, ["decoder", "encoder"] as const),
    otherwise: "decoder",
  },
  layers: { help: "N  layers (default 4)", read: count(1, 1024), otherwise: 4 },
  heads: { help: "N  heads per layer (default 4)", read: count(1, 1024), otherwise: 4 },
  width: {
    help: "N  size of the hidden states, divisible by the heads (default 128)",
    read: count(1, 2 ** 17),
    otherwise: 128,
  },
  inner: {
    help: "N  size of the feed-forward layers (default 4 · width)",
    read: count(1, 2 ** 20),
    otherwise: ({ width = 0 }) => 4 * width,
  },
  vocab: {
    help: "N  size of the vocabulary to learn (default 2048)",
    read: count(16, 2 ** 20),
    otherwise: 2048,
  },
  context: { help: "N  context length in tokens (default 128)", read: count(4, 2 ** 20), otherwise: 128 },
  batch: { help: "N  sequences per step (default 16)", read: count(1), otherwise: 16 },
  accumulate: {
    help: "N  gradient accumulation: micro-batches per step, a divisor of the batch, to save memory (default 1)",
    read: count(1),
    otherwise: 1,
  },
  sequenceRanks: {
    help: "N  ranks that share each sequence, a divisor of the ranks of mpirun: long contexts (default 1)",
    read: count(1, 2 ** 16),
    otherwise: 1,
    isNew: true,
  },
  shardOptimizer: {
    help: "divide the optimizer's state and the checkpoint among the ranks of mpirun: less memory, the same model",
    read: (_, value) => value === true,
    otherwise: false,
    mayChange: true,
    isNew: true,
  },
  steps: { help: "N  steps (default 1000)", read: count(1), otherwise: 1000, mayChange: true },
  lr: { help: "X  maximum learning rate (default 0.001)", read: positive, otherwise: 1e-3 },
  warmup: {
    help: "N  warm-up steps of the learning rate (default a twentieth of the steps, at most 500)",
    read: count(0),
    otherwise: ({ steps = 0 }) => Math.min(500, Math.floor(steps / 20)),
  },
  decay: {
    help: "SCHEDULE  cosine (default), linear or constant learning rate after the warm-up",
    read: (name, text) => oneOf(name, text, ["cosine", "linear", "constant"] as const),
    otherwise: "cosine",
  },
  floor: { help: "X  final learning rate, as a share of --lr (default 0.1)", read: share(1), otherwise: 0.1 },
  weightDecay: {
    help: "X  weight decay of matrices and tables, not of biases and norms (default 0.1)",
    read: share(1e6),
    otherwise: 0.1,
  },
  clip: { help: "X  maximum norm of the gradients (default 1)", read: positive, otherwise: 1 },
  dropout: { help: "X  dropout probability (default 0)", read: share(0.99), otherwise: 0 },
  heldOut: { help: "X  share of the text to hold out (default 0.1)", read: share(0.5), otherwise: 0.1 },
  repeats: {
    help: "X  share of sequences that repeat a span, which teaches copying (default 0)",
    read: share(1),
    otherwise: 0,
  },
  short: {
    help: "N  first steps with sequences of 16 tokens, and as many tokens per step (default 0; new encoder: a fifth of the steps)",
    read: count(0),
    otherwise: ({ from, kind, context = 0, steps = 0 }) =>
      !from && kind === "encoder" && context > SHORT ? Math.floor(steps / 5) : 0,
  },
  masked: {
    help: "X  share of masked tokens in an encoder's training (default 0.15, as in the held-out text)",
    read: share(0.9),
    otherwise: 0.15,
  },
  seed: {
    help: "N  seed of weights, order, masks and dropout (default 0)",
    read: (name, text) => integer(name, text),
    otherwise: 0,
  },
  cased: {
    help: "an encoder's tokens keep capitals and accents",
    read: (_, value) => value === true,
    otherwise: false,
  },
  lines: {
    help: "the texts have one sentence per line and an empty line after each paragraph: trains an encoder on whole sentences",
    read: (_, value) => value === true,
    otherwise: false,
  },
  wholeWords: {
    help: "N  number of most frequent words that an encoder's vocabulary keeps whole (default 0)",
    read: count(0, 2 ** 20),
    otherwise: 0,
  },
  checkpointEvery: {
    help: "N  steps between two checkpoints (default 100)",
    read: count(1),
    otherwise: 100,
    mayChange: true,
    isNew: true,
  },
  evaluateEvery: {
    help: "N  steps between two held-out losses (default a twentieth of the steps, or as many as cost a tenth of the time)",
    read: count(1),
    otherwise: 0,
    mayChange: true,
    isNew: true,
  },
  dtype: {
    help: "DTYPE  float16 (default), bfloat16 or float32 weights in the file",
    read: (name, text) => oneOf(name, text, STORED_DTYPES),
    otherwise: "float16",
    mayChange: true,
    isNew: true,
  },
} satisfies Readonly<Record<string, Row>>;

/**
 * Everything that determines the files of a run, in addition to the texts. A resumed run has the settings of its checkpoint. `from` is
 * "" for a run with new weights; `evaluateEvery` is 0 where it is chosen by cost.
 */
export type TrainSettings = { readonly [K in keyof typeof ROWS]: ReturnType<(typeof ROWS)[K]["read"]> };

/** The rows with their names and options. */
const SETTINGS = Object.entries<Row>(ROWS).map(([key, row]) => ({
  ...row,
  key: key as keyof TrainSettings,
  option: key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
}));

/** The default of a setting. */
const presetOf = ({ otherwise }: Row, before: Before): Setting =>
  typeof otherwise === "function" ? otherwise(before) : otherwise;

/** The options that are settings, with their help. */
export const SETTING_HELP = Object.fromEntries(SETTINGS.map(({ option, help }) => [option, help]));

/** TrainSettings from a command line. Throws a UsageError. */
export function readSettings(values: Values): TrainSettings {
  const fields: Record<string, Setting> = {};
  for (const row of SETTINGS)
    fields[row.key] =
      values[row.option] === undefined ? presetOf(row, fields) : row.read(row.option, values[row.option]);
  const settings = fields as unknown as TrainSettings;
  if (settings.width % settings.heads !== 0)
    throw new UsageError(`--heads ${settings.heads} does not divide --width ${settings.width}`);
  if (settings.batch % settings.accumulate !== 0)
    throw new UsageError(`--accumulate ${settings.accumulate} does not divide --batch ${settings.batch}`);
  if (settings.decay !== "constant" && settings.warmup >= settings.steps)
    throw new UsageError(
      `--warmup ${settings.warmup} leaves nothing of ${settings.steps} steps for the decay`,
    );
  if (settings.short > 0 && settings.context <= SHORT)
    throw new UsageError(`--short needs a --context above ${SHORT}, got ${settings.context}`);
  return settings;
}

/** The configuration in a checkpoint of `heed train`. */
export interface RunConfig {
  readonly settings: TrainSettings;
  /** `Corpus.fingerprint` of the token ids of the texts. */
  readonly data: string;
  /** Number of tokens. */
  readonly tokens: number;
  /** tokenizer.json. */
  readonly tokenizer: string;
}

/** Reads the configuration of a checkpoint. Throws a FormatError for a checkpoint that is not of `heed train`. */
export function readConfig(path: string, text: string): RunConfig {
  let config: Partial<RunConfig> | null = null;
  try {
    config = JSON.parse(text);
  } catch {
    // Reported below, as for JSON of another kind.
  }
  const settings: Record<string, unknown> = { ...config?.settings };
  for (const row of SETTINGS)
    if (row.isNew && settings[row.key] === undefined) settings[row.key] = presetOf(row, {});
  if (
    typeof config?.data === "string" &&
    typeof config.tokenizer === "string" &&
    typeof config.tokens === "number" &&
    SETTINGS.every((row) => typeof settings[row.key] === typeof presetOf(row, {}))
  )
    return { ...(config as RunConfig), settings: settings as unknown as TrainSettings };
  throw new FormatError("checkpoint", `${path} is not a checkpoint of heed train`, { path });
}

/**
 * The settings of a resumed run: those of the checkpoint, except for those that may change, such as `--steps`; the learning rate
 * then follows the schedule of the new number. Throws an OptionError that names the first other option that differs from the
 * checkpoint.
 */
export function resumedSettings(values: Values, settings: TrainSettings): TrainSettings {
  const changes: Record<string, Setting> = {};
  for (const { key, option, read, mayChange } of SETTINGS) {
    if (values[option] === undefined) continue;
    const [value, expected] = [read(option, values[option]), settings[key]];
    if (mayChange) changes[key] = value;
    else if (value !== expected)
      throw new OptionError(
        "resume",
        `--${option} is ${value}, but the run in the folder has ${expected}; omit it to resume`,
        { option, got: value, expected },
      );
  }
  return { ...settings, ...changes };
}

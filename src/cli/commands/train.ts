/**
 * `heed train TEXT …`: trains a small language model on text files: learns a tokenizer, counts n-gram baselines, trains with
 * checkpoints, and writes a folder in Hugging Face's layout. This file reads the options and reports progress; train/ does the
 * work.
 */

import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Communicator } from "../../cluster/index.ts";
import { OptionError } from "../../core/errors.ts";
import { lockFolder } from "../../io/filesystem/lock.ts";
import {
  modelToFiles,
  readTokenizer,
  type Tokenizer,
  trainTokenizer,
  writeTokenizer,
} from "../../models/index.ts";
import { Corpus } from "../../train/data/corpus.ts";
import {
  languageModel,
  readCheckpoint,
  renderLoss,
  type StepReport,
  schedule,
  specialIds,
  train,
} from "../../train/index.ts";
import { STDIN, STDIN_NAME, stdinText } from "../support/input/stdin.ts";
import { naming } from "../support/input/tensors.ts";
import { decodeText, readBytes } from "../support/input/text-file.ts";
import { breathe, type Command, EXIT, type Io, UsageError, type Values } from "../support/line/command.ts";
import { integer, oneOf } from "../support/line/values.ts";
import { answers, save } from "../support/output/interrupt.ts";
import { checkPlace } from "../support/output/output.ts";
import { type Progress, startProgress } from "../support/output/progress.ts";
import { bytesText, jsonText, secondsText } from "../support/output/terminal.ts";
import { fromLead, microBatchesOf, together, withRanks } from "../support/ranks/together.ts";
import { ENGINE_HELP, ENGINE_OPTIONS } from "../support/run/engine.ts";
import {
  type Kept,
  readKept,
  readSettings,
  resumedSettings,
  SETTING_HELP,
  SETTING_OPTIONS,
  type Settings,
} from "../support/run/train-settings.ts";

const CHECKPOINT = "checkpoint.safetensors";

export const command: Command = {
  name: "train",
  summary: "train a small language model on text files",
  usage: "heed train TEXT ... -o DIR [OPTIONS]\nheed train TEXT ... -o DIR --resume",
  options: {
    output: { type: "string", short: "o" },
    ...SETTING_OPTIONS,
    tokenizer: { type: "string" },
    words: { type: "string" },
    "checkpoint-every": { type: "string" },
    "evaluate-every": { type: "string" },
    dtype: { type: "string" },
    resume: { type: "boolean" },
    json: { type: "boolean" },
    ...ENGINE_OPTIONS,
  },
  help: {
    output: "DIR  the model's folder, new or empty",
    ...SETTING_HELP,
    words: "FILE  words that an encoder's vocabulary keeps whole regardless of their count, one per line",
    tokenizer: "FILE  a tokenizer.json to use instead of learning one",
    "checkpoint-every": "N  steps between two checkpoints (default 100)",
    "evaluate-every":
      "N  steps between two held-out losses (default a twentieth of the steps, or as many as cost a tenth of the time)",
    dtype: "DTYPE  float16 (default), bfloat16 or float32 weights in the file",
    resume: "resume from the checkpoint in DIR, with the same texts and settings; --steps may differ",
    json: "the result as a JSON object",
    ...ENGINE_HELP,
  },
  notes: `TEXT is a UTF-8 file, or - for standard input. DIR gets config.json, model.safetensors, tokenizer.json and tokenizer_config.json, as Hugging Face's library has them,
training.json with the losses, and checkpoint.safetensors, which only --resume needs. Losses are in nats per token; the baselines
are n-gram models (Kneser–Ney) of the same training tokens, evaluated on the same held-out ones. Ctrl-C, SIGTERM and SIGHUP save
a checkpoint. Only one process at a time can train in a folder.`,
  examples: [
    "heed train moby-dick.txt -o whale",
    "heed train *.txt -o model --kind encoder --steps 4000 --vocab 4096 --dtype float16",
    "heed train moby-dick.txt -o whale --resume",
    "mpirun -n 4 heed train *.txt -o model --batch 64",
  ],
  run,
};

async function run(values: Values, positionals: readonly string[], io: Io): Promise<number> {
  const folder = values.output as string | undefined;
  if (positionals.length === 0) throw new UsageError("expected one or more text files");
  if (folder === undefined) throw new UsageError("-o DIR says where the model goes");
  const dtype = oneOf("dtype", values.dtype ?? "float16", ["float16", "bfloat16", "float32"] as const);
  const every = integer("checkpoint-every", values["checkpoint-every"] ?? "100", 1);
  const evaluate =
    values["evaluate-every"] === undefined
      ? undefined
      : integer("evaluate-every", values["evaluate-every"], 1);
  readSettings(values); // a wrong option is an error before anything starts
  return withRanks(io, async (own, comm) => {
    const asked = readSettings(comm ? inMicroBatches(values, comm.size) : values);
    const lock = { release: async () => {} };
    try {
      const line = { values, positionals, io: own, comm, dtype, every, evaluate, asked };
      return await trainIn(folder, line, async () => {
        lock.release = await lockFolder(folder, "heed train");
      });
    } finally {
      await lock.release();
    }
  });
}

/** The options, with a default of --accumulate for this many ranks. */
function inMicroBatches(values: Values, ranks: number): Values {
  if (values.accumulate !== undefined) return values;
  const { batch } = readSettings(values);
  const count = microBatchesOf(batch, ranks);
  if (count === undefined)
    throw new UsageError(`--batch ${batch} gives ${ranks} ranks less than a sequence each`);
  return { ...values, accumulate: String(count) };
}

/** A parsed command line. */
interface Line {
  readonly values: Values;
  readonly positionals: readonly string[];
  readonly io: Io;
  readonly comm: Communicator | undefined;
  readonly dtype: "float16" | "bfloat16" | "float32";
  readonly every: number;
  readonly evaluate: number | undefined;
  readonly asked: Settings;
}

async function trainIn(folder: string, line: Line, lock: () => Promise<void>): Promise<number> {
  const { values, positionals, io, comm, dtype, every, evaluate, asked } = line;
  // Only rank 0 accesses the folder; it sends the checkpoint to the others.
  const isLead = comm === undefined || comm.rank === 0;
  const given = await together(comm, "heed train", isLead ? () => beginIn(folder, values, lock) : undefined);
  const bytes = await fromLead(comm, given ?? new Uint8Array(0));
  const found = bytes.length > 0 ? readCheckpoint(bytes) : undefined;
  const kept = found && readKept(join(folder, CHECKPOINT), found.config);
  const settings = kept ? resumedSettings(values, kept.settings) : asked;
  const texts = (await together(comm, "heed train", () => readTexts(positionals, io, comm))) ?? [];
  const say = (line: string) => values.json || io.stdout.write(`${line}\n`);

  const start = performance.now();
  const tokenizer = await tokenizerOf(texts, settings, kept, values, io);
  const { kind, context, batch, accumulate, heldOut, repeats, short, lines, masked, seed } = settings;
  const data = { kind, context, batch, accumulate, heldOut, repeats, short, lines, masked, seed };
  const corpus = new Corpus(texts, tokenizer, data);
  if (kept && corpus.fingerprint !== kept.data)
    throw new OptionError(
      "resume",
      `the texts are not those of the run in ${folder}: ${corpus.ids.length} tokens, the run has ${kept.tokens}`,
      { tokens: corpus.ids.length, expected: kept.tokens },
    );
  const { layers, heads, width, inner, dropout, lr, decay, warmup, steps, floor } = settings;
  const model = languageModel(kind, {
    context,
    layers,
    heads,
    width,
    inner,
    dropout,
    seed,
    vocabulary: tokenizer.size,
    ids: specialIds(kind, tokenizer),
  });
  const parameters = [...model.parameters().values()].reduce((sum, { size }) => sum + size, 0);
  say(
    `${kind}: ${parameters} parameters, ${tokenizer.size} token ids; ${corpus.ids.length} tokens, ${corpus.perEpoch} ${lines ? "batches" : "sequences"} an epoch`,
  );
  await breathe(io.signal);
  const baselines: (readonly [string, number])[] = [];
  if (corpus.heldOut.length > 0)
    for (const order of [2, 5]) {
      baselines.push([order === 2 ? "bigram" : `${order}-gram`, corpus.baseline(order)]);
      await breathe(io.signal);
    }
  for (const [name, loss] of baselines) say(`${name}: held-out loss ${loss.toFixed(4)}`);

  const begin = async () => {
    await mkdir(folder, { recursive: true });
    await lock();
    await look(folder, values); // another process may have started there meanwhile
  };
  await together(comm, "heed train", isLead && !found ? begin : undefined);
  const config: Kept = kept
    ? { ...kept, settings }
    : {
        settings,
        data: corpus.fingerprint,
        tokens: corpus.ids.length,
        tokenizer: new TextDecoder().decode(writeTokenizer(tokenizer)),
      };
  if (found) say(`resuming at step ${found.step} of ${steps}`);
  const report = new Report(io, say, settings, found?.step ?? 0);
  const result = await answers(() =>
    train({
      model,
      data: (step) => corpus.batches(step),
      steps,
      schedule: schedule({ lr, decay, warmup, steps, floor }),
      adamw: { betas: [0.9, 0.95], weightDecay: settings.weightDecay },
      maxNorm: settings.clip,
      seed,
      heldOut:
        corpus.heldOut.length === 0
          ? undefined
          : { batches: corpus.heldOut, every: evaluate ?? evaluationsOf(settings, corpus) },
      checkpoint: { path: join(folder, CHECKPOINT), every, config: JSON.stringify(config), save },
      resume: found,
      signal: io.signal,
      ...(comm && { comm }),
      onStep: (step) => report.step(step),
    }),
  ).finally(() => report.end());
  if (result.interrupted) {
    io.stderr.write(
      `heed train: stopped after step ${result.step} of ${steps}; the checkpoint is saved, --resume continues\n`,
    );
    return EXIT.interrupted;
  }

  if (!isLead) return EXIT.ok;
  const seconds = (performance.now() - start) / 1e3;
  const files = modelToFiles(model.model, tokenizer, { dtype });
  const facts = {
    settings,
    texts: positionals.map((path) => (path === STDIN ? STDIN_NAME : basename(path))),
    tokens: corpus.ids.length,
    heldOutTargets: corpus.heldOut.reduce((sum, { count }) => sum + count, 0),
    vocabulary: tokenizer.size,
    parameters,
    steps: result.step,
    loss: result.losses.at(-1),
    heldOut: result.heldOut,
    baselines: Object.fromEntries(baselines),
    seconds: found ? undefined : Math.round(seconds),
    tokensPerSecond: Math.round(report.tokensPerSecond),
    dtype,
  };
  const log = new TextEncoder().encode(`${JSON.stringify(facts, undefined, 1)}\n`);
  for (const [name, bytes] of [["training.json", log] as const, ...files])
    await save(join(folder, name), bytes);

  if (values.json) io.stdout.write(jsonText({ folder, ...facts }));
  else {
    const columns = Math.min(io.columns || 80, 100);
    const curve = { losses: result.losses, heldOut: result.heldOut, lines: baselines };
    const ascii = io.env.TERM === "dumb";
    io.stdout.write(`${renderLoss(curve, { columns, ascii }).join("\n")}\n`);
    const last = result.heldOut.at(-1);
    const against = baselines.map(([name, loss]) => `${name} ${loss.toFixed(4)}`).join(", ");
    if (last) io.stdout.write(`held-out loss ${last[1].toFixed(4)}, ${against}\n`);
    const size = (files.get("model.safetensors") as Uint8Array).length;
    io.stdout.write(
      `wrote ${folder}: ${parameters} parameters, ${bytesText(size)} ${dtype}, ${secondsText(seconds)}\n`,
    );
  }
  return EXIT.ok;
}

/** Steps between two held-out losses: at least a twentieth of all, and enough that they take at most a tenth of the time. */
function evaluationsOf({ steps, batch, context }: Settings, { heldOut }: Corpus): number {
  const tokens = heldOut.reduce((sum, { inputs }) => sum + inputs.size, 0);
  // A forward pass is a third of a step.
  return Math.min(steps, Math.max(Math.ceil(steps / 20), Math.ceil((10 / 3) * (tokens / (batch * context)))));
}

/** Checks the folder; with a checkpoint to resume, locks the folder and returns the bytes of the checkpoint. */
async function beginIn(
  folder: string,
  values: Values,
  lock: () => Promise<void>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (!(await look(folder, values))) return undefined;
  await lock();
  return look(folder, values); // another process may have trained in it until now
}

/** The bytes of the checkpoint to resume. Throws if the folder has files that a new run would overwrite. */
async function look(folder: string, values: Values): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const path = join(folder, CHECKPOINT);
  const place = await stat(folder).catch(() => undefined);
  if (place === undefined) {
    if (values.resume)
      throw new OptionError("resume", `there is no folder ${folder} to resume`, { path: folder });
    await checkPlace(folder);
    return undefined;
  }
  await checkPlace(path);
  const names = new Set(await readdir(folder));
  if (values.resume) {
    if (names.has(CHECKPOINT)) {
      const bytes = new Uint8Array(await readFile(path));
      await naming(path, () => readCheckpoint(bytes)); // throws for an invalid one
      return bytes;
    }
    throw new OptionError(
      "resume",
      `there is no ${CHECKPOINT} in ${folder}; omit --resume to start a new run`,
      {
        path,
      },
    );
  }
  for (const name of [CHECKPOINT, "model.safetensors", "config.json", "tokenizer.json"])
    if (names.has(name))
      throw new OptionError(
        "output",
        `${folder} already has a ${name}; ${names.has(CHECKPOINT) ? "--resume continues it, or " : ""}choose another folder`,
        { path: join(folder, name) },
      );
  return undefined;
}

/** The text of a file, or of standard input. Throws typed errors for a file that is missing, empty or not UTF-8. */
async function readText(path: string, io: Pick<Io, "stdin">): Promise<string> {
  const name = path === STDIN ? STDIN_NAME : path;
  const text = path === STDIN ? await stdinText(io) : decodeText(path, await readBytes(path));
  if (text.trim() === "") throw new OptionError("text", `${name} is empty`, { path });
  return text;
}

/** The texts of files, on every rank. */
function readTexts(
  paths: readonly string[],
  io: Io,
  comm: Communicator | undefined,
): Promise<readonly string[]> {
  if (comm !== undefined && paths.includes(STDIN))
    throw new UsageError("- is standard input, which only one process can read; name a file");
  return Promise.all(paths.map((path) => readText(path, io)));
}

async function tokenizerOf(
  texts: readonly string[],
  { kind, vocab, cased, wholeWords }: Settings,
  kept: Kept | undefined,
  values: Values,
  io: Io,
): Promise<Tokenizer> {
  if (kept) return readTokenizer(kept.tokenizer);
  const path = values.tokenizer as string | undefined;
  if (path !== undefined) {
    const bytes = await readBytes(path);
    return naming(path, () => readTokenizer(bytes));
  }
  const words = values.words === undefined ? [] : (await readText(values.words as string, io)).split(/\s+/);
  const bar = startProgress(io, "tokenizer");
  try {
    return trainTokenizer(texts, {
      kind: kind === "decoder" ? "bpe" : "wordpiece",
      vocabSize: vocab,
      lowercase: !cased,
      wholeWords,
      words: words.filter((word) => word !== ""),
      onProgress: (done, total) => bar.update(done / Math.max(1, total)),
    });
  } finally {
    bar.end();
  }
}

/** Reports the progress of a run: a bar on a terminal, a line for each held-out loss. */
class Report {
  /** Tokens a second since the first step of this process. */
  tokensPerSecond = 0;
  readonly #say: (line: string) => void;
  readonly #settings: Settings;
  readonly #bar: Progress;
  readonly #first: number;
  readonly #start = performance.now();
  #smooth = 0;

  constructor(io: Io, say: (line: string) => void, settings: Settings, first: number) {
    this.#say = say;
    this.#settings = settings;
    this.#first = first;
    this.#bar = startProgress(io, "training");
  }

  step({ step, loss, heldOut }: StepReport): void {
    const { steps, batch, context } = this.#settings;
    const seconds = (performance.now() - this.#start) / 1e3;
    this.tokensPerSecond = ((step - this.#first) * batch * context) / seconds;
    this.#smooth = this.#smooth === 0 ? loss : 0.95 * this.#smooth + 0.05 * loss;
    const rate = `${Math.round(this.tokensPerSecond)} tokens/s`;
    if (heldOut !== undefined) {
      this.#bar.end();
      this.#say(
        `step ${step} of ${steps}: loss ${this.#smooth.toFixed(4)}, held-out ${heldOut.toFixed(4)}, ${rate}`,
      );
    }
    // The share of the steps of this process, from which the remaining time is estimated.
    this.#bar.update(
      (step - this.#first) / (steps - this.#first),
      `loss ${this.#smooth.toFixed(3)}  ${rate}  `,
    );
  }

  end(): void {
    this.#bar.end();
  }
}

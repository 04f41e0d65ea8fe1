/**
 * `heed train TEXT …`: trains a small language model on text files: learns a tokenizer, counts n-gram baselines, trains with
 * checkpoints, and writes a folder in Hugging Face's layout. This file reads the options and reports progress; train/ does the
 * work.
 */

import { basename, join } from "node:path";
import type { Communicator } from "../../cluster/index.ts";
import { OptionError } from "../../core/errors.ts";
import { makeFolder } from "../../io/filesystem/save.ts";
import type { TextModel, Tokenizer } from "../../models/index.ts";
import { modelToFiles, readTokenizer, trainTokenizer, writeTokenizer } from "../../models/index.ts";
import { Corpus } from "../../train/data/corpus.ts";
import type { Checkpoint, LanguageModel, StepReport, TrainResult } from "../../train/index.ts";
import { languageModel, readCheckpoint, renderLoss, schedule, specialIds, train } from "../../train/index.ts";
import { checkpointSaver } from "../../train/loop/checkpointing.ts";
import { STDIN, STDIN_NAME, stdinText } from "../support/input/stdin.ts";
import { naming } from "../support/input/tensors.ts";
import { decodeText, readBytes } from "../support/input/text-file.ts";
import { breathe, type Command, EXIT, type Io, UsageError, type Values } from "../support/line/command.ts";
import { answers, save, saving } from "../support/output/interrupt.ts";
import { startProgress } from "../support/output/progress.ts";
import { bytesText, jsonText, secondsText } from "../support/output/terminal.ts";
import { fromLead, microBatchesOf, together, withRanks } from "../support/ranks/together.ts";
import { DEVICE_HELP } from "../support/run/device.ts";
import { copyWeights, readBase } from "../support/train/base.ts";
import { CHECKPOINT, checkFolder, folderLock, readLastCheckpoint } from "../support/train/folder.ts";
import type { RunConfig, TrainSettings } from "../support/train/settings.ts";
import { readConfig, readSettings, resumedSettings, SETTING_HELP } from "../support/train/settings.ts";

export const command: Command = {
  name: "train",
  summary: "train a small language model on text files",
  usage: "heed train TEXT ... -o DIR [OPTIONS]\nheed train TEXT ... -o DIR --resume",
  help: {
    output: "DIR  the model's folder, new or empty",
    ...SETTING_HELP,
    words: "FILE  words that an encoder's vocabulary keeps whole regardless of their count, one per line",
    tokenizer: "FILE  a tokenizer.json to use instead of learning one",
    resume:
      "resume from the checkpoint in DIR, with its settings and the same texts; --steps, --checkpoint-every, --evaluate-every and --dtype may differ",
    json: "the result as a JSON object",
    ...DEVICE_HELP,
  },
  notes: `TEXT is a UTF-8 file, or - for standard input. DIR gets config.json, model.safetensors, tokenizer.json and tokenizer_config.json, as Hugging Face's library has them,
training.json with the losses, and checkpoint.safetensors and the one before it, checkpoint.safetensors.1, which only --resume needs. Losses are in nats per token; the baselines
are n-gram models (Kneser–Ney) of the same training tokens, evaluated on the same held-out ones. Ctrl-C, SIGTERM and SIGHUP save
a checkpoint. Only one process at a time can train in a folder.`,
  examples: [
    "heed train moby-dick.txt -o whale",
    "heed train *.txt -o model --kind encoder --steps 4000 --vocab 4096 --dtype float16",
    "heed train moby-dick.txt -o whale --resume",
    "heed train my-notes.txt -o tuned --from encoder --lr 0.0005 --steps 500",
    "mpirun -n 4 heed train *.txt -o model --batch 64",
  ],
  run,
};

async function run(values: Values, positionals: readonly string[], io: Io): Promise<number> {
  const folder = values.output as string | undefined;
  if (positionals.length === 0) throw new UsageError("expected one or more text files");
  if (folder === undefined) throw new UsageError("-o DIR says where the model goes");
  readSettings(values); // a wrong option is an error before anything starts
  return withRanks(io, async (rankIo, comm) => {
    const [all, base] = (await together(comm, "heed train", () => readBase(values, rankIo))) ?? [values];
    const settings = readSettings(comm ? inMicroBatches(all, comm.size) : all);
    const lock = folderLock(folder, rankIo);
    try {
      const code = await trainIn({ folder, values, positionals, io: rankIo, comm, settings, base, lock });
      await lock.release();
      return code;
    } catch (error) {
      // The first error is the one to report.
      await lock.release().catch(() => undefined);
      throw error;
    }
  });
}

/** The options, with a default of --accumulate for this many ranks. */
function inMicroBatches(values: Values, ranks: number): Values {
  if (values.accumulate !== undefined) return values;
  const { batch, sequenceRanks } = readSettings(values);
  const count = microBatchesOf(batch, Math.ceil(ranks / sequenceRanks));
  if (count === undefined)
    throw new UsageError(`--batch ${batch} gives ${ranks} ranks less than a sequence each`);
  return { ...values, accumulate: String(count) };
}

/** A parsed command line. */
interface Line {
  readonly folder: string;
  readonly values: Values;
  readonly positionals: readonly string[];
  readonly io: Io;
  readonly comm: Communicator | undefined;
  readonly settings: TrainSettings;
  /** The model of --from, unless the run resumes. */
  readonly base?: TextModel;
  readonly lock: ReturnType<typeof folderLock>;
}

/** A run that is ready to start. */
interface Run {
  /** The settings of the line, or of the checkpoint. */
  readonly settings: TrainSettings;
  readonly checkpoint: Checkpoint | undefined;
  /** What the checkpoint was saved with. */
  readonly config: RunConfig | undefined;
  readonly tokenizer: Tokenizer;
  readonly corpus: Corpus;
  readonly model: LanguageModel;
  /** Number of parameters. */
  readonly parameters: number;
  /** Held-out losses of n-gram models. */
  readonly baselines: readonly (readonly [name: string, loss: number])[];
}

async function trainIn(line: Line): Promise<number> {
  const { folder, values, io, comm, lock } = line;
  // Only rank 0 accesses the folder; it sends the checkpoint to the others.
  const isLead = comm === undefined || comm.rank === 0;
  const print = (text: string) => values.json || io.stdout.write(`${text}\n`);
  const resume = async () => {
    if (!(await checkFolder(folder, values.resume === true))) return undefined;
    await lock.acquire();
    return readLastCheckpoint(folder, io);
  };
  const bytes = await together(comm, "heed train", isLead ? resume : undefined);
  const checkpointBytes = await fromLead(comm, bytes ?? new Uint8Array(0));
  const start = performance.now();
  const run = await prepare(line, checkpointBytes, print);
  const begin = async () => {
    await makeFolder(folder);
    await lock.acquire();
    await checkFolder(folder, false); // another process may have started there meanwhile
  };
  await together(comm, "heed train", isLead && !run.checkpoint ? begin : undefined);
  const { steps } = run.settings;
  if (run.checkpoint) print(`resuming at step ${run.checkpoint.step} of ${steps}`);
  const report = reporter(io, print, run.settings, run.checkpoint?.step ?? 0);
  const result = await answers(() => runTraining(line, run, report)).finally(() => report.end());
  if (result.interrupted) {
    io.stderr.write(
      `heed train: stopped after step ${result.step} of ${steps}; the checkpoint is saved, --resume continues\n`,
    );
    return EXIT.interrupted;
  }
  if (isLead) await writeModel(line, run, result, { report, seconds: (performance.now() - start) / 1e3 });
  return EXIT.ok;
}

/** Reads the texts, learns the tokenizer, makes the model and measures the baselines. */
async function prepare(
  { folder, values, positionals, io, comm, base, settings: lineSettings }: Line,
  checkpointBytes: Uint8Array,
  print: (text: string) => void,
): Promise<Run> {
  const checkpoint = checkpointBytes.length > 0 ? readCheckpoint(checkpointBytes) : undefined;
  const config = checkpoint && readConfig(join(folder, CHECKPOINT), checkpoint.config);
  const settings = config ? resumedSettings(values, config.settings) : lineSettings;
  const { size: ranks } = comm ?? { size: 1 };
  if (ranks % settings.sequenceRanks !== 0)
    throw new UsageError(
      `--sequence-ranks ${settings.sequenceRanks} does not divide the number of ranks, ${ranks}`,
    );
  const texts = (await together(comm, "heed train", () => readTexts(positionals, io, comm))) ?? [];
  const tokenizer = config
    ? readTokenizer(config.tokenizer)
    : (base?.tokenizer ?? (await newTokenizer(texts, settings, values, io)));
  const { kind, context, batch, accumulate, heldOut, repeats, short, lines, masked, seed } = settings;
  const data = { kind, context, batch, accumulate, heldOut, repeats, short, lines, masked, seed };
  const corpus = new Corpus(texts, tokenizer, data);
  if (config && corpus.fingerprint !== config.data)
    throw new OptionError(
      "resume",
      `the texts are not those of the run in ${folder}: ${corpus.ids.length} tokens, the run has ${config.tokens}`,
      { tokens: corpus.ids.length, expected: config.tokens },
    );
  const { layers, heads, width, inner, dropout } = settings;
  const sizes = { context, layers, heads, width, inner, dropout, seed, vocabulary: tokenizer.size };
  const model = languageModel(kind, { ...sizes, ids: specialIds(kind, tokenizer) });
  if (base) copyWeights(base, model);
  if (io.device && comm)
    throw new UsageError("--device gpu trains in one process; without mpirun, or on the CPU");
  if (io.device) await model.model.to(io.device);
  const parameters = [...model.parameters().values()].reduce((sum, { size }) => sum + size, 0);
  print(
    `${kind}: ${parameters} parameters, ${tokenizer.size} token ids; ${corpus.ids.length} tokens, ${corpus.perEpoch} ${lines ? "batches" : "sequences"} an epoch`,
  );
  await breathe(io.signal);
  const baselines: (readonly [string, number])[] = [];
  for (const order of corpus.heldOut.length > 0 ? [2, 5] : []) {
    const [name, loss] = [order === 2 ? "bigram" : `${order}-gram`, corpus.baseline(order)];
    baselines.push([name, loss]);
    await breathe(io.signal);
  }
  for (const [name, loss] of baselines) print(`${name}: held-out loss ${loss.toFixed(4)}`);
  return { settings, checkpoint, config, tokenizer, corpus, model, parameters, baselines };
}

function runTraining(
  { folder, io, comm, lock }: Line,
  run: Run,
  report: ReturnType<typeof reporter>,
): Promise<TrainResult> {
  const { settings, checkpoint, corpus, model, tokenizer } = run;
  const { lr, decay, warmup, steps, floor, seed, sequenceRanks, shardOptimizer } = settings;
  const config: RunConfig = {
    settings,
    data: corpus.fingerprint,
    tokens: corpus.ids.length,
    tokenizer: run.config?.tokenizer ?? new TextDecoder().decode(writeTokenizer(tokenizer)),
  };
  const saveCheckpoint = checkpointSaver(checkpoint !== undefined);
  return train({
    model,
    data: (step) => corpus.batches(step),
    steps,
    schedule: schedule({ lr, decay, warmup, steps, floor }),
    adamw: { betas: [0.9, 0.95], weightDecay: settings.weightDecay, decays: "matrices" },
    maxNorm: settings.clip,
    seed,
    heldOut:
      corpus.heldOut.length === 0
        ? undefined
        : { batches: corpus.heldOut, every: settings.evaluateEvery || evaluationsOf(settings, corpus) },
    checkpoint: {
      path: join(folder, CHECKPOINT),
      every: settings.checkpointEvery,
      config: JSON.stringify(config),
      async save(path, bytes) {
        await lock.check();
        await saving(() => saveCheckpoint(path, bytes));
      },
    },
    resume: checkpoint,
    signal: io.signal,
    ...(comm && { comm, sequenceRanks, shardOptimizer }),
    onStep: (step) => report.step(step),
  });
}

/** Writes the files of a trained model, and prints the result. */
async function writeModel(
  { folder, values, positionals, io, lock }: Line,
  { settings, checkpoint, tokenizer, corpus, model, parameters, baselines }: Run,
  result: TrainResult,
  { report, seconds }: { readonly report: ReturnType<typeof reporter>; readonly seconds: number },
): Promise<void> {
  const { dtype } = settings;
  const files = modelToFiles(await model.model.to("cpu"), tokenizer, { dtype });
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
    seconds: checkpoint ? undefined : Math.round(seconds),
    tokensPerSecond: Math.round(report.tokensPerSecond),
    dtype,
  };
  const log = new TextEncoder().encode(`${JSON.stringify(facts, undefined, 1)}\n`);
  await lock.check();
  for (const [name, bytes] of [["training.json", log] as const, ...files])
    await save(join(folder, name), bytes);
  if (values.json) {
    io.stdout.write(jsonText({ folder, ...facts }));
    return;
  }
  const size = (files.get("model.safetensors") as Uint8Array).length;
  io.stdout.write(
    `${lossText(io, result, baselines)}wrote ${folder}: ${parameters} parameters, ${bytesText(size)} ${dtype}, ${secondsText(seconds)}\n`,
  );
}

/** Steps between two held-out losses: at least a twentieth of all, and enough that they take at most a tenth of the time. */
function evaluationsOf({ steps, batch, context }: TrainSettings, { heldOut }: Corpus): number {
  const tokens = heldOut.reduce((sum, { inputs }) => sum + inputs.size, 0);
  // A forward pass is a third of a step.
  return Math.min(steps, Math.max(Math.ceil(steps / 20), Math.ceil((10 / 3) * (tokens / (batch * context)))));
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

async function newTokenizer(
  texts: readonly string[],
  { kind, vocab, cased, wholeWords }: TrainSettings,
  values: Values,
  io: Io,
): Promise<Tokenizer> {
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

/** Reports the progress of a run from step `first` on: a bar on a terminal, a line for each held-out loss. */
function reporter(io: Io, print: (line: string) => void, settings: TrainSettings, first: number) {
  const { steps, batch, context } = settings;
  const bar = startProgress(io, "training");
  const start = performance.now();
  let smooth = 0;
  const report = {
    /** Tokens a second since the first step of this process. */
    tokensPerSecond: 0,
    step({ step, loss, heldOut }: StepReport): void {
      const seconds = (performance.now() - start) / 1e3;
      report.tokensPerSecond = ((step - first) * batch * context) / seconds;
      smooth = smooth === 0 ? loss : 0.95 * smooth + 0.05 * loss;
      const rate = `${Math.round(report.tokensPerSecond)} tokens/s`;
      if (heldOut !== undefined) {
        bar.end();
        print(`step ${step} of ${steps}: loss ${smooth.toFixed(4)}, held-out ${heldOut.toFixed(4)}, ${rate}`);
      }
      // The share of the steps of this process, from which the remaining time is estimated.
      bar.update((step - first) / (steps - first), `loss ${smooth.toFixed(3)}  ${rate}  `);
    },
    end: () => bar.end(),
  };
  return report;
}

/** The loss curve, and the last held-out loss beside the baselines. */
function lossText(
  io: Io,
  { losses, heldOut }: TrainResult,
  baselines: readonly (readonly [string, number])[],
): string {
  const columns = Math.min(io.columns || 80, 100);
  const curve = renderLoss({ losses, heldOut, lines: baselines }, { columns, ascii: io.env.TERM === "dumb" });
  const last = heldOut.at(-1);
  const others = baselines.map(([name, loss]) => `${name} ${loss.toFixed(4)}`).join(", ");
  return [...curve, ...(last ? [`held-out loss ${last[1].toFixed(4)}, ${others}`] : []), ""].join("\n");
}

/**
 * `heed capture MODEL TEXT … -o RUN.safetensors`: the attention of a model on texts or pictures, as a bundle that every other command
 * opens: queries, keys, values and the log-sum-exp of every head. `heed capture --python` prints a recorder for PyTorch models instead.
 */
import { mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { FormatError, formatValue, HeedError, OptionError, UnsupportedError } from "../../core/errors.ts";
import { systemText } from "../../io/filesystem/node.ts";
import type { Pixels } from "../../io/read-png.ts";
import { readPicture } from "../../models/images/decode.ts";
import { recordActivations } from "../../models/inference/intervene.ts";
import type { TextAttention, TextModel } from "../../models/text-model.ts";
import { checkEvidence } from "../../store/formats/stored-evidence.ts";
import { BUNDLE_DTYPES, bundleOptions } from "../support/input/bundle-options.ts";
import { bundleOfPictures, bundleOfTexts, type TextExtras } from "../support/input/model-bundle.ts";
import { MODEL_HELP, pickImageModel, pickTextModel, warnOfCuts } from "../support/input/pick-model.ts";
import { expandPair, expandTexts, noteFiles } from "../support/input/stdin.ts";
import { decodeText, readBytes } from "../support/input/text-file.ts";
import { breathe, type Command, EXIT, type Io, UsageError, type Values } from "../support/line/command.ts";
import { indices } from "../support/line/values.ts";
import { save } from "../support/output/interrupt.ts";
import { checkPlace, outputOf } from "../support/output/output.ts";
import { bytesText, jsonText, printJson } from "../support/output/terminal.ts";
import { documentsOf, finishedIn, shareOf } from "../support/ranks/shares.ts";
import { RECORDER } from "../support/recorder.ts";
import { DEVICE_HELP, onCpu, readAttention } from "../support/run/device.ts";

export const command: Command = {
  name: "capture",
  summary: "write a model's attention on texts or pictures as a file",
  usage: `heed capture MODEL TEXT ... -o RUN.safetensors [OPTIONS]
    heed capture MODEL --image PHOTO.jpg -o RUN.safetensors [OPTIONS]
    heed capture MODEL DOCS.jsonl -o FOLDER/ [--shard I/N] [OPTIONS]
    heed capture --python > recorder.py`,
  help: {
    output: "RUN.safetensors  the file to write; FOLDER/ with a file of documents",
    model: "MODEL  the model, in place of the first argument",
    image: "FILE  a picture (PNG or JPEG) for a model that reads pictures; may be given several times",
    pair: "TEXT  the second text of a pair, for models that read pairs",
    globals: "LIST  positions of global tokens, such as 0 or 0-5, for models that have them (Longformer)",
    layers: "LIST  only these layers, such as 0,4-7",
    heads: "LIST  only these heads",
    dtype: `DTYPE  store queries, keys and values as ${BUNDLE_DTYPES.join(", ")} (default: as computed)`,
    "no-values": "omit the value vectors",
    states: "also store each token's state after the embedding and after each layer",
    evidence:
      "FILE  also store a result of heed why, ablate or patch with --json; may be given several times",
    python: "print a recorder for PyTorch models instead: a file of Python whose bundles every command opens",
    shard: "I/N  only share I of N (from 0) of a file of documents; N alone takes I from the scheduler",
    ...DEVICE_HELP,
    json: "print what was written as JSON",
  },
  multiple: ["evidence", "image"],
  notes: `${MODEL_HELP}
TEXT may be - for the lines of standard input.
The file is a bundle (docs/bundles.md) with one block for each text, named self, or text1, text2 … if there are several.
A file of documents has one per line, {"text": …, "id": …} or a string. Each becomes a bundle FOLDER/ID.safetensors, written
atomically. Existing bundles are skipped, so a share may be restarted at any time. Under mpirun, srun or in a Slurm array
each process takes its own share; see docs/09-cluster.md.
Pictures: ViT, DeiT, DINOv2, DINOv3, CLIP and SigLIP, in blocks named self, or picture1, picture2 …; a JPEG needs the package
jpeg-js (npm install jpeg-js). The bundle has the picture and its grid of patches; see docs/pictures.md.`,
  examples: [
    'heed capture encoder "time flies like an arrow" -o flies.safetensors',
    'heed capture ./all-MiniLM-L6-v2 "the river bank" "the savings bank" -o bank.safetensors --dtype float16',
    "heed capture ./dinov2-small --image photo.jpg -o photo.safetensors",
    'heed ablate encoder "the river bank" --word bank --json > off.json && heed capture encoder "the river bank" --states --evidence off.json -o bank.safetensors',
    "heed capture encoder docs.jsonl -o maps/ --shard 3/64",
  ],
  async run(values, positionals, io) {
    const output = values.output as string | undefined;
    const named = values.model === undefined ? positionals : [values.model as string, ...positionals];
    const [name, ...textArguments] = named;
    const texts = await expandTexts(textArguments, io);
    if (values.python === true) {
      if (named.length > 0) throw new UsageError("--python takes no model and no text");
      io.stdout.write(RECORDER);
      return EXIT.ok;
    }
    if (values.image !== undefined && name !== undefined)
      return capturePictures(name, values.image as string[], texts, values, io);
    if (name === undefined || texts.length === 0)
      throw new UsageError(
        'name a model and a text: heed capture encoder "time flies like an arrow" -o run.safetensors',
      );
    if (output === undefined) throw new UsageError("name the file to write: -o run.safetensors");
    if (texts.length === 1 && /\.jsonl$/i.test(texts[0]))
      return captureCorpus(name, texts[0], output, values, io);
    if (values.shard !== undefined)
      throw new UsageError("--shard belongs to a file of documents, such as docs.jsonl");
    outputOf(values, ".safetensors");
    const pair = await expandPair(values, io);
    if (pair !== undefined && texts.length !== 1)
      throw new UsageError(`--pair takes one first text, got ${texts.length}`);
    const options = bundleOptions(values);
    if (values.states && pair !== undefined) throw new UsageError("--states belongs to single texts");
    if (values.globals !== undefined && (values.states || values.evidence))
      throw new UsageError("--globals does not go with --states and --evidence, whose runs have none");
    const evidence = await readEvidence((values.evidence ?? []) as readonly string[], texts);
    await checkPlace(output);
    noteFiles(textArguments, io, (text) => `heed capture ${name} - < ${text}`);
    const model = await pickTextModel(name, io);
    const attentions: TextAttention[] = [];
    for (const text of texts) {
      await breathe(io.signal);
      attentions.push(await attentionOn(model, values, text, pair));
    }
    const extras: TextExtras[] = [];
    for (const one of attentions) {
      warnOfCuts(model, one, io);
      const results = evidence.filter(({ text }) => text === one.texts[0]).map(({ result }) => result);
      extras.push({
        ...(values.states === true && { states: await onCpu(recordActivations(model, one).states) }),
        ...(results.length > 0 && { evidence: checkEvidence(results, "--evidence", one.tokens.length) }),
      });
    }
    const bytes = await bundleOfTexts(model, attentions, options, extras);
    await save(output, bytes);
    const tokens = attentions.map((one) => one.tokens.length);
    const { layers, heads } = model;
    if (values.json)
      return printJson(io, { output, bytes: bytes.length, model: model.name, layers, heads, tokens });
    io.stdout.write(
      `${output}: ${bytesText(bytes.length)}, ${layers} layers of ${heads} heads, ${tokens.join(" + ")} tokens\n`,
    );
    return EXIT.ok;
  },
};

/** The attention on a text or a pair, with the global tokens of `--globals`. Its numbers are on the CPU. */
async function attentionOn(
  model: TextModel,
  values: Values,
  text: string,
  pair?: string,
): Promise<TextAttention> {
  if (values.globals === undefined) return readAttention(model.attention(text, pair));
  const globals = indices("globals", values.globals);
  const tokens = model.tokenize(text, pair);
  return readAttention({ ...tokens, layers: model.attentionOf(tokens.ids, tokens.typeIds, { globals }) });
}

/** Writes a bundle with a block for each picture. */
async function capturePictures(
  name: string,
  paths: readonly string[],
  texts: readonly string[],
  values: Values,
  io: Io,
): Promise<number> {
  if (texts.length > 0)
    throw new UsageError(`--image takes the place of texts, got ${JSON.stringify(texts[0])}`);
  for (const other of ["pair", "shard", "globals"])
    if (values[other] !== undefined) throw new UsageError(`--${other} belongs to texts; pictures have none`);
  const output = outputOf(values, ".safetensors", "name the file to write: -o run.safetensors");
  const options = bundleOptions(values);
  await checkPlace(output);
  const pictures = await Promise.all(paths.map(pictureOf));
  const model = await pickImageModel(name, io);
  const attentions = await Promise.all(pictures.map((picture) => readAttention(model.attention(picture))));
  const bytes = await bundleOfPictures(
    model,
    attentions,
    paths.map((path) => basename(path)),
    options,
  );
  await save(output, bytes);
  const { layers, heads } = model;
  const grids = attentions.map(({ grid: { rows, columns } }) => ({ rows, columns }));
  if (values.json)
    return printJson(io, { output, bytes: bytes.length, model: model.name, layers, heads, pictures: grids });
  io.stdout.write(
    `${output}: ${bytesText(bytes.length)}, ${layers} layers of ${heads} heads, ${grids.map(({ rows, columns }) => `${rows} × ${columns}`).join(" + ")} patches\n`,
  );
  return EXIT.ok;
}

/** The pixels of a file. Errors name it. */
async function pictureOf(path: string): Promise<Pixels> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new OptionError("file", `cannot read the picture ${path}: ${systemText(error)}`, { path });
  });
  try {
    return await readPicture(bytes);
  } catch (error) {
    if (error instanceof FormatError)
      throw new FormatError(error.code, `${path}: ${error.message}`, { path });
    if (error instanceof UnsupportedError)
      throw new UnsupportedError(error.code, `${path}: ${error.message}`, { path });
    throw error;
  }
}

/** Writes a bundle for each document of this process's share that has none yet. Failures are listed at the end. */
async function captureCorpus(
  name: string,
  path: string,
  folder: string,
  values: Values,
  io: Io,
): Promise<number> {
  if (/\.safetensors$/i.test(folder))
    throw new UsageError(
      `a file of documents gives a folder of bundles: -o maps/, got ${JSON.stringify(folder)}`,
    );
  if (values.states || values.evidence !== undefined)
    throw new UsageError("--states and --evidence belong to texts, not to a file of documents");
  if (values.pair !== undefined)
    throw new UsageError('--pair belongs to texts; documents have "pair" fields');
  const share = shareOf(values.shard as string | undefined, io.env);
  const options = bundleOptions(values);
  await checkPlace(folder.replace(/[/\\]+$/, ""));
  await mkdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "EEXIST" ? "it is a file" : systemText(error);
    throw new OptionError("file", `cannot write the folder ${folder}: ${reason}`, { path: folder });
  });
  const finished = await finishedIn(folder);
  const model = await pickTextModel(name, io);
  const failures: string[] = [];
  let [written, skipped] = [0, 0];
  for await (const { name, line, text, pair } of documentsOf(path, share)) {
    if (finished.has(name)) {
      skipped++;
      continue;
    }
    await breathe(io.signal);
    let bytes: Uint8Array;
    try {
      const attention = await attentionOn(model, values, text, pair);
      warnOfCuts(model, attention, io, `${path}, line ${line}: `);
      bytes = await bundleOfTexts(model, [attention], options);
    } catch (error) {
      if (!(error instanceof HeedError)) throw error;
      failures.push(`${path}, line ${line} (${name}): ${error.message}`);
      continue;
    }
    await save(join(folder, `${name}.safetensors`), bytes);
    written++;
  }
  for (const failure of failures) io.stderr.write(`heed capture: ${failure}\n`);
  const { index, count } = share;
  if (values.json)
    io.stdout.write(
      jsonText({ folder, shard: index, shards: count, written, skipped, failed: failures.length }),
    );
  else
    io.stdout.write(
      `${folder}: share ${index} of ${count}, ${written} written, ${skipped} there already${failures.length > 0 ? `, ${failures.length} failed` : ""}\n`,
    );
  return failures.length > 0 ? EXIT.failed : EXIT.ok;
}

/** A result, and the text that it is about. */
interface TextResult {
  readonly text: string;
  readonly result: Readonly<Record<string, unknown>>;
}

/**
 * Reads results, each about one of the texts.
 *
 * @throws OptionError where a file cannot be read or is about another text; FormatError where it is no result
 */
async function readEvidence(
  paths: readonly string[],
  texts: readonly string[],
): Promise<readonly TextResult[]> {
  const results: TextResult[] = [];
  for (const path of paths) {
    const result = parseResult(path, decodeText(path, await readBytes(path)));
    const { text } = result;
    if (typeof text !== "string" || !texts.includes(text))
      throw new OptionError(
        "evidence",
        `--evidence ${path}: a result about ${formatValue(text)}, which is none of the texts`,
        { path, text },
      );
    results.push({ text, result });
  }
  return results;
}

function parseResult(path: string, json: string): Readonly<Record<string, unknown>> {
  let result: unknown;
  try {
    result = JSON.parse(json);
  } catch {
    // The error below says what is expected.
  }
  if (typeof result === "object" && result !== null && "kind" in result)
    return result as Readonly<Record<string, unknown>>;
  throw new FormatError(
    "evidence",
    `--evidence ${path}: expected what heed why, heed ablate or heed patch print with --json`,
    { path },
  );
}

/**
 * `heed view`: serves the explorer on loopback until Ctrl-C, with a file of attention, or with a model's attention on a text.
 * Nothing leaves the machine.
 */
import { basename, join } from "node:path";
import { UnsupportedError } from "../../core/errors.ts";
import { shippedFolder } from "../../io/filesystem/shipped.ts";
import type { TextModel } from "../../models/text-model.ts";
import type { ServedFile } from "../../server/content.ts";
import { openStore } from "../../store/formats/open.ts";
import type { HeadStore } from "../../store/head-store.ts";
import { type TellingLink, tellingLink } from "../../store/sentences/telling.ts";
import { choosePaint, dim } from "../../view/terminal/paint.ts";
import { renderText, type TextOptions } from "../../view/terminal/text.ts";
import {
  addressOf,
  explore,
  openingBlock,
  type PageModel,
  type ServeOptions,
} from "../support/explorer/explore.ts";
import { CAPTURED, capturedModel, modelLoader, otherModels, readerOf } from "../support/explorer/models.ts";
import { SERVE_HELP, serveOptions } from "../support/explorer/serve-options.ts";
import { FILE_HELP, FILE_NOTES, openFile } from "../support/input/attention-file.ts";
import { MODEL_HELP } from "../support/input/pick-model.ts";
import { expandPair, expandTexts } from "../support/input/stdin.ts";
import { type Command, type Io, UsageError, type Values } from "../support/line/command.ts";

export const command: Command = {
  name: "view",
  summary: "open a file of attention, or a text, in the explorer",
  usage: `heed view [FILE ...] [OPTIONS]
    heed view --text TEXT [OPTIONS]`,
  help: {
    text: "TEXT  a model's attention on this text, in place of a file; may be given several times",
    pair: "TEXT  the second text of a pair, for models that read pairs",
    model: MODEL_HELP,
    models: "FOLDER  a folder of models, which the page offers besides those in Hugging Face's cache",
    all: "print every head of the text and its measures, not only one head; not with FILE",
    ...FILE_HELP,
    ...SERVE_HELP,
    json: "print the address and what was loaded as JSON",
  },
  notes: `${FILE_NOTES}
Without a file or text, eight sentences captured from a real model are shown.
For a text the terminal prints one head and its strongest links; --all prints every head.
The page is served on a random port of the loopback address. Only requests with the printed address get data.
Nothing is sent to other machines. Ctrl-C ends.`,
  multiple: ["text"],
  examples: [
    "heed view",
    "heed view --all --no-open",
    "heed view run.safetensors",
    "heed view attention.npz --tokens tokens.json",
    "heed view bertviz.json --no-open",
    'heed view --text "The cat sat on the mat because it was tired"',
  ],
  run: view,
};

async function view(values: Values, positionals: readonly string[], io: Io): Promise<number> {
  const textOptions = values.text as string[] | undefined;
  const texts = textOptions && (await expandTexts(textOptions, io));
  const options = serveOptions(values);
  if (texts !== undefined && positionals.length > 0) throw new UsageError("give files or --text, not both");
  if (texts === undefined && values.pair !== undefined) throw new UsageError("--pair goes with --text TEXT");
  for (const option of ["tokens", "causal"])
    if (values[option] !== undefined && positionals.length === 0)
      throw new UsageError(`--${option} goes with a file`);
  const [all, json] = [values.all === true, values.json === true];
  if (all && positionals.length > 0)
    throw new UsageError("--all goes with --text or the captured sentences, not with a file");
  if (all && json) throw new UsageError("--all prints text, --json prints JSON; give one of them");
  const files: ServedFile[] = [];
  const stores: HeadStore[] = [];
  const modelName = values.model as string | undefined;
  const load = modelLoader(modelName, io);
  try {
    for (const file of texts === undefined ? [] : await textFiles(texts, values, load, io)) {
      files.push(file);
      stores.push(await openStore(file.source, { name: file.name }));
    }
    const nothing = texts === undefined && positionals.length === 0;
    const folder = values.models as string | undefined;
    const captured = nothing ? capturedModel(folder, io) : undefined;
    for (const { name, path } of nothing ? shippedCaptures() : []) {
      files.push({ name, source: path, ...(captured && { model: captured(name) }) });
      stores.push(await openStore(path, { name }));
    }
    for (const path of positionals) {
      const { store, name, source } = await openFile(path, values, io);
      stores.push(store);
      // A file with --tokens or --causal is served as a bundle that includes them.
      const isPlain = values.tokens === undefined && values.causal === undefined;
      files.push({ name, source: isPlain ? source : await store.bundle() });
    }
    const spot = await tellingLink(stores[0], { block: openingBlock(stores[0]) });
    const hash = spot && addressOf(stores[0].blocks[spot.block].name, spot);
    if (!json && !nothing)
      for (const { report } of stores) io.stderr.write(`${report.sentences.join("\n")}\n`);
    if (!json && positionals.length === 0) {
      const printed = nothing ? stores.slice(0, 1) : stores;
      for (const [n, store] of printed.entries())
        io.stdout.write(
          await renderedText(store, files[n].name, all, nothing && spot ? cellOf(spot) : {}, io),
        );
      io.stdout.write("In the explorer: ");
    }
    const reports = stores.map(({ report }) => report);
    for (const store of stores.splice(0)) store.dispose();
    const reported = json
      ? ({ url, port }: { url: string; port: number }) => `${JSON.stringify({ url, port, reports })}\n`
      : undefined;
    const model = pageModel(modelName, load, otherModels(modelName, folder, io));
    return await explore(files, { ...options, hash, model, welcome: nothing }, io, reported);
  } finally {
    for (const store of stores) store.dispose();
  }
}

/** The cell of a link, without its baselines: options of `renderText`. */
const cellOf = ({ layer, head, query, key }: TellingLink) => ({ layer, head, query, key });

/** One head of a text (the one of `cell`, which is explained) and its strongest links, or every head, for the terminal. */
async function renderedText(
  store: HeadStore,
  text: string,
  all: boolean,
  cell: Pick<TextOptions, "layer" | "head" | "query" | "key">,
  io: Io,
): Promise<string> {
  const paint = choosePaint("auto", io.env, io.isTTY);
  const columns = io.columns && io.columns > 0 ? Math.min(io.columns, 160) : 80;
  const lines = await renderText(store, text, { paint, columns, ...(all ? { all } : cell) });
  if (!all && cell.layer !== undefined)
    lines.push(dim(`--all prints all ${headsOf(store)} heads.`, paint), "");
  return `${lines.join("\n")}\n`;
}

const headsOf = ({ blocks }: HeadStore) =>
  blocks.reduce((sum, { layers, heads }) => sum + layers.length * heads, 0);

/** The model for texts that are typed into the page; `load` is called with the first of them. */
export function pageModel(
  name: string | undefined,
  load: () => Promise<TextModel>,
  others: readonly PageModel[] = [],
): ServeOptions["model"] {
  const hasCaptured = others.some(
    (one) => one.name === CAPTURED || basename(one.name) === basename(CAPTURED),
  );
  return {
    ...readerOf(name ?? "the small model that comes with heed", load),
    ...(name === undefined &&
      !hasCaptured && { larger: [`heed pull ${CAPTURED}`, `heed view --model ${CAPTURED}`] }),
    others,
  };
}

/** Runs a model on texts, or on a pair, and returns a file for each. */
async function textFiles(
  texts: readonly string[],
  values: Values,
  load: () => Promise<TextModel>,
  io: Io,
): Promise<ServedFile[]> {
  const pair = await expandPair(values, io);
  if (pair !== undefined && texts.length !== 1)
    throw new UsageError("--pair is the second text to one --text");
  const [model, { warnOfCuts }, { fileOfRun }] = await Promise.all([
    load(),
    import("../support/input/pick-model.ts"),
    import("../support/input/model-bundle.ts"),
  ]);
  const files: ServedFile[] = [];
  for (const text of texts) {
    const attention = model.attention(text, pair);
    warnOfCuts(model, attention, io);
    files.push(await fileOfRun(model, attention));
  }
  return files;
}

/** File and name of each sentence, in the order of tabs: two "flies", four "bank" with the control, two "it" with the control. */
const SENTENCES = [
  ["time-flies", "time flies like an arrow"],
  ["fruit-flies", "fruit flies like a banana"],
  ["bank-of-the-river", "they walked along the bank of the river"],
  ["river-bank", "they walked along the river bank"],
  ["savings-bank", "they walked to the savings bank"],
  ["bank-of-the-table", "they sat by the bank of the table"],
  ["tired-cat", "The cat sat on the mat because it was tired"],
  ["soft-cat", "The cat sat on the mat because it was soft"],
] as const;

/** The captures as files: a display name and a path. */
function shippedCaptures(): { readonly name: string; readonly path: string }[] {
  try {
    const folder = shippedFolder("captures");
    return SENTENCES.map(([file, name]) => ({ name, path: join(folder, `${file}.safetensors`) }));
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
    throw new UnsupportedError(error.code, `${error.message}; or name a file`, error.fields);
  }
}

/**
 * `heed view`: the explorer on a file of attention, or on what a model does with one's own words, served on loopback until
 * Ctrl-C. Nothing leaves the machine.
 */
import { basename } from "node:path";
import { openStore } from "../view/store/open.ts";
import type { HeadStore } from "../view/store/types.ts";
import { FILE_HELP, FILE_NOTES, FILE_OPTIONS, openFile, tokensText } from "./attention-file.ts";
import { type Command, type Io, UsageError, type Values } from "./command.ts";
import { addressOf, explore, interesting, type ServedFile, type ServeOptions } from "./explore.ts";
import { integer } from "./values.ts";

/** Options of whatever serves the explorer. */
export const SERVE_OPTIONS = {
  port: { type: "string" },
  host: { type: "string" },
  "no-open": { type: "boolean" },
} as const;

/** Their help. */
export const SERVE_HELP = {
  port: "N  port (default: a free one)",
  host: "ADDRESS  an address that other machines reach too, such as 0.0.0.0 (default: this machine alone)",
  "no-open": "open no browser",
} as const;

/** What those options say. */
export function serveOptions(values: Values): ServeOptions {
  return {
    port: values.port === undefined ? undefined : integer("port", values.port, 1, 65_535),
    host: values.host as string | undefined,
    open: values["no-open"] === true ? false : undefined,
  };
}

export const command: Command = {
  name: "view",
  summary: "open a file of attention, or a text, in the explorer",
  usage: `heed view FILE ... [OPTIONS]
    heed view --text TEXT [OPTIONS]`,
  options: {
    text: { type: "string", multiple: true },
    pair: { type: "string" },
    model: { type: "string" },
    ...FILE_OPTIONS,
    ...SERVE_OPTIONS,
    json: { type: "boolean" },
  },
  help: {
    text: "TEXT  what a model does with this text, in place of a file; may come several times",
    pair: "TEXT  the second text of a pair, for models that read pairs",
    model: "DIR  folder of the model for --text (default: the package's own encoder)",
    ...FILE_HELP,
    ...SERVE_HELP,
    json: "print the address and what was loaded as JSON",
  },
  notes: `${FILE_NOTES}
The page is served at a random port of the loopback address, and gives data only to who has the address that is
printed. Nothing is sent anywhere. Ctrl-C ends.`,
  examples: [
    "heed view run.safetensors",
    "heed view attention.npz --tokens tokens.json",
    "heed view bertviz.json --no-open",
    'heed view --text "The cat sat on the mat because it was tired"',
  ],
  run: view,
};

async function view(values: Values, positionals: readonly string[], io: Io): Promise<number> {
  const texts = values.text as string[] | undefined;
  const options = serveOptions(values);
  if ((texts === undefined) === (positionals.length === 0))
    throw new UsageError(texts ? "give files or --text, not both" : "give a file, or --text TEXT");
  const files: ServedFile[] = [];
  const stores: HeadStore[] = [];
  try {
    if (texts !== undefined) {
      const source = await modelBundle(texts, values, io);
      files.push({ name: "text.safetensors", source });
      stores.push(await openStore(source, { name: "text.safetensors" }));
    }
    for (const path of positionals) {
      stores.push(await openFile(path, values.tokens, io));
      files.push({ name: basename(path), source: path, tokens: tokensText(values.tokens) });
    }
    const hash = addressOf(stores[0], await interesting(stores[0]));
    const json = values.json === true;
    for (const { report } of stores) if (!json) io.stderr.write(`${report.sentences.join("\n")}\n`);
    const reports = stores.map(({ report }) => report);
    for (const store of stores.splice(0)) store.dispose();
    const told = json
      ? ({ url, port }: { url: string; port: number }) => `${JSON.stringify({ url, port, reports })}\n`
      : undefined;
    return await explore(files, { ...options, hash }, io, told);
  } finally {
    for (const store of stores) store.dispose();
  }
}

/** Runs a model on texts, or on a pair, and gives its bundle. */
async function modelBundle(texts: readonly string[], values: Values, io: Io): Promise<Uint8Array> {
  const pair = values.pair as string | undefined;
  if (pair !== undefined && texts.length !== 1)
    throw new UsageError("--pair is the second text to one --text");
  const [{ pickModel }, { bundleOfTexts }] = await Promise.all([
    import("./pick-model.ts"),
    import("./model-bundle.ts"),
  ]);
  const model = await pickModel(values.model as string | undefined);
  const seen = texts.map((text) => model.attention(text, pair));
  for (const { leftOut } of seen)
    if (leftOut > 0)
      io.stderr.write(
        `warning: ${model.name} reads ${model.maxTokens} tokens at most; ${leftOut} are left out\n`,
      );
  return bundleOfTexts(model, seen);
}

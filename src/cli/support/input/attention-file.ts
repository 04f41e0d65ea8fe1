/** Opens the file of attention, or the text for a model, of `view`, `html` and `figure`. Problems of a file go to stderr. */
import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { FormatError, formatValue, HeedError, OptionError } from "../../../core/errors.ts";
import { openStore } from "../../../store/formats/open.ts";
import type { HeadStore } from "../../../store/head-store.ts";
import { storeFrom } from "../../../store/layout/from.ts";
import { type Io, UsageError, type Values } from "../line/command.ts";
import { bytesText } from "../output/terminal.ts";
import { MODEL_HELP } from "./pick-model.ts";
import { expandPair, expandText, readStdin, STDIN, STDIN_NAME, stdinText } from "./stdin.ts";
import { withoutReader } from "./tensors.ts";
import { decodeText, readBytes } from "./text-file.ts";

/** Their help. */
export const FILE_HELP = {
  tokens: "FILE.json  tokens of a file that has none: a JSON list of texts",
  causal: "arrays q and k without a recipe come from a decoder: a query attends to no later key",
} as const;

/** The notes of those commands about their input. */
export const FILE_NOTES = `FILE is a bundle (safetensors with q and k, or weights), npz, npy or JSON, recognized by its first bytes; - is standard input.`;

/** Their help. */
export const INPUT_HELP = {
  text: "TEXT  a model's attention on this text, in place of a file; - is standard input",
  pair: "TEXT  the second text of a pair, for models that read pairs",
  model: MODEL_HELP,
  ...FILE_HELP,
} as const;

/** Opens the one file of a command, or runs a model on its `--text`. */
export async function openInput(
  values: Values,
  positionals: readonly string[],
  io: Pick<Io, "stderr" | "stdin">,
): Promise<{ readonly store: HeadStore; readonly name: string }> {
  const textOption = values.text as string | undefined;
  if (textOption === undefined) {
    for (const option of ["pair", "model"])
      if (values[option] !== undefined) throw new UsageError(`--${option} goes with --text TEXT`);
    if (positionals.length !== 1)
      throw new UsageError(`expected one file or --text TEXT, got ${positionals.length || "neither"}`);
    const { store, name } = await openFile(positionals[0], values, io);
    return { store, name };
  }
  if (positionals.length > 0) throw new UsageError("give a file or --text, not both");
  for (const option of ["tokens", "causal"])
    if (values[option] !== undefined) throw new UsageError(`--${option} goes with a file, not with --text`);
  const text = await expandText(textOption, io);
  const [{ pickModel, warnOfCuts }, { inputOfTexts }] = await Promise.all([
    import("./pick-model.ts"),
    import("./model-bundle.ts"),
  ]);
  const model = await pickModel(values.model as string | undefined, io);
  const attention = model.attention(text, await expandPair(values, io));
  warnOfCuts(model, attention, io);
  return { store: storeFrom({ ...inputOfTexts(model, [attention]), name: text }), name: text };
}

/** The tokens in the file of `--tokens`. */
async function readTokens(path: string | undefined, io: Pick<Io, "stdin">): Promise<string[] | undefined> {
  if (path === undefined) return undefined;
  const name = path === STDIN ? STDIN_NAME : path;
  const refuse = (got: string): never => {
    throw new OptionError("tokens", `--tokens: ${name} must be a JSON list of texts, got ${got}`, { path });
  };
  const text = path === STDIN ? await stdinText(io) : decodeText(path, await readBytes(path));
  let tokens: unknown;
  try {
    tokens = JSON.parse(text);
  } catch {
    return refuse(formatValue(text));
  }
  if (Array.isArray(tokens) && tokens.every((token) => typeof token === "string")) return tokens;
  return refuse(formatValue(tokens));
}

/** An error about a file, which begins with its path as it was given. */
function named(path: string, name: string, error: FormatError): FormatError {
  const text = withoutReader(error.message);
  const rest =
    text.startsWith(`${name}:`) || text.startsWith(`${name} `) ? text.slice(name.length) : `: ${text}`;
  return new FormatError(error.code, `${path}${rest}`, { ...error.fields, path });
}

/** Throws if a folder is a model's; `file` is the file in it that was given. */
function refuseModel(folder: string, file?: string): void {
  if (!existsSync(join(folder, "config.json"))) return;
  const what = file === undefined ? `${folder} is a model's folder` : `${file} holds a model's weights`;
  throw new UsageError(`${what}, not attention; for its attention on a text: --text TEXT --model ${folder}`);
}

/** Files of at least this many bytes take seconds to read. */
const LARGE = 64 * 2 ** 20;

/** Tells on stderr that a large file is read in full. Bundles are read in parts. */
function announceLarge(path: string, io: Pick<Io, "stderr">): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < LARGE || /\.safetensors$/i.test(path)) return;
  io.stderr.write(
    `reading all ${bytesText(size)} of ${basename(path)}; of a safetensors bundle, parts are read on demand\n`,
  );
}

/** Opens a file; problems with parts of it go to stderr, one per line. */
export async function openFile(
  path: string,
  { tokens, causal }: Values,
  io: Pick<Io, "stderr" | "stdin">,
): Promise<{ readonly store: HeadStore; readonly name: string; readonly source: string | Uint8Array }> {
  if (path !== STDIN) {
    refuseModel(path);
    announceLarge(path, io);
  }
  const source = path === STDIN ? await readStdin(io) : path;
  const name = path === STDIN ? STDIN_NAME : basename(path);
  const recipe = causal === true ? ({ mask: "causal" } as const) : undefined;
  const list = await readTokens(tokens as string | undefined, io);
  const store = await openStore(source, { name, tokens: list, recipe }).catch((error) => {
    if (path !== STDIN && error instanceof HeedError && error.code === "nothing-to-show")
      refuseModel(dirname(path), basename(path));
    throw error instanceof FormatError ? named(path === STDIN ? name : path, name, error) : error;
  });
  for (const { severity, text } of store.report.problems)
    if (severity !== "note") io.stderr.write(`${severity}: ${text}\n`);
  return { store, name, source };
}

/** `-` on a command line: standard input as bytes of a file, as one text, or as one text per line. It can be read once. */
import { statSync } from "node:fs";
import { type Io, type StandardInput, UsageError, type Values } from "../line/command.ts";
import { decodeText, textLines } from "./text-file.ts";

/** The argument that means standard input. A file of that name is `./-`. */
export const STDIN = "-";

/** The name of standard input in messages and results. */
export const STDIN_NAME = "standard input";

/** Standard inputs that were read already. */
const spent = new WeakSet<StandardInput>();

/** All bytes of standard input. */
export async function readStdin({ stdin }: Pick<Io, "stdin">): Promise<Uint8Array> {
  if (stdin === undefined) throw new UsageError("there is no standard input to read for -");
  if (spent.has(stdin)) throw new UsageError("- is standard input, which can be read once");
  spent.add(stdin);
  return stdin.read();
}

/** Standard input as one text, without its last line break. */
export async function stdinText(io: Pick<Io, "stdin">): Promise<string> {
  return decodeText(STDIN_NAME, await readStdin(io)).replace(/\r?\n$/, "");
}

/** The lines of standard input that are not blank. */
export async function stdinLines(io: Pick<Io, "stdin">): Promise<string[]> {
  return textLines(STDIN_NAME, await stdinText(io));
}

/** Texts in which `-` is replaced by the lines of standard input. */
export async function expandTexts(texts: readonly string[], io: Pick<Io, "stdin">): Promise<string[]> {
  const all: string[] = [];
  for (const text of texts) all.push(...(text === STDIN ? await stdinLines(io) : [notBlank(text)]));
  return all;
}

/** One text, or all of standard input where it is `-`. */
export async function expandText(text: string, io: Pick<Io, "stdin">): Promise<string> {
  return notBlank(await expandPrompt(text, io));
}

/** The text of `--pair`, or all of standard input where it is `-`; undefined without the option. */
export async function expandPair(values: Values, io: Pick<Io, "stdin">): Promise<string | undefined> {
  const pair = values.pair as string | undefined;
  if (pair === undefined) return undefined;
  const text = pair === STDIN ? await stdinText(io) : pair;
  if (text.trim() === "") throw new UsageError("--pair is empty; write one or more words");
  return text;
}

/** As `expandText`; a prompt may be empty, and then the model begins with its first token if it has one. */
export async function expandPrompt(text: string, io: Pick<Io, "stdin">): Promise<string> {
  return text === STDIN ? stdinText(io) : text;
}

/** Throws for a blank text, usually a shell variable that is not set. An encoder would read its special tokens alone. */
function notBlank(text: string): string {
  if (text.trim() === "") throw new UsageError("a text is empty; write one or more words");
  return text;
}

/** False also where it cannot be known: Node's permission model throws for a path that it does not allow. */
function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}

/** Notes texts that are names of files; `reads` is the command that reads the lines of one. */
export function noteFiles(
  texts: readonly string[],
  io: Pick<Io, "stderr">,
  reads: (file: string) => string,
): void {
  for (const text of texts)
    if (text !== STDIN && isFile(text))
      io.stderr.write(
        `note: ${text} is a file, but its name was read as a text; heed view ${text} opens a file of attention, ${reads(text)} reads each of its lines as a text\n`,
      );
}

/** `-` on a command line: standard input as bytes of a file, as one text, or as a text a line. Read once. */
import { FormatError, OptionError } from "../../../core/errors.ts";
import { type Io, type StandardInput, UsageError } from "../line/command.ts";

/** The argument that means standard input on a command line. A file of that name is `./-`. */
export const STDIN = "-";

/** Those that were read already. */
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
  const bytes = await readStdin(io);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch {
    throw new FormatError("utf-8", "standard input is not UTF-8 text", { bytes: bytes.length });
  }
}

/** The lines of standard input that are not empty: a text each. */
export async function stdinLines(io: Pick<Io, "stdin">): Promise<string[]> {
  const lines = (await stdinText(io)).split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new OptionError("text", "standard input has no line of text");
  return lines;
}

/** Texts in which `-` is replaced by the lines of standard input. */
export async function expandTexts(texts: readonly string[], io: Pick<Io, "stdin">): Promise<string[]> {
  const all: string[] = [];
  for (const text of texts) all.push(...(text === STDIN ? await stdinLines(io) : [text]));
  return all;
}

/** One text, or all of standard input where it is `-`. */
export async function expandText(text: string, io: Pick<Io, "stdin">): Promise<string> {
  return text === STDIN ? stdinText(io) : text;
}

/** Text files on the command line, UTF-8. */
import { readFile } from "node:fs/promises";
import { FormatError, OptionError } from "../../../core/errors.ts";
import { systemText } from "../../../io/filesystem/node.ts";

/** The error of a file that cannot be read. */
export function readError(path: string, error: NodeJS.ErrnoException): OptionError {
  const reason = error.code === "EISDIR" ? "it is a folder" : systemText(error);
  return new OptionError("file", `cannot read ${path}: ${reason}`, { path, errno: error.code });
}

/** The bytes of a file. Throws an OptionError where it cannot be read. */
export async function readBytes(path: string): Promise<Uint8Array> {
  return readFile(path).catch((error) => {
    throw readError(path, error);
  });
}

/** UTF-8 bytes as text; `path` names them in the FormatError of other bytes. */
export function decodeText(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new FormatError("utf-8", `${path} is not UTF-8 text`, { path });
  }
}

/** The lines of a text that are not blank. Throws an OptionError where there is none. */
export function textLines(path: string, text: string): string[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length === 0) throw new OptionError("text", `${path} has no line of text`, { path });
  return lines;
}

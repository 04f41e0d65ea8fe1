/** Files of attention on the command line: what `view`, `html` and `figure` open, with the problems of a file told on stderr. */
import { readFileSync } from "node:fs";
import { fileError } from "../../io/node.ts";
import { openStore } from "../../store/formats/open.ts";
import type { HeadStore } from "../../store/types.ts";
import { type Io, UsageError } from "./command.ts";

/** Options of commands that open a file of attention. */
export const FILE_OPTIONS = { tokens: { type: "string" } } as const;

/** Their help. */
export const FILE_HELP = {
  tokens: "FILE.json  tokens of a file that has none: a JSON list of texts",
} as const;

/** What those commands say of their input. */
export const FILE_NOTES = `FILE is a bundle (safetensors with q and k, or weights), npz, npy or JSON, told by its first bytes.`;

/** The one file a command was given. */
export function oneFile(positionals: readonly string[]): string {
  if (positionals.length === 1) return positionals[0];
  throw new UsageError(`expected one file, got ${positionals.length || "none"}`);
}

/** The text of `--tokens`, where it was given. */
function tokensText(path: unknown): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path as string, "utf8");
  } catch (error) {
    throw fileError("--tokens", "read", path as string, error);
  }
}

/** Opens a file; what is wrong with parts of it goes to stderr, a line each. */
export async function openFile(path: string, tokens: unknown, io: Pick<Io, "stderr">): Promise<HeadStore> {
  const store = await openStore(path, { tokens: tokensText(tokens) });
  for (const { severity, text } of store.report.problems)
    if (severity !== "note") io.stderr.write(`${severity}: ${text}\n`);
  return store;
}

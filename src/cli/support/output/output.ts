/** Files that commands write: what they are, their suffix says; and whether there is a place for them. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { OptionError } from "../../../core/errors.ts";
import { UsageError } from "../line/command.ts";

const SUFFIXES = [".npy", ".npz", ".safetensors"] as const;

/** The suffix of an output file. Throws UsageError where heed writes no such file. */
export function suffixOf(path: string): (typeof SUFFIXES)[number] {
  const suffix = extname(path).toLowerCase() as (typeof SUFFIXES)[number];
  if (SUFFIXES.includes(suffix)) return suffix;
  throw new UsageError(`an output file ends in .npy, .npz or .safetensors, got ${JSON.stringify(path)}`);
}

/** Refuses, before any work, a file in a folder that is not there or may not be written. */
export async function checkPlace(path: string): Promise<void> {
  const folder = dirname(path);
  const refuse = (why: string, errno?: string): never => {
    throw new OptionError("file", `cannot write ${path}: the folder ${folder} ${why}`, { path, errno });
  };
  const found = await stat(folder).catch(() => undefined);
  if (found === undefined) return refuse("is not there");
  if (!found.isDirectory()) refuse("is no folder");
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    refuse(`may not be written (${code})`, code);
  }
}
